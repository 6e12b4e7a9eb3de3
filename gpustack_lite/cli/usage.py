"""`gpustack-lite usage`: requests and tokens, summed."""

from enum import StrEnum
from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Verb(StrEnum):
    """The other nouns have it, so fingers type it here too."""

    LIST = "list"


NAMES = {
    "model": Column("model"),
    "key": Column("key", lambda row: row.get("key") or deleted(row.get("key_id"))),
    "user": Column("user"),
}
COUNTS = ("requests", "prompt_tokens", "completion_tokens", "cached_tokens")


@app.command(help=say("help_usage"), epilog=say("help_usage_examples"))
def usage(
    _verb: Annotated[Verb | None, typer.Argument(metavar="list", hidden=True)] = None,
    by: Annotated[str, typer.Option(metavar="model,key,user", help=say("help_usage_by"))] = "model",
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help=say("help_usage_from"))] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help=say("help_usage_to"))] = None,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        rows = client.get("usage", by=by, **{"from": start, "to": end})
    names = [NAMES[each] for each in NAMES if each in by.split(",")]
    show_list(rows, [*names, *(Column(each) for each in COUNTS)], output)


def deleted(key_id: int | None) -> str | None:
    """A key that is no more (`chat` makes such) has a number still; what came without a key has none."""
    return None if key_id is None else say("deleted_key", id=key_id)
