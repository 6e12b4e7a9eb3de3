import asyncio

import pytest

from gpustack_lite.relay.connection import HIGH_WATER_BYTES, Connection, Patience
from gpustack_lite.relay.failures import UpstreamFailed
from tests.fakes.clock import ManualClock
from tests.fakes.transport import FakeTransport

PATIENCE = Patience(connect_seconds=1, first_byte_seconds=10, idle_seconds=5)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Line:
    """A connection on a fake transport, with a request under way."""

    def __init__(self, method: bytes = b"POST") -> None:
        self.clock = ManualClock()
        self.transport = FakeTransport()
        self.connection = Connection(self.clock.monotonic)
        self.connection.connection_made(self.transport)
        self.connection.begin(method, [b"request"], PATIENCE)

    def hears(self, *pieces: bytes) -> "Line":
        for piece in pieces:
            self.connection.data_received(piece)
        return self

    def ends(self, error: Exception | None = None) -> "Line":
        self.connection.connection_lost(error)
        return self

    async def body(self) -> bytes:
        await self.connection.head()
        read = b""
        while data := await self.connection.read():
            read += data
        return read

    async def cause(self) -> str:
        with pytest.raises(UpstreamFailed) as failed:
            await self.body()
        return failed.value.cause


@pytest.mark.parametrize(
    ("answer", "body", "is_reusable"),
    [
        pytest.param([HEAD + b"hello"], b"hello", True, id="a length"),
        pytest.param([bytes([byte]) for byte in HEAD + b"hello"], b"hello", True, id="byte by byte"),
        pytest.param([CHUNKED, b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: t\r\n\r\n"], b"hello", True, id="chunks"),
        pytest.param([b"HTTP/1.1 204 No\r\n\r\n"], b"", True, id="204"),
        pytest.param([b"HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n"], b"", True, id="304 with a length"),
        pytest.param([b"HTTP/1.1 100 C\r\n\r\n" + HEAD + b"hello"], b"hello", True, id="an interim answer"),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"], b"hi", False, id="close"
        ),
        pytest.param([b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"], b"hi", False, id="HTTP/1.0"),
    ],
)
async def test_an_answer_is_read_to_its_end(answer: list[bytes], body: bytes, is_reusable: bool) -> None:
    line = Line().hears(*answer)
    assert await line.body() == body
    assert line.connection.is_reusable == is_reusable


async def test_a_body_without_framing_lasts_until_the_end_of_the_connection() -> None:
    line = Line().hears(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo").ends()
    assert await line.body() == b"hello"
    assert line.connection.is_close_delimited
    assert not line.connection.is_reusable


async def test_the_answer_to_head_has_no_body() -> None:
    line = Line(b"HEAD").hears(HEAD)
    assert await line.body() == b""
    assert not line.connection.is_reusable


@pytest.mark.parametrize(
    ("heard", "error", "cause"),
    [
        pytest.param([], None, "closed_early", id="closed without a word"),
        pytest.param([b"HTTP/1.1 200"], None, "closed_early", id="closed in the head"),
        pytest.param([HEAD + b"he"], None, "closed_early", id="closed in the body"),
        pytest.param([CHUNKED + b"2\r\nhe\r\n"], None, "closed_early", id="closed between chunks"),
        pytest.param([CHUNKED + b"5\r\nhe"], ConnectionResetError(), "closed_early", id="reset inside a chunk"),
        pytest.param([b"HTTP/1.1 200 OK\r\n\r\nhe"], ConnectionResetError(), "closed_early", id="reset, no framing"),
        pytest.param([b"SSH-2.0-x\r\n"], None, "not_http", id="another protocol"),
        pytest.param([CHUNKED + b"zz\r\n"], None, "not_http", id="a chunk without a size"),
        pytest.param([b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"], None, "not_http", id="upgrade"),
        pytest.param([b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n"], None, "not_http", id="a status of no class"),
        pytest.param([b"HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n"], None, "not_http", id="another one"),
        pytest.param([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"], None, "not_http", id="unknown coding"),
        pytest.param([b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000], None, "head_too_large", id="a head without end"),
        pytest.param([b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300 + b"\r\n"], None, "head_too_large", id="300 fields"),
    ],
)
async def test_an_answer_that_is_not_whole_has_a_cause(heard: list[bytes], error: Exception | None, cause: str) -> None:
    assert await Line().hears(*heard).ends(error).cause() == cause


async def test_what_came_before_the_break_is_read_first() -> None:
    line = Line().hears(HEAD + b"hel").ends()
    await line.connection.head()
    assert await line.connection.read() == b"hel"
    with pytest.raises(UpstreamFailed):
        await line.connection.read()


async def test_whether_anything_was_answered_is_known() -> None:
    silent, half = Line().ends(), Line().hears(b"HTTP/1.1").ends()
    assert silent.connection.failure is not None
    assert half.connection.failure is not None
    assert not silent.connection.failure.has_answered
    assert half.connection.failure.has_answered


async def test_a_fast_sender_is_held_back_until_its_bytes_are_read() -> None:
    line = Line().hears(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", b"x" * (HIGH_WATER_BYTES + 1))
    assert line.transport.is_paused
    await line.connection.head()
    await line.connection.read()
    assert not line.transport.is_paused


@pytest.mark.parametrize(
    ("heard", "seconds", "cause"),
    [
        pytest.param([], 11, "first_byte_timeout", id="no head"),
        pytest.param([HEAD], 6, "idle_timeout", id="no more body"),
    ],
)
async def test_patience_ends(heard: list[bytes], seconds: float, cause: str) -> None:
    line = Line().hears(*heard)
    line.connection.check(line.clock.monotonic() + seconds - 2)
    assert line.connection.failure is None
    line.connection.check(line.clock.monotonic() + seconds)
    assert await line.cause() == cause
    assert line.transport.is_aborted


async def test_every_read_renews_the_patience() -> None:
    line = Line().hears(HEAD)
    for _ in range(4):
        line.clock.advance(4)
        line.hears(b"x")
        line.connection.check(line.clock.monotonic())
    assert line.connection.failure is None


async def test_a_slow_reader_of_ours_is_not_the_other_sides_fault() -> None:
    line = Line().hears(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", b"x" * (HIGH_WATER_BYTES + 1))
    line.connection.check(line.clock.monotonic() + 1000)
    assert line.connection.failure is None


async def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    line = Line().hears(HEAD + b"hello")
    await line.body()
    line.connection.rest()
    line.hears(b"HTTP/1.1 200 OK\r\n")
    assert line.transport.is_aborted
    assert not line.connection.is_reusable


async def test_a_second_answer_behind_the_first_spoils_the_connection() -> None:
    line = Line().hears(HEAD + b"hello", HEAD)
    assert await line.body() == b"hello"
    assert not line.connection.is_reusable


async def test_a_waiting_reader_wakes_when_something_comes() -> None:
    line = Line()
    reading = asyncio.create_task(line.body())
    await asyncio.sleep(0)
    line.hears(HEAD)
    await asyncio.sleep(0)
    line.hears(b"hello")
    assert await reading == b"hello"


async def test_a_writer_waits_while_the_other_side_does_not_take() -> None:
    line = Line()
    line.connection.pause_writing()
    writing = asyncio.create_task(line.connection.write(b"more"))
    await asyncio.sleep(0)
    assert not writing.done()
    line.connection.resume_writing()
    await writing
    assert line.transport.written == b"requestmore"


async def test_an_answer_that_came_before_its_request_was_sent_ends_the_connection() -> None:
    line = Line()
    line.transport.unsent_bytes = 1
    assert await line.hears(HEAD + b"hello").body() == b"hello"
    assert not line.connection.is_reusable


async def test_a_connection_whose_request_was_not_sent_to_its_end_is_not_used_again() -> None:
    line = Line().hears(HEAD + b"hello")
    line.connection.spoil()
    assert await line.body() == b"hello"
    assert not line.connection.is_reusable
