"""A whole gateway without a socket, twice: once with the protocol lane and once without, for the same bytes.

Time, ids and dates are the same in both, so whatever differs in what they say, send or note is a difference of lanes.
"""

import asyncio
import re
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gpustack_lite.gateway.parts import Parts, numbered
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.settings import Settings
from gpustack_lite.wire import Credential, Endpoint, ModelRoute, RoutesReply
from tests.fakes.clock import ManualClock
from tests.fakes.route_server import credential
from tests.fakes.transport import FakeTransport

P = TypeVar("P", bound=asyncio.BaseProtocol)
KEY = "gpl_a-key-of-the-lanes"
NARROW_KEY = "gpl_a-key-for-nothing"
QUIET_TICKS = 6
LONG_SECONDS = 100_000.0


class SameRandomness:
    """Both lanes count from the same beginning."""

    def uniform(self, low: float, high: float) -> float:
        return low

    def token(self) -> str:
        return "token"

    def unique_id(self) -> str:
        return "01234567-id"


@dataclass(frozen=True)
class Reply:
    """What an engine does when a whole request has come: its bytes piece by piece, and then perhaps an end.

    `end` is "close", "reset", "silent" (nothing until somebody loses patience) or "" (the connection stays).
    """

    pieces: tuple[bytes, ...]
    end: str = ""


LAST_REPLY = Reply((b"HTTP/1.1 500 Word\r\nContent-Length: 2\r\n\r\n{}",))


class EngineTransport(FakeTransport):
    """The gateway's side of one connection to an engine."""

    def __init__(self, network: "FakeEngines", protocol: Any) -> None:
        super().__init__()
        self._network = network
        self._protocol = protocol
        self._asked = b""
        self._is_lost = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._network.heard(self, bytes(data))
        self._asked += bytes(data)
        if _is_whole(self._asked):
            self._asked = b""
            self._answer(self._network.next_reply())

    def _answer(self, reply: Reply) -> None:
        steps: deque[Callable[[], None]] = deque()
        steps.extend(lambda piece=piece: self._protocol.data_received(piece) for piece in reply.pieces)
        if reply.end in {"close", "reset"}:
            steps.append(lambda: self.lose(ConnectionResetError() if reply.end == "reset" else None))
        asyncio.get_running_loop().call_soon(self._go_on, steps)

    def _go_on(self, steps: deque[Callable[[], None]]) -> None:
        if not steps or self._is_lost or self.is_closing():
            return
        if not self.is_paused:
            self._network.activity += 1
            steps.popleft()()
        asyncio.get_running_loop().call_soon(self._go_on, steps)

    def lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._protocol.connection_lost(error)

    def abort(self) -> None:
        if not self.is_closing():
            super().abort()
            self._network.activity += 1
            asyncio.get_running_loop().call_soon(self.lose, None)


