"""Connections kept for the next request, per target; the newest idle one is used first."""

import asyncio
from collections.abc import Sequence

from gpustack_lite.ports import Clock, Network
from gpustack_lite.relay.connection import Connection, Patience
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.known_answers import KnownAnswers
from gpustack_lite.relay.runs import in_task
from gpustack_lite.relay.target import Target

IDLE_SECONDS = 30.0
LEAST_IDLE_SECONDS = 3.0
SAFE_PART = 0.6
"""How long an idle connection is kept: less, once the other side was seen to close one, and then well below its time
(uvicorn and cpp-httplib: five seconds), so that no request meets the end of its connection."""
STALE_SECONDS = 1.0
IDLE_CONNECTIONS = 1024
MOST_TARGETS = 4096
Part = bytes | bytearray | memoryview


class Lent:
    """A connection whose answer has begun. Leaving the `with` gives it back, or ends it when the answer is not read."""

    __slots__ = ("_connection", "_pool", "_target")

    def __init__(self, pool: "Pool", target: Target, connection: Connection) -> None:
        self._pool = pool
        self._target = target
        self._connection = connection

    def __enter__(self) -> Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._pool.take_back(self._target, self._connection)


class Pool:
    def __init__(self, network: Network, clock: Clock, patience: Patience) -> None:
        self._network = network
        self._now = clock.monotonic
        self.patience = patience
        self._idle: dict[Target, list[Connection]] = {}
        self._busy: set[Connection] = set()
        self._known = KnownAnswers()
        self._keeps: dict[Target, float] = {}
        """Of those that were seen to close idle connections."""

    async def request(
        self,
        target: Target,
        method: bytes,
        parts: Sequence[Part],
        *,
        may_reuse: bool = True,
        may_repeat: bool = True,
        patience: Patience | None = None,
        begun: Connection | None = None,
    ) -> Lent:
        """Send a whole request and wait for the head of its answer.

        With `may_reuse` an idle connection is tried first; with `may_repeat`, when the other side had just closed it,
        the request, which hardly anybody has read, goes out once more, on a new one: an engine that resets whatever
        asks for this must not hear it on each of its idle connections. With `begun` it is on its way there already.

        Raises:
            UpstreamFailed: no head came.
        """
        chosen = patience or self.patience
        if may_reuse and (connection := begun or self.take_idle(target)) is not None:
            try:
                return await self._ask(target, connection, method, [] if begun else parts, chosen)
            except UpstreamFailed as failure:
                if not may_repeat or not self._was_stale(connection, failure):
                    raise  # else once more, and on a new one: the other idle ones may be stale too
        connection = await self.connect(target, chosen)
        return await self._ask(target, connection, method, parts, chosen)

    def _was_stale(self, connection: Connection, failure: UpstreamFailed) -> bool:
        """Closed at once and without a word; one that was closed later may have been at work."""
        is_silent = failure.cause == "closed_early" and not failure.has_answered
        return is_silent and self._now() - connection.began_at < STALE_SECONDS

    async def connect(self, target: Target, patience: Patience | None = None) -> Connection:
        """A new connection, already counted as busy: end it with `lend` or `drop`."""
        await in_task()
        try:
            async with asyncio.timeout((patience or self.patience).connect_seconds):
                connection = await self._dial(target)
        except TimeoutError as error:
            raise UpstreamFailed("connect_timeout") from error
        except OSError as error:
            raise UpstreamFailed("connect_failed") from error
        self._busy.add(connection)
        return connection

    async def _dial(self, target: Target) -> Connection:
        def make() -> Connection:
            return Connection(self._now, self._known, lambda seconds: self._closed(target, seconds))

        if target.unix_path is not None:
            return (await self._network.connect_unix(make, target.unix_path))[1]
        return (await self._network.connect(make, target.host, target.port))[1]

    def _closed(self, target: Target, seconds: float) -> None:
        """The other side has closed a connection that was idle for so long."""
        if len(self._keeps) >= MOST_TARGETS:
            self._keeps.clear()
        self._keeps[target] = max(LEAST_IDLE_SECONDS, min(self._kept(target), SAFE_PART * seconds))

    def _kept(self, target: Target) -> float:
        return self._keeps.get(target, IDLE_SECONDS)

    async def _ask(
        self, target: Target, connection: Connection, method: bytes, parts: Sequence[Part], patience: Patience
    ) -> Lent:
        has_head = False
        try:
            if parts:
                connection.begin(method, parts, patience)
            await connection.head()
            has_head = True
        finally:
            if not has_head:  # on failure, and when the client leaves while we wait
                self.drop(connection)
        return Lent(self, target, connection)

    def lend(self, target: Target, connection: Connection) -> Lent:
        return Lent(self, target, connection)

    def drop(self, connection: Connection) -> None:
        self._busy.discard(connection)
        connection.abort()

    def take_idle(self, target: Target) -> Connection | None:
        idle = self._idle.get(target)
        oldest = self._now() - self._keeps.get(target, IDLE_SECONDS)
        while idle:
            connection = idle.pop()
            if not connection.is_lost and connection.idle_since >= oldest:
                self._busy.add(connection)
                return connection
            connection.abort()
        return None

    def take_back(self, target: Target, connection: Connection) -> None:
        idle = self._idle.setdefault(target, [])
        if not connection.is_reusable or len(idle) >= IDLE_CONNECTIONS:
            self.drop(connection)
            return
        self._busy.discard(connection)
        connection.rest()
        idle.append(connection)

    def sweep(self) -> None:
        """Call a few times a second: ends what waited too long, in use or idle."""
        now = self._now()
        for connection in tuple(self._busy):
            connection.check(now)
        for target, idle in tuple(self._idle.items()):
            oldest = now - self._kept(target)
            self._idle[target] = [each for each in idle if not self._is_too_old(each, oldest)]
            if not self._idle[target]:
                del self._idle[target]

    def _is_too_old(self, connection: Connection, oldest: float) -> bool:
        if connection.is_lost or connection.idle_since < oldest:
            connection.abort()
            return True
        return False

    def close(self) -> None:
        for idle in self._idle.values():
            for connection in idle:
                connection.abort()
        self._idle.clear()
