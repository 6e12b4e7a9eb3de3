"""`gpustack-lite instances`: the replicas of models."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.logs import Attempt, Follow, Tail, print_log
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_instances"))
Id = Annotated[int, typer.Argument(metavar="ID", help=say("help_instance_id"))]
COLUMNS = (
    Column("id"),
    Column("model"),
    Column("state"),
    Column("worker"),
    Column("devices"),
    Column("pid"),
    Column("port"),
    Column("attempt"),
    Column("message", lambda instance: instance.get("state_message") or _first_reason(instance)),
)


def _first_reason(instance: object) -> object:
    reasons = instance.get("reasons") if isinstance(instance, dict) else None
    return reasons[0].get("message") if reasons else None


@app.command("list", help=say("help_instances_list"))
def list_instances(
    model: Annotated[str | None, typer.Option(help=say("help_only_model"))] = None,
    worker: Annotated[str | None, typer.Option(help=say("help_only_worker"))] = None,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        show_list(client.listed("instances", model=model, worker=worker), COLUMNS, output)


@app.command("show", help=say("help_instances_show"))
def show(instance_id: Id, output: Output = Format.TABLE) -> None:
    from gpustack_lite.cli.timeline import print_events

    with connect() as client:
        show_document(client.get("instances", instance_id), output)
        if output is Format.TABLE:
            typer.echo()
            print_events(reversed(client.items("events", instance=instance_id, limit=100)))


@app.command("logs", help=say("help_instances_logs"))
def logs(instance_id: Id, follow: Follow = False, attempt: Attempt = None, tail: Tail = 1000) -> None:
    with connect() as client:
        print_log(client, instance_id, follow=follow, attempt=attempt, tail=tail)
