"""`gpustack-lite models history|spec|diff|rollback|apply`: the configuration of a model as a text, then and now."""

from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say, write
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal

Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_model_name"))]
Generation = Annotated[int, typer.Argument(metavar="GENERATION", min=1, help=say("help_generation"))]
COLUMNS = (Column("generation"), Column("at"), Column("actor"), Column("fields"), Column("current"))


def history(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.get("models", name, "history"), COLUMNS, output)


def spec(
    name: Name,
    generation: Annotated[int | None, typer.Option(min=1, metavar="N", help=say("help_of_generation"))] = None,
    output: Output = Format.YAML,
) -> None:
    with connect() as client:
        show_document(_spec(client, name, generation), output)


def diff(
    name: Name,
    before: Generation,
    after: Annotated[int | None, typer.Argument(metavar="[OTHER]", min=1, help=say("help_other_generation"))] = None,
) -> None:
    with connect() as client:
        first, then = _spec(client, name, before), _spec(client, name, after)
    titles = (f"{name}@{before}", f"{name}@{after or say('now')}")
    for line in unified_diff(_lines(first), _lines(then), *titles, lineterm=""):
        write(line)


def rollback(
    name: Name,
    to: Annotated[int, typer.Option("--to", min=1, metavar="GENERATION", help=say("help_generation"))],
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        model = client.post("models", name, "rollback", body={"generation": to})
    show_done(model, output, "model_rolled_back", name=name, to=to, generation=model["generation"])


def apply(
    file: Annotated[Path, typer.Option("-f", "--file", metavar="FILE", help=say("help_spec_file"))],
    output: Output = Format.TABLE,
) -> None:
    from gpustack_lite.cli.backends import read

    body = read(file)
    with connect() as client:
        model, code = _applied(client, body)
    show_done(model, output, code, name=model["name"])


def _applied(client: Client, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The model is made where there is none of its name, else changed to be as the file says."""
    name = body.get("name")
    if isinstance(name, str) and name and _is_there(client, name):
        return client.patch("models", name, body=body), "model_updated"
    return client.post("models", body=body), "model_created"


def _is_there(client: Client, name: str) -> bool:
    try:
        client.get("models", name)
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        return False
    return True


def _spec(client: Client, name: str, generation: int | None) -> dict[str, Any]:
    """The newest without a generation."""
    wanted = generation or client.get("models", name)["generation"]
    found: dict[str, Any] = client.get("models", name, "history", wanted)["spec"]
    return found


def _lines(document: dict[str, Any]) -> list[str]:
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=True).splitlines()
