"""`gpustack-lite usage`: requests and tokens, summed."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False)
COUNTS = ("requests", "prompt_tokens", "completion_tokens", "cached_tokens")


@app.command(help=say("help_usage"), epilog=say("help_usage_examples"))
def usage(
    by: Annotated[str, typer.Option(metavar="model,key,user", help=say("help_usage_by"))] = "model",
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help=say("help_usage_from"))] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help=say("help_usage_to"))] = None,
    output: Output = Format.TABLE,
) -> None:
    with connect() as client:
        rows = client.get("usage", by=by, **{"from": start, "to": end})
    names = [each for each in ("model", "key", "user") if each in by.split(",")]
    show_list(rows, [Column(each) for each in (*names, *COUNTS)], output)
