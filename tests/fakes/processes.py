"""Processes that exist only in a test: who lives, who belongs to whom, and how each takes a signal."""

import signal
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from gpustack_lite.ports import Answer, Completed, Identity


class FakeProcesses:
    """`stubborn` ones ignore TERM; `signals` notes who was sent what."""

    def __init__(
        self,
        alive: Collection[Identity] = (),
        *,
        marks: Mapping[Identity, str] | None = None,
        children: Mapping[Identity, Collection[Identity]] | None = None,
        sessions: Mapping[Identity, Collection[Identity]] | None = None,
        stubborn: Collection[Identity] = (),
    ) -> None:
        self.alive = set(alive)
        self.marks = dict(marks or {})
        self.children = dict(children or {})
        self.sessions = dict(sessions or {})
        self.stubborn = set(stubborn)
        self.signals: list[tuple[int, int]] = []

    def is_alive(self, identity: Identity) -> bool:
        return identity in self.alive

    def identify(self, pid: int) -> Identity | None:
        return next((each for each in self.alive if each.pid == pid), None)

    def send(self, identity: Identity, signum: int) -> bool:
        if identity not in self.alive:
            return False
        self.signals.append((identity.pid, signum))
        if signum == signal.SIGKILL or identity not in self.stubborn:
            self.alive.discard(identity)
        return True

    def marked(self, variable: str, value: str) -> list[Identity]:
        return [each for each, mark in self.marks.items() if mark == value and each in self.alive]

    def values_of(self, variable: str) -> list[tuple[Identity, str]]:
        return [(each, mark) for each, mark in self.marks.items() if each in self.alive]

    def descendants(self, identity: Identity) -> list[Identity]:
        if identity not in self.alive:
            return []
        return [each for each in self.children.get(identity, ()) if each in self.alive]

    def session(self, leader: Identity) -> list[Identity]:
        return [each for each in self.sessions.get(leader, ()) if each in self.alive]

    async def wait(self, identity: Identity) -> int | None:
        return None

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        output: Path | None = None,
        pass_fds: Sequence[int] = (),
        new_session: bool = True,
        umask: int | None = None,
    ) -> Identity:
        raise NotImplementedError

    def run(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float = 60) -> Completed:
        raise NotImplementedError

    def ask(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        deadline_seconds: float = 20,
        most_bytes: int = 1 << 20,
    ) -> Answer:
        return Answer(ended_by="not_started", why="No such file or directory")
