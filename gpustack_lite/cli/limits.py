"""The options that limit a key or a user, and the part of a document that they make; 0 takes a limit away."""

from typing import Annotated, Any

import typer

from gpustack_lite.cli.say import say

Rpm = Annotated[int | None, typer.Option("--rpm", min=0, metavar="N", help=say("help_rpm"))]
Tpm = Annotated[int | None, typer.Option("--tpm", min=0, metavar="N", help=say("help_tpm"))]
Concurrency = Annotated[int | None, typer.Option("--concurrency", min=0, metavar="N", help=say("help_concurrency"))]
PerDay = Annotated[int | None, typer.Option("--tokens-per-day", min=0, metavar="N", help=say("help_tokens_per_day"))]
PerMonth = Annotated[
    int | None, typer.Option("--tokens-per-month", min=0, metavar="N", help=say("help_tokens_per_month"))
]
Timezone = Annotated[str | None, typer.Option("--timezone", metavar="ZONE", help=say("help_limit_timezone"))]


def limits_of(
    *,
    rpm: int | None,
    tpm: int | None,
    concurrency: int | None,
    tokens_per_day: int | None,
    tokens_per_month: int | None,
    timezone: str | None,
) -> dict[str, Any]:
    """As a merge patch; empty where no option was given."""
    given = {
        "requests_per_minute": rpm,
        "tokens_per_minute": tpm,
        "concurrency": concurrency,
        "tokens_per_day": tokens_per_day,
        "tokens_per_month": tokens_per_month,
    }
    limits: dict[str, Any] = {name: value or None for name, value in given.items() if value is not None}
    return limits if timezone is None else {**limits, "timezone": timezone}
