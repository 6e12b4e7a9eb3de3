"""Ends everything in order within 30 s: gateways finish streams, the worker ends its engines, the server goes last."""

import json
import logging
import signal
from collections.abc import Sequence

from gpustack_lite.cli.children import Children
from gpustack_lite.cli.family import kind_of
from gpustack_lite.cli.wakeup import Wakeup
from gpustack_lite.ports import Identity
from worker.runtimes.environment import MARKER

log = logging.getLogger(__name__)
STAGES = (("gateway", 13.0, 0.0), ("worker", 12.0, 5.0), ("server", 4.0, 1.0))
"""Kind of child, seconds it gets, seconds it gets once somebody asked a second time."""


def end_all(children: Children, wakeup: Wakeup) -> None:
    for kind, seconds, hurried_seconds in STAGES:
        concerned = [each for role, each in children.living.items() if kind_of(role) == kind]
        if kind == "gateway":
            concerned += children.leaving
        _end(children, wakeup, concerned, seconds, hurried_seconds)
        if kind == "worker":
            _kill(children, _engines(children))
    _kill(children, children.family.marked())
    children.reap()


def _end(
    children: Children, wakeup: Wakeup, concerned: Sequence[Identity], seconds: float, hurried_seconds: float
) -> None:
    processes = children.family.ports.processes
    for each in concerned:
        processes.send(each, signal.SIGTERM)

    def are_gone() -> bool:
        children.reap()
        return not any(processes.is_alive(each) for each in concerned)

    if not wakeup.until(are_gone, seconds, stops_asked=2):
        wakeup.until(are_gone, min(seconds, hurried_seconds), stops_asked=3)
    _kill(children, concerned)


def _engines(children: Children) -> list[Identity]:
    """What a worker that was killed, or could not end it, has left of its engines."""
    content = children.family.ports.disk.read(children.family.data_dir.root / "worker" / "identity.json")
    try:
        uid = json.loads(content or b"{}").get("uid")
    except (ValueError, RecursionError):
        return []
    carrying = children.family.ports.processes.values_of(MARKER)
    return [each for each, value in carrying if uid and value.startswith(f"{uid}:")]


def _kill(children: Children, concerned: Sequence[Identity]) -> None:
    for each in concerned:
        if children.family.ports.processes.is_alive(each):
            log.warning("killed", extra={"pid": each.pid})
            children.family.ports.processes.send(each, signal.SIGKILL)
