"""`gpustack-lite files`: model files on workers."""

from typing import Annotated, Any

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Document, Format, Output, show_document, show_done, show_list, shown_size
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_files"))
Id = Annotated[str, typer.Argument(metavar="ID", help=say("help_files_id"))]


def done_shown(files: Document) -> str | None:
    """Whole percents, and never 100 before it is ready."""
    done, size = files["done_bytes"], files["size_bytes"]
    if files["state"] == "ready" or done is None or not size:
        return "100%" if files["state"] == "ready" else None
    return f"{min(99, done * 100 // size)}%"


def rate_shown(files: Document) -> str | None:
    rate = shown_size(files["bytes_per_second"])
    return None if rate is None else f"{rate}/s"


def eta_shown(files: Document) -> str | None:
    seconds = files["eta_seconds"]
    if seconds is None:
        return None
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


COLUMNS = (
    Column("id"),
    Column("worker"),
    Column("source"),
    Column("revision"),
    Column("files_state", lambda files: files["state"]),
    Column("files_done", done_shown),
    Column("files_size", lambda files: shown_size(files["size_bytes"])),
    Column("files_rate", rate_shown),
    Column("files_eta", eta_shown),
    Column("files_users", lambda files: [f"{each['model']}#{each['id']}" for each in files["instances"]]),
    Column("message", lambda files: files["state_message"]),
)


@app.command("list", help=say("help_files_list"))
def list_files(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("files"), COLUMNS, output)


@app.command("show", help=say("help_files_show"))
def show(files: Id, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_document(client.get("files", files), output)


@app.command("add", help=say("help_files_add"), epilog=say("help_files_add_examples"))
def add(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=say("help_files_source"))],
    revision: Annotated[str | None, typer.Option("--revision", help=say("help_files_revision"))] = None,
    include: Annotated[list[str] | None, typer.Option("--include", help=say("help_files_include"))] = None,
    worker: Annotated[str | None, typer.Option("--worker", metavar="NAME", help=say("help_files_worker"))] = None,
    output: Output = Format.TABLE,
) -> None:
    body: dict[str, Any] = {"source": source, "revision": revision, "include": include or [], "worker": worker}
    with connect() as client:
        made = client.post("files", body=body)
    show_done(made, output, "files_added", source=made["source"], worker=made["worker"], id=made["id"])


@app.command("pause", help=say("help_files_pause"))
def pause(files: Id, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_done(client.post("files", files, "pause"), output, "files_pausing", id=files)


@app.command("resume", help=say("help_files_resume"))
def resume(files: Id, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_done(client.post("files", files, "resume"), output, "files_resuming", id=files)


@app.command("delete", help=say("help_files_delete"))
def delete(files: Id, output: Output = Format.TABLE) -> None:
    with connect() as client:
        gone = client.delete("files", files)
    show_done(gone or {"id": files}, output, "files_deleting", id=files)
