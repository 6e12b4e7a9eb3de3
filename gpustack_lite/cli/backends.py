"""`gpustack-lite backends`: the engines, built in and described by an operator."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from gpustack_lite import yaml_text
from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, tell
from gpustack_lite.errors import Refusal

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_backends"))
STDIN = Path("-")
COLUMNS = (Column("name"), Column("builtin"), Column("device_kinds"), Column("support"), Column("paths"))


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


@app.command("install", help=say("help_backends_install"), epilog=say("help_backends_install_examples"))
def install(
    spec: Annotated[str, typer.Argument(metavar="ENGINE==VERSION", help=say("help_engine_spec"))],
    kind: Annotated[str, typer.Option("--for", metavar="KIND", help=say("help_engine_for"))],
    worker: Annotated[
        list[str] | None, typer.Option("--worker", metavar="NAME", help=say("help_engine_workers"))
    ] = None,
    default: Annotated[bool, typer.Option("--default", help=say("help_engine_default"))] = False,
    path: Annotated[str | None, typer.Option("--path", metavar="PATH", help=say("help_engine_path"))] = None,
    image: Annotated[str | None, typer.Option("--image", metavar="IMAGE", help=say("help_engine_image"))] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help=say("help_engine_wait"))] = True,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0, metavar="SECONDS", help=say("help_wait_timeout"))
    ] = 3600,
    output: Output = Format.TABLE,
) -> None:
    from gpustack_lite.cli.engine_versions import body_of, follow

    body = body_of(spec, kind) | {"workers": worker or [], "default": default, "path": path, "image": image}
    with connect() as client:
        made = client.post("backends", "versions", body=body)
        if wait:
            made = follow(client, made["id"], timeout, is_quiet=output is not Format.TABLE)
    told = {"backend": made["backend"], "version": made["version"], "kind": kind, "id": made["id"]}
    if not wait or output is not Format.TABLE:
        show_done(made, output, "engine_version_asked", **told)


@app.command("versions", help=say("help_backends_versions"))
def versions(
    backend: Annotated[str | None, typer.Option("--backend", help=say("help_engine_backend"))] = None,
    output: Output = Format.TABLE,
) -> None:
    from gpustack_lite.cli.engine_versions import COLUMNS as OF_VERSIONS

    with connect() as client:
        show_list(client.listed("backends", "versions", backend=backend), OF_VERSIONS, output)


Ref = Annotated[str, typer.Argument(metavar="BUILD", help=say("help_engine_ref"))]


@app.command("set-default", help=say("help_backends_set_default"))
def set_default(ref: Ref, output: Output = Format.TABLE) -> None:
    from gpustack_lite.cli.engine_versions import id_of

    with connect() as client:
        made = client.post("backends", "versions", id_of(client, ref), "default")
    told = {"backend": made["backend"], "version": made["version"], "kind": made["device_kinds"][0]}
    show_done(made, output, "engine_default_set", **told)


@app.command("remove", help=say("help_backends_remove"))
def remove(ref: Ref, output: Output = Format.TABLE) -> None:
    from gpustack_lite.cli.engine_versions import id_of

    with connect() as client:
        gone = client.get("backends", "versions", id_of(client, ref))
        client.delete("backends", "versions", gone["id"])
    told = {"backend": gone["backend"], "version": gone["version"]}
    show_done({**told, "removed": True}, output, "engine_version_gone", **told)


def read(file: Path) -> dict[str, Any]:
    """YAML or JSON, which is YAML too."""
    try:
        text = sys.stdin.read() if file == STDIN else file.read_text(encoding="utf-8")
        document = yaml_text.parsed(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Refusal("file_unreadable", path=str(file), why=str(error).splitlines()[0]) from error
    if not isinstance(document, dict):
        raise Refusal("file_unreadable", path=str(file), why=say("not_a_mapping"))
    return document
