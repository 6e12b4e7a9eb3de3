"""`gpustack-lite routes`: public names over models, as an alias or by weight."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, write

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_routes"))
Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_route_name"))]
Target = Annotated[list[str] | None, typer.Option("--target", metavar="MODEL[=WEIGHT]", help=say("help_route_target"))]
Fallback = Annotated[list[str] | None, typer.Option("--fallback", metavar="MODEL", help=say("help_route_fallback"))]


def targets_shown(route: Mapping[str, Any]) -> str:
    return ", ".join(f"{each['model']}={each['weight']}" for each in route["targets"])


COLUMNS = (
    Column("name"),
    Column("targets", targets_shown),
    Column("fallback"),
    Column("message", lambda route: " ".join(each["message"] for each in route["warnings"])),
)


def target_of(text: str) -> dict[str, object]:
    """Names of models may hold an equals sign too: the last one counts, where a whole number stands behind it."""
    model, equals, weight = text.rpartition("=")
    if not equals or not (weight.isascii() and weight.isdigit()):
        return {"model": text}
    return {"model": model, "weight": int(weight)}


@app.command("list", help=say("help_routes_list"))
def list_routes(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("model-routes"), COLUMNS, output)


@app.command("show", help=say("help_routes_show"))
def show(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_document(client.get("model-routes", name), output)


@app.command("create", help=say("help_routes_create"), epilog=say("help_routes_create_examples"))
def create(name: Name, target: Target = None, fallback: Fallback = None, output: Output = Format.TABLE) -> None:
    if not target:
        raise typer.BadParameter(say("needs_target"), param_hint="--target")
    body = {"name": name, "targets": [target_of(each) for each in target], "fallback": fallback or []}
    with connect() as client:
        made = client.post("model-routes", body=body)
    show_done(made, output, "route_created", name=made["name"])
    warn(made, output)


@app.command("update", help=say("help_routes_update"))
def update(
    name: Name,
    target: Target = None,
    fallback: Fallback = None,
    no_fallback: Annotated[bool, typer.Option("--no-fallback", help=say("help_route_no_fallback"))] = False,
    output: Output = Format.TABLE,
) -> None:
    spares = [] if no_fallback else fallback
    patch: dict[str, object] = {}
    if target:
        patch["targets"] = [target_of(each) for each in target]
    if spares is not None:
        patch["fallback"] = spares
    if not patch:
        raise typer.BadParameter(say("nothing_to_route"), param_hint="--target")
    with connect() as client:
        changed = client.patch("model-routes", name, body=patch)
    show_done(changed, output, "route_changed", name=changed["name"])
    warn(changed, output)


@app.command("delete", help=say("help_routes_delete"))
def delete(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        client.delete("model-routes", name)
    show_done({"name": name, "deleted": True}, output, "route_deleted", name=name)


def warn(route: Mapping[str, Sequence[Mapping[str, str]]], output: Format) -> None:
    """Documents hold their warnings themselves."""
    if output is Format.TABLE:
        for each in route["warnings"]:
            write(each["message"])
