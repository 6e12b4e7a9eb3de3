"""`gpustack-lite events`: what happened, and when."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_events"))
COLUMNS = (
    Column("at"),
    Column("kind"),
    Column("model"),
    Column("instance_id"),
    Column("worker"),
    Column("move", lambda event: f"{event['from_state'] or ''} -> {event['to_state']}" if event["to_state"] else None),
    Column("message"),
)


@app.callback()
def events() -> None:
    """A noun with one verb so far."""


@app.command("list", help=say("help_events_list"))
def list_events(
    model: Annotated[str | None, typer.Option(help=say("help_only_model"))] = None,
    instance: Annotated[int | None, typer.Option(help=say("help_only_instance"))] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help=say("help_limit"))] = 50,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        show_list(client.listed("events", limit=limit, model=model, instance=instance), COLUMNS, output)
