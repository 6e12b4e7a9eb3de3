"""Processes that exist only as values: they live until a test says otherwise, and remember the signals sent to them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpustack_lite.ports import Answer, Completed, Identity


class Population:
    def __init__(self) -> None:
        self.is_broken = False
        self.sent: list[tuple[Identity, int]] = []
        self.environments: dict[Identity, dict[str, str]] = {}
        self._alive: set[Identity] = set()
        self._next_pid = 1_000_000

    def add(self, mark: str, variable: str = "GPUSTACK_LITE_FAMILY") -> Identity:
        self._next_pid += 1
        identity = Identity(self._next_pid, 1, "boot")
        self.environments[identity] = {variable: mark}
        self._alive.add(identity)
        return identity

    def die(self, identity: Identity) -> None:
        self._alive.discard(identity)

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
        if self.is_broken:
            raise FileNotFoundError(argv[0])
        identity = self.add("")
        self.environments[identity] = dict(env)
        return identity

    def identify(self, pid: int) -> Identity | None:
        return next((each for each in self._alive if each.pid == pid), None)

    def is_alive(self, identity: Identity) -> bool:
        return identity in self._alive

    def send(self, identity: Identity, signum: int) -> bool:
        self.sent.append((identity, signum))
        return identity in self._alive

    async def wait(self, identity: Identity) -> int | None:
        self.die(identity)
        return 0

    def marked(self, variable: str, value: str) -> list[Identity]:
        return [each for each, told in self.values_of(variable) if told == value]

    def values_of(self, variable: str) -> list[tuple[Identity, str]]:
        known = [(each, self.environments[each].get(variable)) for each in sorted(self._alive, key=lambda i: i.pid)]
        return [(each, value) for each, value in known if value is not None]

    def descendants(self, identity: Identity) -> list[Identity]:
        return []

    def session(self, leader: Identity) -> list[Identity]:
        return []

    def run(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float = 60) -> Completed:
        return Completed(0, "", "")

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
