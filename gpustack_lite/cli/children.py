"""The children of a supervisor: which of them live, which are to be started again, and when."""

import logging
import os
import signal
from dataclasses import dataclass

from gpustack_lite.cli.family import Family
from gpustack_lite.cli.record import Record
from gpustack_lite.ports import Identity

log = logging.getLogger(__name__)
FIRST_DELAY_SECONDS = 0.2
LAST_DELAY_SECONDS = 5.0
STEADY_SECONDS = 10.0
"""A child that lived this long did not fail at starting: its count begins again."""


@dataclass(slots=True)
class Child:
    role: str
    identity: Identity | None = None
    started_at: float = 0.0
    failures: int = 0
    due_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is the exit code, negative for a signal, None where it was not our own child."""

    role: str
    code: int | None


def delay_seconds(failures: int) -> float:
    """At once after the first failure, then 0.2, 0.4 ... 5 s."""
    if failures <= 1:
        return 0.0
    return min(FIRST_DELAY_SECONDS * 2.0 ** (failures - 2), LAST_DELAY_SECONDS)


class Children:
    def __init__(self, family: Family) -> None:
        self.family = family
        self.leaving: list[Identity] = []
        self._processes = family.ports.processes
        self._clock = family.ports.clock
        self._children = {role: Child(role) for role in family.roles}
        self._codes: dict[int, int] = {}

    def adopt(self, before: Record | None) -> None:
        """Take over what an earlier supervisor left alive; whoever has no role here any more is told to leave."""
        marked = self.family.marked()
        was = {} if before is None else {each: role for role, each in before.children.items()}
        for identity in marked:
            role = was.get(identity)
            if role in self._children:
                self._children[role].identity = identity
            else:
                self.leaving.append(identity)
                self._processes.send(identity, signal.SIGTERM if role == "worker" else signal.SIGHUP)

    @property
    def living(self) -> dict[str, Identity]:
        return {role: each.identity for role, each in self._children.items() if each.identity is not None}

    def start(self, role: str) -> Identity | None:
        """None when the program cannot be started; it is tried again later."""
        child = self._children[role]
        child.started_at = self._clock.monotonic()
        try:
            child.identity = self.family.spawn(role)
        except OSError:
            log.exception("child_not_started", extra={"role": role})
            self._count_failure(child)
            return None
        log.info("child_started", extra={"role": role, "pid": child.identity.pid})
        return child.identity

    def start_due(self) -> bool:
        now = self._clock.monotonic()
        due = [each.role for each in self._children.values() if each.identity is None and each.due_at <= now]
        for role in due:
            self.start(role)
        return bool(due)

    def put(self, role: str, identity: Identity | None) -> None:
        """Let `identity` be the process of this role from now on."""
        self._children[role].identity = identity

    def seconds_to_next_start(self) -> float | None:
        now = self._clock.monotonic()
        waits = [each.due_at - now for each in self._children.values() if each.identity is None]
        return max(0.0, min(waits)) if waits else None

    def notice_ends(self) -> list[Ended]:
        self.reap()
        self.leaving = [each for each in self.leaving if self._processes.is_alive(each)]
        return [ended for child in self._children.values() if (ended := self._ended(child))]

    def _ended(self, child: Child) -> Ended | None:
        identity = child.identity
        if identity is None or self._processes.is_alive(identity):
            return None
        child.identity = None
        self._count_failure(child)
        ended = Ended(child.role, self._codes.pop(identity.pid, None))
        log.warning("child_ended", extra={"role": ended.role, "code": ended.code, "pid": identity.pid})
        return ended

    def _count_failure(self, child: Child) -> None:
        now = self._clock.monotonic()
        child.failures = 1 if now - child.started_at >= STEADY_SECONDS else child.failures + 1
        child.due_at = now + delay_seconds(child.failures)

    def reap(self) -> None:
        """Every zombie, also those that an init would adopt: in a container we are process 1."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if any(identity.pid == pid for identity in self.living.values()):
                self._codes[pid] = os.waitstatus_to_exitcode(status)
