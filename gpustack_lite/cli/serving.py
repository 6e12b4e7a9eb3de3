"""The options that say how a model is served, and the document that they make; what is not given is left out."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from gpustack_lite.cli.pairs import options_of
from gpustack_lite.cli.say import say


class Reasoning(StrEnum):
    REASONING_CONTENT = "reasoning_content"
    REASONING = "reasoning"
    BOTH = "both"


QueueLength = Annotated[int | None, typer.Option("--queue-length", min=0, help=say("help_queue_length"))]
QueueSeconds = Annotated[float | None, typer.Option("--queue-seconds", min=0.001, help=say("help_queue_seconds"))]
InFlight = Annotated[int | None, typer.Option("--in-flight-per-replica", min=1, help=say("help_in_flight"))]
Affinity = Annotated[bool | None, typer.Option("--affinity/--no-affinity", help=say("help_affinity"))]
SleepAfter = Annotated[
    float | None, typer.Option("--sleep-after", min=0, metavar="SECONDS", help=say("help_sleep_after"))
]
Pin = Annotated[bool | None, typer.Option("--pin/--no-pin", help=say("help_pin"))]
ReasoningName = Annotated[Reasoning | None, typer.Option("--reasoning", help=say("help_reasoning"))]
Limit = Annotated[list[str] | None, typer.Option("--limit", metavar="K=V", help=say("help_model_limit"))]
Weight = Annotated[list[str] | None, typer.Option("--weight", metavar="WORKER=FACTOR", help=say("help_weight"))]


def serving_of(
    given: Mapping[str, Any], limits: Sequence[str], weights: Sequence[str], *, is_patch: bool
) -> dict[str, Any]:
    """`given` has the names of wire.Serving. In a patch a sleep after 0 s means never, as it does at first."""
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if said.get("sleep_after_seconds") == 0:
        said["sleep_after_seconds"] = None
    if limits:
        said["limits"] = options_of(limits)
    if weights:
        said["weights"] = options_of(weights)
    return said if is_patch else {name: value for name, value in said.items() if value is not None}
