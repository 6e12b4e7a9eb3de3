import asyncio
import ssl
from collections.abc import Callable
from typing import TypeVar

import pytest

from gpustack_lite.relay.connection import Connection, Patience
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.pool import IDLE_SECONDS, LEAST_IDLE_SECONDS, STALE_SECONDS, Pool
from gpustack_lite.relay.target import Target
from tests.fakes.clock import ManualClock
from tests.fakes.transport import FakeTransport

P = TypeVar("P", bound=asyncio.BaseProtocol)
TARGET = Target("127.0.0.1", 21000)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class FakeNetwork:
    """Each connection answers what the test gave it; None means that it is closed without a word."""

    def __init__(self, *answers: bytes | None, refuses: bool = False) -> None:
        self.answers = list(answers)
        self.refuses = refuses
        self.made: list[Connection] = []
        self.dialled: list[str] = []

    async def connect(
        self, make: Callable[[], P], host: str, port: int, tls: ssl.SSLContext | None = None
    ) -> tuple[asyncio.Transport, P]:
        return self._made(make, f"{host}:{port}")

    async def connect_unix(self, make: Callable[[], P], path: str) -> tuple[asyncio.Transport, P]:
        return self._made(make, path)

    def _made(self, make: Callable[[], P], where: str) -> tuple[asyncio.Transport, P]:
        if self.refuses:
            raise ConnectionRefusedError
        self.dialled.append(where)
        protocol, transport = make(), Answering(self)
        assert isinstance(protocol, Connection)
        transport.protocol = protocol
        protocol.connection_made(transport)
        self.made.append(protocol)
        return transport, protocol


class Answering(FakeTransport):
    protocol: Connection

    def __init__(self, network: FakeNetwork) -> None:
        super().__init__()
        self._network = network

    def write(self, data: object) -> None:
        answer = self._network.answers.pop(0)
        if answer is None:
            self.protocol.connection_lost(None)
        elif answer:
            self.protocol.data_received(answer)


def pool_on(network: FakeNetwork, clock: ManualClock) -> Pool:
    return Pool(network, clock, Patience(1, 10, 5))


async def ask(pool: Pool, target: Target = TARGET, **how: bool) -> bytes:
    with await pool.request(target, b"POST", [b"request"], **how) as answer:
        body = b""
        while data := await answer.read():
            body += data
        return body


async def test_a_connection_serves_one_request_after_the_other() -> None:
    network = FakeNetwork(OK, OK)
    pool = pool_on(network, ManualClock())
    assert [await ask(pool), await ask(pool)] == [b"ok", b"ok"]
    assert len(network.made) == 1


async def test_a_connection_whose_answer_was_not_read_is_not_used_again() -> None:
    network = FakeNetwork(OK[:-1], OK)
    pool = pool_on(network, ManualClock())
    with await pool.request(TARGET, b"POST", [b"request"]):
        pass
    await ask(pool)
    assert len(network.made) == 2
    assert network.made[0].is_lost


async def test_targets_do_not_share_connections() -> None:
    network = FakeNetwork(OK, OK)
    pool = pool_on(network, ManualClock())
    await ask(pool)
    await ask(pool, Target(unix_path="/run/server.sock"))
    assert network.dialled == ["127.0.0.1:21000", "/run/server.sock"]


async def test_a_connection_that_was_idle_for_long_is_not_trusted() -> None:
    clock = ManualClock()
    network = FakeNetwork(OK, OK)
    pool = pool_on(network, clock)
    await ask(pool)
    clock.advance(IDLE_SECONDS + 0.1)
    await ask(pool)
    assert len(network.made) == 2


@pytest.mark.parametrize(
    ("closed_after", "kept"), [(5.0, LEAST_IDLE_SECONDS), (10.0, 6.0), (0.1, LEAST_IDLE_SECONDS), (29.0, 17.4)]
)
async def test_where_idle_connections_are_closed_they_are_kept_for_less(closed_after: float, kept: float) -> None:
    clock = ManualClock()
    network = FakeNetwork(OK, OK, OK, OK)
    pool = pool_on(network, clock)
    await ask(pool)
    clock.advance(closed_after)
    network.made[0].connection_lost(None)
    await ask(pool)
    clock.advance(kept - 0.1)
    await ask(pool)
    assert len(network.made) == 2
    clock.advance(kept + 0.1)
    await ask(pool)
    assert len(network.made) == 3


async def test_idle_connections_are_swept_away() -> None:
    clock = ManualClock()
    network = FakeNetwork(OK)
    pool = pool_on(network, clock)
    await ask(pool)
    clock.advance(IDLE_SECONDS + 0.1)
    pool.sweep()
    assert network.made[0].is_lost


async def test_a_request_that_met_a_closing_connection_goes_out_again() -> None:
    network = FakeNetwork(OK, None, OK)
    pool = pool_on(network, ManualClock())
    await ask(pool)
    assert await ask(pool) == b"ok"
    assert len(network.made) == 2


@pytest.mark.parametrize(
    ("answers", "how"),
    [
        pytest.param([None], {}, id="on a new connection"),
        pytest.param([OK, None], {"may_repeat": False}, id="when the caller knows better"),
        pytest.param([OK, b"HTTP/1.1", None], {}, id="after the first byte"),
    ],
)
async def test_a_request_that_may_have_been_read_does_not(answers: list[bytes | None], how: dict[str, bool]) -> None:
    network = FakeNetwork(*answers)
    pool = pool_on(network, ManualClock())
    if answers[0] is not None:
        await ask(pool)
    asking = asyncio.create_task(ask(pool, **how))
    await asyncio.sleep(0)
    for connection in network.made:
        connection.connection_lost(None)
    with pytest.raises(UpstreamFailed):
        await asking
    assert len(network.made) == 1


async def test_an_engine_that_closes_after_a_while_may_have_been_at_work() -> None:
    clock = ManualClock()
    network = FakeNetwork(OK, b"")
    pool = pool_on(network, clock)
    await ask(pool)
    asking = asyncio.create_task(ask(pool))
    await asyncio.sleep(0)
    clock.advance(STALE_SECONDS)
    network.made[0].connection_lost(None)
    with pytest.raises(UpstreamFailed, match="closed_early"):
        await asking


async def test_a_refused_connection_is_known_never_to_have_reached_anybody() -> None:
    with pytest.raises(UpstreamFailed) as failed:
        await ask(pool_on(FakeNetwork(refuses=True), ManualClock()))
    assert failed.value.never_reached


async def test_a_caller_that_is_cancelled_ends_its_connection() -> None:
    network = FakeNetwork(b"")
    pool = pool_on(network, ManualClock())
    asking = asyncio.create_task(ask(pool))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert network.made[0].is_lost


async def test_the_sweep_ends_what_waited_too_long() -> None:
    clock = ManualClock()
    pool = pool_on(FakeNetwork(b""), clock)
    asking = asyncio.create_task(ask(pool))
    await asyncio.sleep(0)
    clock.advance(11)
    pool.sweep()
    with pytest.raises(UpstreamFailed, match="first_byte_timeout"):
        await asking
