"""`gpustack-lite instances`: the replicas of models."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.logs import Attempt, Follow, Tail, print_log
from gpustack_lite.cli.output import Column, Document, Format, Output, plain, show_document, show_list, shown_size
from gpustack_lite.cli.say import say, tell, write

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


REASONS = (
    Column("worker"),
    Column("check"),
    Column("message"),
)
_EXPLAINED = frozenset({"said", "reasons", "reason_counts", "remedies", "memory"})


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
        instance = client.get("instances", instance_id)
        if output is not Format.TABLE:
            show_document(instance, output)
            return
        show_words(instance)
        typer.echo()
        print_events(reversed(client.items("events", instance=instance_id, limit=100)))


def show_words(instance: Document) -> None:
    """What it is, and of one that waits: what every worker said, and what would help."""
    show_document({key: value for key, value in instance.items() if key not in _EXPLAINED}, Format.TABLE)
    if instance.get("memory"):
        show_document(dict(_sizes(instance["memory"])), Format.TABLE)
    if instance.get("reasons"):
        typer.echo()
        show_list({"items": instance["reasons"]}, REASONS, Format.TABLE)
        rest = sum(instance["reason_counts"].values()) - len(instance["reasons"])
        if rest > 0:
            tell("reasons_more", count=rest)
    if instance.get("remedies"):
        tell("evaluation_remedies")
    for each in instance.get("remedies") or ():
        change = f"  {plain(each['change'])}" if each["change"] else ""
        write(f"  {plain(each['message'])}{change}")


def _sizes(memory: Document) -> Iterator[tuple[str, str]]:
    for name, value in memory.items():
        if "bytes" in name and isinstance(value, int):
            yield f"memory.{name}", str(shown_size(value))


@app.command("logs", help=say("help_instances_logs"))
def logs(instance_id: Id, follow: Follow = False, attempt: Attempt = None, tail: Tail = 1000) -> None:
    with connect() as client:
        print_log(client, instance_id, follow=follow, attempt=attempt, tail=tail)