def _is_whole(request: bytes) -> bool:
    head, blank, body = request.partition(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length:")) if blank else b""
    return bool(blank) and len(body) >= int(length.partition(b":")[2])


class FakeEngines:
    """The network: every engine answers with the next reply of the script."""

    def __init__(self) -> None:
        self.script: deque[Reply] = deque()
        self.received: list[bytes] = []
        self._connections: list[EngineTransport] = []
        self.refuses = 0
        self.activity = 0

    def begin(self, replies: Iterable[Reply], refuses: int) -> None:
        self.script = deque(replies)
        self.received, self._connections = [], []
        self.refuses = refuses

    def next_reply(self) -> Reply:
        """Beyond the script it is honest: that it were repeated or not would be a matter of time."""
        return self.script.popleft() if self.script else LAST_REPLY

    def heard(self, connection: EngineTransport, data: bytes) -> None:
        self.activity += 1
        if connection not in self._connections:
            self._connections.append(connection)
            self.received.append(b"")
        self.received[self._connections.index(connection)] += data

    async def connect(
        self, make: Callable[[], P], host: str, port: int, tls: ssl.SSLContext | None = None
    ) -> tuple[asyncio.Transport, P]:
        self.activity += 1
        if self.refuses:
            self.refuses -= 1
            raise ConnectionRefusedError
        protocol = make()
        transport = EngineTransport(self, protocol)
        protocol.connection_made(transport)
        return transport, protocol

    async def connect_unix(self, make: Callable[[], P], path: str) -> tuple[asyncio.Transport, P]:
        raise ConnectionRefusedError(path)


class ClientTransport(FakeTransport):
    """A slow client pauses its writer after every write, until the next round of the loop."""

    protocol: Any

    def __init__(self, network: FakeEngines, *, is_slow: bool) -> None:
        super().__init__()
        self._network = network
        self._is_slow = is_slow
        self._is_lost = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._network.activity += 1
        if self.is_aborted:
            return
        super().write(data)
        if self._is_slow:
            self.protocol.pause_writing()
            asyncio.get_running_loop().call_soon(self.protocol.resume_writing)

    def close(self) -> None:
        if not self.is_closing():
            super().close()
            self._network.activity += 1
            asyncio.get_running_loop().call_soon(self.lose, None)

    def abort(self) -> None:
        self.close()
        super().abort()

    def lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._network.activity += 1
            super().close()
            self.protocol.connection_lost(error)


@dataclass(frozen=True)
class Case:
    """`reads` are what the door receives, one after the other; with `aborts_after` the client leaves behind that one.

    `is_together` gives the reads without a round of the event loop between them.
    """

    reads: tuple[bytes, ...]
    replies: tuple[Reply, ...]
    refuses: int = 0
    aborts_after: int | None = None
    is_slow: bool = False
    is_together: bool = False
    replicas: int = 1


@dataclass(frozen=True)
class Outcome:
    """Everything that may not depend on the lane."""

    said: list[bytes]
    is_closed: bool
    engines_heard: tuple[bytes, ...]
    rows: tuple[bytes, ...]
    counted: dict[tuple[str, int], int]
    left_over: dict[str, object]


def without_chunks(said: bytes) -> list[bytes]:
    """Heads and bodies in turn. Two pieces that came while a client was slow may be one chunk or two."""
    found: list[bytes] = []
    while b"\r\n\r\n" in said:
        head, _, said = said.partition(b"\r\n\r\n")
        body, said = _chunks(said) if b"transfer-encoding: chunked" in head else _counted(head, said)
        found += [head, body]
    return [*found, said]


def _chunks(said: bytes) -> tuple[bytes, bytes]:
    body = b""
    while b"\r\n" in said:
        size, _, said = said.partition(b"\r\n")
        if size == b"0":
            return body + b" and an end", said.removeprefix(b"\r\n")
        body, said = body + said[: int(size, 16)], said[int(size, 16) :].removeprefix(b"\r\n")
    return body, said


def _counted(head: bytes, said: bytes) -> tuple[bytes, bytes]:
    told = re.search(rb"content-length: (\d+)", head)
    length = int(told[1]) if told else len(said)
    return said[:length], said[length:]


_ID = re.compile(rb"\bid-[0-9a-f]+\b")
_STARTED_AT = re.compile(rb'"started_at":"[^"]*",')
"""Each lane has a clock, which a test moves on only while somebody waits: they need not stay together."""


def _names() -> Callable[[bytes], bytes]:
    """Ids are told apart, but not by their numbers: a lane may ask for one that nobody sees."""
    known: dict[bytes, bytes] = {}
    return lambda text: _ID.sub(lambda found: known.setdefault(found[0], b"id-#%d" % len(known)), text)


@dataclass
class Memory:
    """One gateway in memory."""

    folder: Path
    has_lane: bool
    engines: FakeEngines = field(default_factory=FakeEngines)
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        ports = Ports(clock=self.clock, network=self.engines, randomness=SameRandomness())  # type: ignore[arg-type]
        me = Identity(1, 1, "boot")
        self.parts = Parts(Settings(), ports, me, server_socket=self.folder / "s", data_dir=self.folder, index=0)
        if not self.has_lane:
            self.parts.house.lane = None
        self.parts.house.state.default_headers = [(b"date", b"Mon, 30 Nov 2026 12:00:00 GMT")]
        self.parts.freshness.confirm()
        self.make_door = self.parts.door()
        self._revision = 0

    def know(self, replicas: int, credentials: Sequence[Credential] = ()) -> None:
        self._revision += 1
        known = tuple(credentials) or (credential(KEY), credential(NARROW_KEY, id=2, models=("other",)))
        engines = tuple(
            Endpoint(instance_id=each, address=f"10.0.0.{each}:1", engine_key="k", served_name="tiny")
            for each in range(1, replicas + 1)
        )
        route = ModelRoute(id=1, name="tiny", created=1, state="ready", endpoints=engines)
        idle = ModelRoute(id=2, name="idle", created=1, state="stopped")
        self.parts.table.accept(
            RoutesReply(
                epoch=1,
                models_revision=self._revision,
                credentials_revision=self._revision,
                models=(route, idle),
                credentials=known,
            )
        )

    async def play(self, case: Case) -> Outcome:
        self.parts.balancer.__init__(self.clock.monotonic)  # type: ignore[misc]  # what one case taught is not known in the next
        self.know(case.replicas)
        self.parts.freshness.confirm()
        self.engines.begin(case.replies, case.refuses)
        object.__setattr__(self.parts.surface, "unique_id", numbered("id"))
        counted = dict(self.parts.surface.metrics._answers)
        transport = ClientTransport(self.engines, is_slow=case.is_slow)
        transport.protocol = door = self.make_door()
        door.connection_made(transport)
        await self._feed(case, transport)
        for _ in range(3):
            await self._settle()
            self._lose_patience()
        await self._settle()
        is_closed = transport.is_closing()
        transport.lose(None)
        await self._settle()
        name = _names()
        return Outcome(
            without_chunks(name(transport.written)),
            is_closed,
            tuple(map(name, self.engines.received)),
            tuple(map(name, self._rows())),
            self._since(counted),
            self._left_over(),
        )

    async def _feed(self, case: Case, transport: ClientTransport) -> None:
        for number, read in enumerate(case.reads):
            if transport.is_closing():
                return
            transport.protocol.data_received(read)
            if not case.is_together or number == case.aborts_after:
                await self._settle()
            if number == case.aborts_after:
                transport.lose(ConnectionResetError())
                return

    async def _settle(self) -> None:
        """Until nothing happens any more."""
        quiet, seen = 0, self.engines.activity
        while quiet < QUIET_TICKS:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.engines.activity == seen else 0
            seen = self.engines.activity

    def _lose_patience(self) -> None:
        """An hour passes: whoever waits for an engine has waited long enough; clients may wait.

        It passes in both lanes, or what is told of later cases would begin at different times.
        """
        self.clock.advance(LONG_SECONDS)
        self.parts.freshness.confirm()
        self.parts.pool.sweep()

    def _rows(self) -> list[bytes]:
        rows = self.parts.ledger.waiting()
        self.parts.ledger.forget(len(rows))
        return [_STARTED_AT.sub(b"", row) for row in rows]

    def _since(self, before: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        now = self.parts.surface.metrics._answers
        return {key: count - before.get(key, 0) for key, count in now.items() if count != before.get(key, 0)}

    def _left_over(self) -> dict[str, object]:
        pool, idle = self.parts.pool, sum(map(len, self.parts.pool._idle.values()))
        pool.close()
        return {
            "leases": self.parts.table.leases(),
            "in_flight": self.parts.ledger.in_flight,
            "busy": len(pool._busy),
            "idle": idle,
            "held": self.parts.surface.inference._uploads.held_bytes,
            "connections": len(self.parts.house.state.connections),
        }
