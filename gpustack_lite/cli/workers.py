"""`gpustack-lite workers`: the machines that models run on."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, bytes_column, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_workers"))
Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_worker"))]
COLUMNS = (
    Column("name"),
    Column("state"),
    Column("device_count"),
    Column("cpu_count"),
    bytes_column("ram_total_bytes"),
    bytes_column("ram_used_bytes"),
    Column("labels", lambda worker: ",".join(f"{key}={value}" for key, value in worker["labels"].items())),
    Column("version"),
    Column("simulated"),
    Column("drained"),
)


@app.command("list", help=say("help_workers_list"))
def list_workers(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("workers"), COLUMNS, output)


@app.command("show", help=say("help_workers_show"))
def show(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_document(client.get("workers", name), output)


@app.command("token", help=say("help_workers_token"))
def token(output: Output = Format.TABLE) -> None:
    with connect() as client:
        made = client.post("workers", "token")
    if output is Format.TABLE:
        tell("join_token_made", token=made["token"], url=client.url, expires_at=made["expires_at"])
    else:
        show_document(made, output)


@app.command("drain", help=say("help_workers_drain"))
def drain(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_done(client.post("workers", name, "drain"), output, "worker_drained", worker=name)


@app.command("resume", help=say("help_workers_resume"))
def resume(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_done(client.post("workers", name, "resume"), output, "worker_resumed", worker=name)


@app.command("delete", help=say("help_workers_delete"))
def delete(
    name: Name,
    force: Annotated[bool, typer.Option("--force", help=say("help_workers_force"))] = False,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        client.delete("workers", name, force=force or None)
    show_done({"name": name, "deleted": True}, output, "worker_deleted", name=name)
