"""Holds what `Door` leans on in uvicorn, without a socket: its parser callbacks, its cycle and its flow control."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from uvicorn import Config

from gpustack_lite.gateway.call import AsgiCall, Call, UntilClientLeaves
from gpustack_lite.gateway.door import BODY_SECONDS, HEAD_BYTES, HEAD_SECONDS, KEEP_ALIVE_SECONDS, Door, House
from tests.fakes.clock import ManualClock
from tests.fakes.transport import FakeTransport

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


class Hall:
    """One connection, and an application that answers "ok" or does what the test tells it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.house = House(self.clock.monotonic, stall_seconds=60)
        self.calls: list[Call] = []
        self.work: Any = self.say_ok
        config = Config(self._app, loop="none", ws="none", lifespan="off", interface="asgi3", log_config=None)
        config.load()
        self.config = config
        self.transport = FakeTransport()
        self.door = Door(config, self.house)
        self.door.connection_made(self.transport)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        call = AsgiCall(scope, receive, send, f"id-{len(self.calls)}")
        self.calls.append(call)
        with UntilClientLeaves(call.door):
            await self.work(call)

    @staticmethod
    async def say_ok(call: Call) -> None:
        await call.answer(200, b"ok", [])

    async def hears(self, *pieces: bytes) -> bytes:
        for piece in pieces:
            self.door.data_received(piece)
            await asyncio.sleep(0)
        return await self.said()

    async def said(self) -> bytes:
        for _ in range(5):
            await asyncio.sleep(0)
        return self.transport.written

    def waits(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.house.sweep()


@pytest_asyncio.fixture
async def hall() -> AsyncIterator[Hall]:
    made = Hall()
    yield made
    made.door.connection_lost(None)
    await asyncio.gather(*made.house.state.tasks, return_exceptions=True)


def code(answer: bytes) -> str:
    return str(json.loads(answer.rpartition(b"\r\n\r\n")[2])["error"]["code"])


async def test_a_request_is_answered_and_its_connection_kept(hall: Hall) -> None:
    assert (await hall.hears(GET)).endswith(b"\r\n\r\nok")
    assert not hall.transport.is_closing()


async def test_requests_that_arrive_together_are_answered_one_after_the_other(hall: Hall) -> None:
    said = await hall.hears(GET * 3)
    assert said.count(b"HTTP/1.1 200 OK") == 3
    assert [call.id for call in hall.calls] == ["id-0", "id-1", "id-2"]


async def test_a_head_without_end_is_refused_before_it_is_whole(hall: Hall) -> None:
    said = await hall.hears(b"GET / HTTP/1.1\r\nHost: x\r\n", b"X: " + b"y" * HEAD_BYTES)
    assert said.startswith(b"HTTP/1.1 431 ")
    assert hall.transport.is_closing()
    assert hall.calls == []


async def test_a_large_body_is_no_large_head(hall: Hall) -> None:
    async def swallow(call: Call) -> None:
        size, has_more = 0, True
        while has_more:
            data, has_more = await call.receive()
            size += len(data)
        await call.answer(200, str(size).encode(), [])

    hall.work = swallow
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n"
    assert (await hall.hears(head, *[b"x" * 10_000] * 5)).endswith(b"50000")


async def test_a_body_that_comes_behind_its_answer_does_not_spoil_the_next_request(hall: Hall) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n"
    said = await hall.hears(head, *[b"x" * 10_000] * 5, GET)
    assert said.count(b"HTTP/1.1 200 OK") == 2


async def test_garbage_has_one_answer_in_openais_shape(hall: Hall) -> None:
    said = await hall.hears(b"NONSENSE\r\n\r\n", GET)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert code(said) == "request_not_http"
    assert said.count(b"HTTP/1.1 ") == 1


async def test_garbage_behind_a_running_answer_cuts_it_and_adds_nothing_to_it(hall: Hall) -> None:
    async def stream(call: Call) -> None:
        await call.start(200, [])
        await call.write(b"part")
        await asyncio.Event().wait()

    hall.work = stream
    said = await hall.hears(GET, b"NONSENSE\r\n\r\n")
    assert said.count(b"HTTP/1.1") == 1
    assert said.endswith(b"4\r\npart\r\n")
    assert hall.transport.is_closing()


async def test_a_client_that_leaves_cancels_the_work_for_it(hall: Hall) -> None:
    ended: list[str] = []

    async def wait(_: Call) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    hall.work = wait
    await hall.hears(GET)
    (task,) = hall.house.state.tasks
    hall.door.connection_lost(None)
    await task
    assert ended == ["ended"]
    assert not task.cancelled()


async def test_a_cut_answer_has_no_last_chunk(hall: Hall) -> None:
    async def cut(call: Call) -> None:
        await call.start(200, [])
        await call.write(b"part")
        call.cut()

    hall.work = cut
    said = await hall.hears(GET)
    assert said.endswith(b"4\r\npart\r\n")
    assert hall.transport.is_closing()


async def test_http_1_0_gets_no_chunks(hall: Hall) -> None:
    async def stream(call: Call) -> None:
        await call.start(200, [])
        await call.write(b"one ")
        await call.finish(b"two")

    hall.work = stream
    said = await hall.hears(b"GET / HTTP/1.0\r\n\r\n")
    assert said.endswith(b"\r\n\r\none two")
    assert b"transfer-encoding" not in said
    assert hall.transport.is_closing()


async def test_a_leaving_gateway_answers_with_close(hall: Hall) -> None:
    await hall.hears(GET)
    hall.house.is_draining = True
    assert b"connection: close" in await hall.hears(GET)
    assert hall.transport.is_closing()


async def test_an_offer_to_upgrade_is_declined_by_answering(hall: Hall) -> None:
    said = await hall.hears(GET[:-2] + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert said.endswith(b"ok")
    assert hall.transport.is_closing()


@pytest.mark.parametrize(
    ("sent", "is_told"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param([b"GET / HT"], True, id="half"),
        pytest.param([GET, b"GET / HT"], True, id="half of a second one"),
        pytest.param([GET, b"\r\n"], False, id="an empty line"),
    ],
)
async def test_a_head_that_does_not_come_is_not_waited_for(hall: Hall, sent: list[bytes], is_told: bool) -> None:
    await hall.hears(*sent)
    hall.waits(HEAD_SECONDS)
    assert not hall.transport.is_closing()
    hall.waits(1)
    assert hall.transport.is_closing()
    assert (b"request_too_slow" in hall.transport.written) == is_told


@pytest.mark.parametrize(("piece", "is_kept"), [(b"x", False), (b"x" * 2000, True)], ids=["drops", "steadily"])
async def test_a_body_must_come_at_some_speed(hall: Hall, piece: bytes, is_kept: bool) -> None:
    async def swallow(call: Call) -> None:
        call.door.awaits_body = True
        while (await call.receive())[1]:
            pass

    hall.work = swallow
    await hall.hears(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(70):
        hall.waits(1)
        await hall.hears(piece)
    assert hall.transport.is_closing() is not is_kept
    assert (b" 408 " in hall.transport.written) is not is_kept


async def test_a_body_that_does_not_come_is_not_waited_for(hall: Hall) -> None:
    async def read(call: Call) -> None:
        call.door.awaits_body = True
        await call.receive()

    hall.work = read
    await hall.hears(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
    hall.waits(BODY_SECONDS)
    assert not hall.transport.is_closing()
    hall.waits(1)
    assert hall.transport.is_closing()


@pytest.mark.parametrize("drop", [b"", b"x"], ids=["silence", "drops"])
async def test_a_body_that_was_answered_before_it_came_is_not_waited_for_either(hall: Hall, drop: bytes) -> None:
    said = await hall.hears(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(70):
        hall.waits(1)
        await hall.hears(drop)
    assert hall.transport.is_closing()
    assert hall.transport.written == said  # a second answer would be taken for that of the next request


async def test_a_body_that_is_there_is_not_too_slow(hall: Hall) -> None:
    async def forget(call: Call) -> None:
        call.door.awaits_body = True
        await call.receive()
        await call.answer(400, b"bad", [])

    hall.work = forget
    said = await hall.hears(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
    hall.waits(BODY_SECONDS + 0.5)
    assert hall.transport.written == said


@pytest.mark.parametrize("trailer", [b"X-API-Key: stolen", b"Host: evil.example", b"Connection: host"])
async def test_what_comes_behind_the_body_is_no_header(hall: Hall, trailer: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    await hall.hears(head + b"2\r\n{}\r\n0\r\n" + trailer + b"\r\n\r\n" + GET)
    assert [call.fields for call in hall.calls] == [
        [(b"host", b"x"), (b"transfer-encoding", b"chunked")],
        [(b"host", b"x")],
    ]


async def test_an_idle_connection_is_closed_after_a_while_without_a_word(hall: Hall) -> None:
    said = await hall.hears(GET)
    hall.waits(KEEP_ALIVE_SECONDS + 2)
    assert hall.transport.is_closing()
    assert hall.transport.written == said


async def test_a_client_that_takes_nothing_is_given_up(hall: Hall) -> None:
    await hall.hears(GET)
    hall.door.pause_writing()
    hall.waits(61)
    assert hall.transport.is_aborted


async def test_more_connections_than_may_be_are_turned_away(hall: Hall) -> None:
    hall.house.most_connections = 1
    transport = FakeTransport()
    second = Door(hall.config, hall.house)
    second.connection_made(transport)
    assert code(transport.written) == "gateway_full"
    assert transport.is_closing()
    second.connection_lost(None)


class Rider:
    """A request without ASGI: what the door and uvicorn do to it."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.response_started = self.response_complete = self.disconnected = False
        self.keep_alive = True

    @property
    def message_event(self) -> "Rider":
        return self

    def set(self) -> None:
        self.heard.append("gone")

    def take(self, body: bytes) -> None:
        self.heard.append(body)

    def is_whole(self) -> None:
        self.heard.append("whole")

    def go_on(self) -> None:
        self.heard.append("go on")

    def has_room(self) -> None:
        self.heard.append("room")


class Riders:
    def __init__(self) -> None:
        self.all: list[Rider] = []

    def recognise(self, door: Door, data: bytes) -> Rider | None:
        return None

    def take(self, door: Door) -> Rider | None:
        if door.parser.get_method() != b"POST":
            return None
        self.all.append(Rider())
        return self.all[-1]


POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture
def riders(hall: Hall) -> Riders:
    hall.house.lane = riders = Riders()
    return riders


async def test_a_request_without_asgi_is_told_what_has_come(hall: Hall, riders: Riders) -> None:
    await hall.hears(POST[:-1], POST[-1:])
    assert riders.all[0].heard == [b"{", "go on", b"}", "whole", "go on"]
    assert hall.calls == []


async def test_requests_wait_for_the_one_before_them_on_either_lane(hall: Hall, riders: Riders) -> None:
    await hall.hears(POST + POST + GET)
    assert [rider.heard[-1] for rider in riders.all] == ["go on", "whole"]
    assert hall.transport.is_paused
    for rider in riders.all:
        rider.response_complete = True
        hall.door.ride_ended()
        await hall.said()
    assert riders.all[1].heard[-1] == "go on"
    assert hall.transport.written.endswith(b"ok")
    assert not hall.transport.is_paused


async def test_a_request_without_asgi_waits_behind_one_with_it(hall: Hall, riders: Riders) -> None:
    await hall.hears(GET + POST)
    assert riders.all[0].heard == [b"{}", "whole", "go on"]


async def test_a_request_without_asgi_hears_that_its_client_has_left(hall: Hall, riders: Riders) -> None:
    await hall.hears(POST)
    hall.door.connection_lost(None)
    assert riders.all[0].heard[-1] == "gone"
    assert riders.all[0].disconnected


async def test_a_request_without_asgi_hears_that_its_client_takes_bytes_again(hall: Hall, riders: Riders) -> None:
    await hall.hears(POST)
    hall.door.pause_writing()
    assert hall.door.flow.write_paused
    hall.door.resume_writing()
    assert riders.all[0].heard[-1] == "room"


async def test_a_body_without_asgi_that_was_answered_before_it_came_is_not_waited_for(
    hall: Hall, riders: Riders
) -> None:
    await hall.hears(POST[:-1])
    riders.all[0].response_started = riders.all[0].response_complete = True
    hall.waits(1)
    hall.waits(BODY_SECONDS + 1)
    assert hall.transport.is_closing()
    assert hall.transport.written == b""


async def test_a_leaving_gateway_keeps_no_connection_of_either_lane(hall: Hall, riders: Riders) -> None:
    await hall.hears(POST)
    hall.door.shutdown()
    assert not riders.all[0].keep_alive


async def test_garbage_behind_a_request_without_asgi_ends_it(hall: Hall, riders: Riders) -> None:
    await hall.hears(POST + b"NONSENSE\r\n\r\n")
    assert riders.all[0].disconnected
    assert riders.all[0].heard[-1] == "go on"
    assert hall.transport.is_closing()
