"""Prints the log of an instance as it arrives."""

import sys
from typing import Annotated

import typer

from gpustack_lite.cli.say import say
from gpustack_lite.client import Client

Follow = Annotated[bool, typer.Option("-f", "--follow", help=say("help_follow"))]
Attempt = Annotated[int | None, typer.Option(min=1, help=say("help_attempt"))]
Rank = Annotated[int, typer.Option(min=0, help=say("help_rank"))]
Tail = Annotated[int, typer.Option(min=0, max=100_000, help=say("help_tail"))]


def print_log(client: Client, instance_id: int, *, follow: bool, attempt: int | None, tail: int, rank: int = 0) -> None:
    for piece in client.text("instances", instance_id, "logs", follow=follow, attempt=attempt, tail=tail, rank=rank):
        sys.stdout.write(piece)
        sys.stdout.flush()
