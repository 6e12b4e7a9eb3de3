"""One running engine: waits until it answers, and watches it until it ends."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gpustack_lite.domain import HttpProbe
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.wire import Progress
from worker import readings
from worker.probe import LAST_INTERVAL_SECONDS, Readings, StartDeadline, interval_seconds
from worker.runtimes.process import Tree, grown, living

HEALTH_SECONDS = 3.0
FAILURES_UNTIL_UNHEALTHY = 3
HUNG_SECONDS = 300.0
DEAD_SECONDS = 30.0
OK = 200


@dataclass(frozen=True, slots=True)
class Engine:
    root: Identity
    tree: Tree
    port: int
    probe: HttpProbe
    key: str
    log_file: Path
    size_bytes: int | None = None
    is_contained: bool = False


class AsksEngines(Protocol):
    """worker.probe.EngineClient, or a test's."""

    async def status(self, port: int, path: str, engine_key: str) -> int | None: ...


class Ended(Exception):
    """The process is no more. `exit_code` is None where it was not our child."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class Foreign(Exception):
    """Somebody else answers on the engine's port."""


class TooSlow(Exception):
    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Hung(Exception):
    """Unhealthy for so long that nobody can hope any more."""


class SaysDead(Exception):
    """The engine says itself, again and again, that it will not recover."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Condemned(Exception):
    """Healthy by its own word, and yet it answers nothing."""


async def nothing_more() -> None:
    """What is looked at beside the processes of most engines."""


class Watch:
    """Looks at one engine. The process is waited for in the background, so its end is seen at once."""

    def __init__(self, engine: Engine, ports: Ports, client: AsksEngines) -> None:
        self.engine = engine
        self._ports = ports
        self._client = client
        self._answered = False
        self._end = asyncio.ensure_future(ports.processes.wait(engine.root))
        self._condemned: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def probed_port(self) -> int:
        return self.engine.probe.port or self.engine.port

    def close(self) -> None:
        self._end.cancel()
        self._condemned.cancel()

    def condemn(self) -> None:
        """`until_ended` raises Condemned soon."""
        if not self._condemned.done():
            self._condemned.set_result(None)

    async def until_ready(self, on_progress: Callable[[Progress], None]) -> None:
        """Raises:
        Ended, Foreign, TooSlow, Condemned: it will not become ready.
        """
        began = looked = self._now()
        deadline = StartDeadline.of(began, self.engine.probe, self.engine.size_bytes)
        while not await self._is_ready():
            now = self._now()
            if now - looked >= LAST_INTERVAL_SECONDS:
                looked = now
                found = await asyncio.to_thread(self._readings)
                deadline = deadline.noted(now, found, is_answering=self._answered)
                on_progress(progress_of(found, self.engine.size_bytes))
            if deadline.is_over(now):
                raise TooSlow(now - began)
            await self._pause(interval_seconds(now - began))

    async def _is_ready(self) -> bool:
        """An engine without a probe, such as a follower's, is ready when it runs."""
        status = await self._status()
        self._raise_if_ended()
        self._raise_if_condemned()
        if status != OK:
            return False
        if not self.engine.probe.path:
            return True
        listens = await asyncio.to_thread(self._is_listening)
        self._raise_if_ended()
        if listens is False:
            raise Foreign
        return True

    async def until_ended(
        self,
        on_health: Callable[[bool], None],
        on_look: Callable[[Tree, float], None],
        look_closer: Callable[[], Awaitable[None]] = nothing_more,
    ) -> None:
        """Ask for its health every few seconds; `on_look` gets the grown tree and the seconds since we began.

        `look_closer` is awaited after each of these looks.

        Raises:
            Ended, Hung, SaysDead, Condemned.
        """
        began = healthy_at = self._now()
        failures = 0
        dead = Dead(self.engine.probe, began)
        while True:
            tree = await asyncio.to_thread(grown, self._ports.processes, self.engine.tree)
            on_look(tree, self._now() - began)
            await look_closer()
            status = await self._status(self.engine.probe.live_path)
            failures = 0 if is_alive(self.engine.probe, status) else failures + 1
            self._raise_if_ended()
            self._raise_if_condemned()
            if failures == 0:
                healthy_at = self._now()
                on_health(True)
            elif failures >= FAILURES_UNTIL_UNHEALTHY:
                on_health(False)
            dead = dead.noted(status, self._now())
            if dead.is_sure(self._now()):
                raise SaysDead(dead.status)
            if self._now() - healthy_at > HUNG_SECONDS:
                raise Hung
            await self._pause(HEALTH_SECONDS)

    async def _status(self, path: str | None = None) -> int | None:
        probe = self.engine.probe
        if not probe.path:
            return OK
        status = await self._client.status(self.probed_port, path or probe.path, self.engine.key)
        self._answered = status is not None
        return status

    async def _pause(self, seconds: float) -> None:
        """Cut short by the end of the engine."""
        nap = asyncio.ensure_future(self._ports.clock.sleep(seconds))
        either: set[asyncio.Future[Any]] = {self._end, self._condemned, nap}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            nap.cancel()
        self._raise_if_ended()

    def _raise_if_condemned(self) -> None:
        if self._condemned.done():
            raise Condemned

    def _raise_if_ended(self) -> None:
        if self._end.done():
            raise Ended(self._end.result())

    def _readings(self) -> Readings:
        return readings.of_tree(self._everyone(), self.engine.log_file)

    def _is_listening(self) -> bool | None:
        """Unknown of a container, whose processes need not be ours to look into."""
        if self.engine.is_contained:
            return None
        return readings.is_listening(living(self._ports.processes, self.engine.tree), self.probed_port)

    def _everyone(self) -> list[Identity]:
        return [self.engine.root, *self._ports.processes.descendants(self.engine.root)]

    def _now(self) -> float:
        return self._ports.clock.monotonic()


def is_alive(probe: HttpProbe, status: int | None) -> bool:
    """Busy is alive: what may not be asked just now may be asked soon."""
    return status == OK or status in probe.busy


class Dead(NamedTuple):
    """Since when an engine has said nothing but that it is dead."""

    probe: HttpProbe
    since: float
    status: int = OK

    def noted(self, status: int | None, now: float) -> "Dead":
        if status is None or status not in self.probe.dead:
            return Dead(self.probe, now)
        return Dead(self.probe, self.since, status)

    def is_sure(self, now: float) -> bool:
        return self.status != OK and now - self.since > DEAD_SECONDS


def progress_of(found: Readings, size_bytes: int | None) -> Progress:
    """How much of the weights was read, whether by reading or by touching mapped pages; unknown without a size."""
    if not size_bytes:
        return Progress(phase="load")
    done = min(size_bytes, max(found.read_bytes, found.rss_bytes))
    return Progress(phase="weights", bytes_done=done, bytes_total=size_bytes, fraction=done / size_bytes)
