"""`gpustack-lite instances`: the replicas of models."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.logs import Attempt, Follow, Rank, Tail, print_log
from gpustack_lite.cli.output import (
    Column,
    Document,
    Format,
    Output,
    aligned,
    plain,
    show_document,
    show_list,
    shown_size,
)
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
_EXPLAINED = frozenset({"said", "reasons", "reason_counts", "remedies", "memory", "measured"})


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
        for line in aligned(memory_rows(instance["memory"], instance.get("measured") or {})):
            write(line)
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


def memory_rows(memory: Document, measured: Document) -> list[list[str]]:
    """By term what was reckoned with, beside what its engine really took; what it did not say stays empty."""
    head = [say("memory_term"), say("memory_bytes"), say("memory_measured_column")]
    per_token = str(shown_size(memory.get("kv_bytes_per_token")) or "?")
    names = [("weights", {}), ("kv", {"kv_per_token": per_token}), ("activation", {}), ("overhead", {}), ("total", {})]
    rows = [
        [say(f"memory_{name}", **params), _size(memory, f"{name}_bytes"), _size(measured, f"{name}_bytes")]
        for name, params in names
    ]
    only = [("memory_graph", "graph_bytes"), ("memory_on_device", "bytes_per_device"), ("memory_held", "ram_bytes")]
    rows += [[say(code), "", _size(measured, name)] for code, name in only if measured.get(name)]
    return [head, *rows]


def _size(sizes: Document, name: str) -> str:
    return str(shown_size(sizes.get(name)) or "") if sizes.get(name) is not None else ""


@app.command("logs", help=say("help_instances_logs"))
def logs(instance_id: Id, follow: Follow = False, attempt: Attempt = None, tail: Tail = 1000, rank: Rank = 0) -> None:
    with connect() as client:
        print_log(client, instance_id, follow=follow, attempt=attempt, tail=tail, rank=rank)
