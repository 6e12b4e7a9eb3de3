"""`gpustack-lite backends`: the engines, built in and described by an operator."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell
from gpustack_lite.errors import Refusal

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_backends"))
STDIN = Path("-")
COLUMNS = (Column("name"), Column("builtin"), Column("device_kinds"), Column("paths"))


@app.command("list", help=say("help_backends_list"))
def list_backends(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("backends"), COLUMNS, output)


@app.command("create", help=say("help_backends_create"), epilog=say("help_backends_create_examples"))
def create(
    file: Annotated[Path, typer.Option("-f", "--file", metavar="FILE", help=say("help_backend_file"))],
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        made = client.post("backends", body=read(file))
    if output is Format.TABLE:
        tell("backend_created", name=made["name"])
    else:
        show_document(made, output)


@app.command("delete", help=say("help_backends_delete"))
def delete(
    name: Annotated[str, typer.Argument(metavar="NAME", help=say("help_backend"))], output: Output = Format.TABLE
) -> None:
    with connect() as client:
        client.delete("backends", name)
    show_done({"name": name, "deleted": True}, output, "backend_deleted", name=name)


def read(file: Path) -> dict[str, Any]:
    """YAML or JSON, which is YAML too."""
    try:
        text = sys.stdin.read() if file == STDIN else file.read_text(encoding="utf-8")
        document = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Refusal("file_unreadable", path=str(file), why=str(error).splitlines()[0]) from error
    if not isinstance(document, dict):
        raise Refusal("file_unreadable", path=str(file), why=say("not_a_mapping"))
    return document
