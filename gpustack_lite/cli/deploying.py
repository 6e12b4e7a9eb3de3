"""Waits with a person until a model is ready, telling what happens meanwhile."""

from collections.abc import Mapping
from typing import Any

import typer

from gpustack_lite.cli.output import plain
from gpustack_lite.cli.say import complain, say, tell
from gpustack_lite.cli.timeline import Timeline, event_line, timeline
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal, Unreachable
from gpustack_lite.ports import Clock, Ports

Document = Mapping[str, Any]
LOOK_AGAIN_SECONDS = 0.25
PATIENCE_SECONDS = 60.0
"""For how long a server that is away is waited for."""


def newest_event(client: Client) -> int:
    """The id of what happened last: what comes after it is the story of what is done now."""
    return max((int(event["id"]) for event in client.items("events", limit=1)), default=0)


def wait_until_ready(
    client: Client, name: str, timeout_seconds: float, *, after_event: int, is_quiet: bool = False
) -> None:
    """Raises what `follow` raises; Exit(130) on Ctrl-C, which leaves the model as it is."""
    try:
        follow(client, name, timeout_seconds, after_event=after_event, is_quiet=is_quiet)
    except KeyboardInterrupt:
        complain("deploy_goes_on", name=name)
        raise typer.Exit(130) from None


def follow(client: Client, name: str, timeout_seconds: float, *, after_event: int, is_quiet: bool = False) -> None:
    """Raises Refusal `deploy_failed` or `not_ready_in_time`; no limit when `timeout_seconds` is 0."""
    clock = Ports().clock
    began_at = clock.monotonic()
    with timeline(is_quiet=is_quiet) as shown:
        ends_at = began_at + timeout_seconds if timeout_seconds else None
        _watch(Watch(client, name, shown, after_event), name, clock, ends_at)
    if not is_quiet:
        tell("model_ready", name=name, seconds=f"{clock.monotonic() - began_at:.1f}")


def _watch(watch: "Watch", name: str, clock: Clock, ends_at: float | None) -> None:
    last_heard_at = clock.monotonic()
    while ends_at is None or clock.monotonic() < ends_at:
        try:
            if watch.look():
                return
            last_heard_at = clock.monotonic()
        except Unreachable:
            if clock.monotonic() - last_heard_at > PATIENCE_SECONDS:
                raise
        clock.pause(LOOK_AGAIN_SECONDS)
    raise Refusal("not_ready_in_time", name=name)


class Watch:
    """Looks at one model again and again and shows what is new."""

    def __init__(self, client: Client, name: str, shown: Timeline, after_event: int) -> None:
        self._client = client
        self._name = name
        self._shown = shown
        self._last_event = after_event
        self._last_reason: str | None = None

    def look(self) -> bool:
        """True when the model is ready. Raises Refusal `deploy_failed`."""
        model = self._client.get("models", self._name)
        instances = self._client.items("models", self._name, "instances")
        self._show_events()
        self._show_reasons(instances)
        self._shown.progress(instances)
        if model["state"] == "failed":
            raise Refusal("deploy_failed", name=self._name, why=why_failed(model, instances))
        return bool(model["state"] == "ready")

    def _show_events(self) -> None:
        events = self._client.items("events", model=self._name, limit=100)
        for event in reversed([each for each in events if each["id"] > self._last_event]):
            self._shown.line(event_line(event))
            self._last_event = event["id"]

    def _show_reasons(self, instances: list[dict[str, Any]]) -> None:
        waiting = next((each for each in instances if each["state"] == "pending" and each["reasons"]), None)
        reason = None if waiting is None else waiting["reasons"][0].get("message")
        if waiting is not None and reason and reason != self._last_reason:
            self._shown.line(say("model_waits", name=self._name, why=reason))
            for remedy in waiting.get("remedies") or []:
                self._shown.line(f"  {plain(remedy.get('message'))}")
        self._last_reason = reason


def why_failed(model: Document, instances: list[dict[str, Any]]) -> str:
    said = [each.get("state_message") for each in instances if each["state"] == "failed"]
    return next((each for each in said if each), None) or model.get("state_message") or "?"
