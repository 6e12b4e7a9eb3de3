"""The fault table of docs/gateway.md: what an engine may do wrong, and what its client gets then."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.fakes.gateway_world import World
from tests.fakes.scripted_engine import DONE, SSE_HEAD, Request, Script, Talk, chunk, frame

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ANSWER = json.dumps({"object": "chat.completion", "choices": [], "usage": {"prompt_tokens": 2}}).encode()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("faults"), first_byte_seconds=3, idle_seconds=3) as made:
        yield made


@dataclass(frozen=True, slots=True)
class Fault:
    """`code` is that of the error, None where the answer is good; `holds` looks at the row in the books."""

    script: Script
    status: int
    code: str | None
    cause: str | None = None


def says(*pieces: bytes, then: Callable[[Talk], object] | None = None) -> Script:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(*pieces, pause=0.005)
        if then is not None:
            await then(talk)  # type: ignore[misc]

    return script


def length(body: bytes) -> bytes:
    return JSON_HEAD + b"Content-Length: %d\r\n" % len(body)


PLAIN = {
    "reset before a byte": Fault(says(then=Talk.reset), 502, "engine_broke", "closed_early"),
    "closed before a byte": Fault(says(then=Talk.close), 502, "engine_broke", "closed_early"),
    "reset in the head": Fault(says(b"HTTP/1.1 200 OK\r\nCont", then=Talk.reset), 502, "engine_broke", "closed_early"),
    "reset in the body": Fault(
        says(length(ANSWER) + b"\r\n", ANSWER[:9], then=Talk.reset), 502, "engine_broke", "closed_early"
    ),
    "never answers": Fault(says(then=Talk.until_gone), 504, "engine_timeout", "first_byte_timeout"),
    "stops in the body": Fault(
        says(length(ANSWER) + b"\r\n", ANSWER[:9], then=Talk.until_gone), 504, "engine_timeout", "idle_timeout"
    ),
    "speaks another protocol": Fault(says(b"\x16\x03\x01\x00\xa5\x01", then=Talk.close), 502, "engine_not_http"),
    "a length too short": Fault(says(JSON_HEAD + b"Content-Length: 2\r\n\r\n{}" + ANSWER), 200, None),
    "a length too long": Fault(
        says(JSON_HEAD + b"Content-Length: 9000\r\n\r\n" + ANSWER, then=Talk.close), 502, "engine_broke", "closed_early"
    ),
    "no length, closed": Fault(says(JSON_HEAD + b"\r\n" + ANSWER, then=Talk.close), 200, None),
    "fields twice": Fault(
        says(b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n" + length(ANSWER)[17:] + b"\r\n" + ANSWER), 200, None
    ),
    "trailers": Fault(
        says(JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(ANSWER) + b"0\r\nSet-Cookie: a=b\r\n\r\n"),
        200,
        None,
    ),
    "a redirect": Fault(
        says(b"HTTP/1.1 307 Go\r\nLocation: http://evil/\r\nContent-Length: 0\r\n\r\n"), 502, "engine_redirects"
    ),
    "a status of no class": Fault(says(b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n"), 502, "engine_not_http"),
}


@pytest.mark.parametrize("name", PLAIN)
async def test_an_answer_that_is_no_stream(world: World, name: str) -> None:
    fault = PLAIN[name]
    world.engine.script = fault.script
    answer = await world.chat()
    error = json.loads(answer.text)["error"] if fault.code else {}
    assert (answer.status_code, error.get("code")) == (fault.status, fault.code), answer.text
    assert "set-cookie" not in answer.headers
    assert "location" not in answer.headers
    if fault.cause:
        assert (await world.row(answer.headers["x-request-id"])).cause == fault.cause


STREAMS = {
    "reset": Fault(says(SSE_HEAD, chunk(frame("one")), then=Talk.reset), 502, "engine_broke"),
    "closed": Fault(says(SSE_HEAD, chunk(frame("one")), then=Talk.close), 502, "engine_broke"),
    "silent": Fault(says(SSE_HEAD, chunk(frame("one")), then=Talk.until_gone), 504, "engine_timeout"),
    "a chunk that is none": Fault(
        says(SSE_HEAD, chunk(frame("one")), b"zz\r\n", then=Talk.close), 502, "engine_not_http"
    ),
}


@pytest.mark.parametrize("name", STREAMS)
async def test_a_stream_that_breaks_says_so_and_has_no_end(world: World, name: str) -> None:
    fault = STREAMS[name]
    world.engine.script = fault.script
    raw = await world.raw(world.raw_chat(stream=True))
    assert b'"content": "one"' in raw
    assert f'"code":"{fault.code}"'.encode() in raw
    assert b"[DONE]" not in raw
    assert b'finish_reason": "stop' not in raw
    assert not raw.endswith(b"0\r\n\r\n")


async def test_a_packed_answer_is_passed_on_as_it_is(world: World) -> None:
    packed = gzip.compress(ANSWER)
    head = JSON_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    world.engine.script = says(head + packed)
    answer = await world.chat()
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.content == ANSWER
    assert world.engine.requests[-1].header("accept-encoding") is None


async def test_an_answer_of_a_hundred_megabytes_goes_through_without_being_held(world: World) -> None:
    piece, count = b"x" * 1_000_000, 100

    async def script(_: Request, talk: Talk) -> None:
        await talk.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: %d\r\n\r\n" % (count * len(piece))
        )
        await talk.send(*[piece] * count)

    world.engine.script = script
    received = 0
    async with world.client.stream("POST", "/v1/audio/speech", json={"model": "tiny", "input": "x"}) as answer:
        async for data in answer.aiter_raw():
            received += len(data)
    assert received == count * len(piece)
    assert await world.metric("held_body_bytes") == 0


async def test_an_answer_in_drops_arrives_whole(world: World) -> None:
    whole = frame("slowly") + DONE

    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.send(*(chunk(whole[at : at + 1])[cut:][:1] for at in range(len(whole)) for cut in range(6)))
        await talk.send(b"0\r\n\r\n")

    world.engine.script = script
    assert await world.stream_bytes() == whole


async def test_a_client_that_closes_its_half_after_asking_still_frees_the_engine(world: World) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.until_gone()

    world.engine.forget()
    world.engine.script = script
    reader, writer = await asyncio.open_connection("127.0.0.1", world.gateway.port)
    writer.write(world.raw_chat(stream=True, close=False))
    await reader.readuntil(b"\r\n\r\n")
    writer.write_eof()
    async with asyncio.timeout(10):
        await world.engine.talks[-1].gone.wait()
    writer.close()
