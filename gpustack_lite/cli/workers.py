"""`gpustack-lite workers`: the machines that models run on."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, bytes_column, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell, write

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
        worker = client.get("workers", name)
    if output is not Format.TABLE:
        show_document(worker, output)
        return
    rest = {key: value for key, value in worker.items() if key not in {"host", "tools"}}
    show_document({**rest, **worker["host"]}, output)
    for line in tool_lines(worker["tools"]):
        write(line)


def tool_lines(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each program that was asked for devices said, and what to do; as `doctor` writes its checks."""
    lines: list[str] = []
    for tool in tools:
        words = (tool["said"] or {}).get("message") or tool["command"]
        lines.append(f"{say('status_' + tool['status'])}  {words}")
        lines += [f"      {tool['remedy']['message']}"] if tool["remedy"] else []
    return lines


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
