"""`gpustack-lite chat`: talk to a model; the answer streams, its speed is told."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated, Any

import typer

from gpustack_lite.cli import access
from gpustack_lite.cli.output import stripped
from gpustack_lite.cli.say import complain, say
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import language_of_terminal
from gpustack_lite.ports import Clock, Ports

app = typer.Typer(rich_markup_mode=None, add_completion=False)
KEY_SECONDS = 5.0
"""For how long a key just made may still be unknown to a gateway."""


@app.command(help=say("help_chat"), epilog=say("help_chat_examples"))
def chat(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=say("help_model_name"))],
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help=say("help_prompt"))] = None,
    system: Annotated[str | None, typer.Option(help=say("help_system"))] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help=say("help_max_tokens"))] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help=say("help_temperature"))] = None,
) -> None:
    ports = Ports()
    given: dict[str, Any] = {"model": model, "max_tokens": max_tokens, "temperature": temperature}
    body = {key: value for key, value in given.items() if value is not None}
    body["messages"] = [{"role": "system", "content": system}] if system else []
    with inference_client(ports) as client:
        for question in questions(prompt):
            body["messages"].append({"role": "user", "content": question})
            answer = ask(client, body, ports.clock)
            body["messages"].append({"role": "assistant", "content": answer})


def questions(prompt: str | None) -> Iterator[str]:
    """The one on the command line, else all of standard input, else line by line as a person types."""
    if prompt is not None:
        yield prompt
    elif not sys.stdin.isatty():
        yield sys.stdin.read()
    else:
        complain("chat_hint")
        while True:
            try:
                line = input("> ").strip()
            except EOFError:
                return
            if line:
                yield line


@contextmanager
def inference_client(ports: Ports) -> Iterator[Client]:
    """With what the person has; the supervisor's own credential gets a key of an hour, deleted afterwards."""
    found = access.find(ports)
    if found.origin != "local":
        with found.client() as client:
            yield client
        return
    with found.client() as managing:
        ends = ports.clock.wall() + timedelta(hours=1)
        name = f"chat-{ports.randomness.unique_id()[:8]}"
        made = managing.post("keys", body={"name": name, "scopes": ["inference"], "expires_at": ends.isoformat()})
        try:
            with Client(found.url, made["key"], language=language_of_terminal()) as client:
                await_known(client, ports.clock)
                yield client
        finally:
            managing.delete("keys", made["id"])


def await_known(client: Client, clock: Clock) -> None:
    ends_at = clock.monotonic() + KEY_SECONDS
    while True:
        try:
            client.get("/v1", "models")
        except Refusal as refusal:
            if refusal.code != "sign_in_needed" or clock.monotonic() > ends_at:
                raise
            clock.pause(0.05)
        else:
            return


def ask(client: Client, body: dict[str, Any], clock: Clock) -> str:
    """Stream one answer to standard output, then its TTFT and tokens/s to standard error."""
    began_at = clock.monotonic()
    first_at: float | None = None
    pieces: list[str] = []
    usage: dict[str, Any] = {}
    for chunk in client.chat(body | {"stream_options": {"include_usage": True}}):
        usage = chunk.get("usage") or usage
        piece = piece_of(chunk)
        if piece:
            first_at = first_at or clock.monotonic()
            pieces.append(piece)
            sys.stdout.write(stripped(piece))
            sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()
    tell_speed(usage, began_at, first_at, clock.monotonic())
    return "".join(pieces)


def piece_of(chunk: dict[str, Any]) -> str:
    choices = chunk.get("choices") or [{}]
    return str((choices[0].get("delta") or {}).get("content") or "")


def tell_speed(usage: dict[str, Any], began_at: float, first_at: float | None, ended_at: float) -> None:
    tokens = usage.get("completion_tokens")
    if first_at is None:
        complain("chat_empty")
        return
    ttft = f"{first_at - began_at:.2f}"
    spent = ended_at - first_at
    if tokens is None or tokens < 2 or spent <= 0:
        complain("chat_ttft", ttft=ttft)
    else:
        complain("chat_speed", ttft=ttft, tokens=tokens, speed=f"{(tokens - 1) / spent:.1f}")
