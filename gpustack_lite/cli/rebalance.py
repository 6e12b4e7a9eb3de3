"""`gpustack-lite rebalance`: which instances would have to move so that a waiting model fits, and moving them."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Document, Format, Output, plain, show_document, show_list
from gpustack_lite.cli.say import say, write
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports

app = typer.Typer(rich_markup_mode=None, add_completion=False)
LOOK_AGAIN_SECONDS = 0.5


def _place(place: Mapping[str, Any]) -> str:
    return ", ".join(f"{place['worker']}:{index}" for index in place["devices"]) or str(place["worker"])


COLUMNS = (
    Column("instance_id", lambda move: move["instance"]),
    Column("model"),
    Column("moves_from", lambda move: _place(move["from"])),
    Column("moves_to", lambda move: _place(move["to"])),
    Column("moves_how", lambda move: say("moves_stopping" if move["stops_first"] else "moves_serving")),
)


@app.command(help=say("help_rebalance"), epilog=say("help_rebalance_examples"))
def rebalance(
    model: Annotated[str | None, typer.Option(metavar="NAME", help=say("help_rebalance_model"))] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=say("help_rebalance_dry_run"))] = False,
    allow_stop: Annotated[bool, typer.Option("--allow-stop", help=say("help_rebalance_allow_stop"))] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help=say("help_rebalance_wait"))] = True,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        found = client.post("rebalance", body={"model": model, "dry_run": dry_run, "allow_stop": allow_stop})
        if wait and not dry_run:
            found = _until_over(client, found)
    _show(found, output)
    if found["state"] == "failed":
        raise Refusal(found["said"]["code"], **found["said"]["params"])


def _until_over(client: Client, found: dict[str, Any]) -> dict[str, Any]:
    clock = Ports().clock
    while found["state"] == "running":
        clock.pause(LOOK_AGAIN_SECONDS)
        found = client.get("rebalance", str(found["id"]))
    return found


def _show(found: Document, output: Format) -> None:
    if output is not Format.TABLE:
        show_document(found, output)
        return
    show_list({"items": found["moves"], "total": len(found["moves"])}, COLUMNS, output)
    write(say("rebalance_place", name=plain(found["model"]), place=plain(", ".join(found["place"]))))
