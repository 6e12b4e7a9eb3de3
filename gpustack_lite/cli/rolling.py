"""Replaces every child by a new one while the sockets stay open: the server, then each gateway, then the worker."""

import logging
import signal
import socket
from collections.abc import Callable

from gpustack_lite.cli.children import Children
from gpustack_lite.cli.family import kind_of
from gpustack_lite.cli.readiness import is_accepting
from gpustack_lite.cli.say import complain
from gpustack_lite.cli.wakeup import Wakeup
from gpustack_lite.ports import Identity

log = logging.getLogger(__name__)
SERVER_LEAVES_SECONDS = 10.0
WORKER_LEAVES_SECONDS = 5.0
STARTS_SECONDS = 30.0


class Rolling:
    """One round of replacements. It breaks off when somebody asks to stop."""

    def __init__(
        self, children: Children, wakeup: Wakeup, *, public: socket.socket | None, server: socket.socket | None
    ) -> None:
        self._children = children
        self._wakeup = wakeup
        self._processes = children.family.ports.processes
        self._public = public
        self._server = server

    def run(self, *, keep_record: Callable[[], None]) -> None:
        for role in self._children.family.roles:
            if self._wakeup.stops_asked:
                return
            self._replace(role)
            keep_record()
        log.info("replaced", extra={"roles": list(self._children.family.roles)})

    def _replace(self, role: str) -> None:
        old = self._children.living.get(role)
        if old is None or not self._processes.is_alive(old):
            self._children.start(role)
        elif kind_of(role) == "gateway":
            self._overlap(role, old)
        elif kind_of(role) == "server":
            self._relieve(role, old, signal.SIGTERM, SERVER_LEAVES_SECONDS)
            self._await_listening(role, self._server)
        else:
            self._relieve(role, old, signal.SIGHUP, WORKER_LEAVES_SECONDS)

    def _overlap(self, role: str, old: Identity) -> None:
        """The new one accepts before the old one stops to; if it never does, the old one stays."""
        new = self._children.start(role)
        self._children.leaving.append(old)
        if new is not None and self._await_listening(role, self._public):
            self._processes.send(old, signal.SIGHUP)
            return
        self._children.leaving.remove(old)
        self._children.put(role, old)
        if new is not None:
            self._processes.send(new, signal.SIGKILL)
        complain("replacement_failed", role=role, path=str(self._children.family.log_path(role)))

    def _relieve(self, role: str, old: Identity, signum: int, seconds: float) -> None:
        """The old one goes before the new one comes: both want the same lock."""
        self._processes.send(old, signum)
        if not self._await_end(old, seconds):
            self._processes.send(old, signal.SIGKILL)
            self._await_end(old, 1.0)
        self._children.reap()
        self._children.start(role)

    def _await_end(self, old: Identity, seconds: float) -> bool:
        return self._wakeup.until(lambda: not self._processes.is_alive(old), seconds)

    def _await_listening(self, role: str, listener: socket.socket | None) -> bool:
        new = self._children.living.get(role)
        if new is None or listener is None:
            return False
        self._wakeup.until(lambda: is_accepting(new.pid, listener) or not self._processes.is_alive(new), STARTS_SECONDS)
        return is_accepting(new.pid, listener)
