"""Limits and revocation at a real gateway: what is refused and how, and what ends in the middle of an answer."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx
import openai
import pytest
import pytest_asyncio

from gpustack_lite.wire import Limits
from tests.fakes.gateway_world import KEY, READER, World, events, until
from tests.fakes.route_server import credential
from tests.fakes.scripted_engine import SSE_HEAD, Request, Talk, chat, frame

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
OTHER = "gpl_another-key"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("gateway")) as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def world(shared: World) -> AsyncIterator[World]:
    shared.engine.script = chat
    shared.engine.forget()
    yield shared
    await shared.reset()


async def test_the_request_beyond_a_limit_is_429_and_every_answer_says_what_is_left(world: World) -> None:
    await world.server.publish(credentials=(credential(KEY, id=50, limits=Limits(requests_per_minute=2)),))
    first, second, refused = [await world.chat() for _ in range(3)]
    assert [each.headers["x-ratelimit-remaining-requests"] for each in (first, second, refused)] == ["1", "0", "0"]
    assert first.headers["x-ratelimit-limit-requests"] == "2"
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["type"]) == (429, "rate_limit_exceeded", "rate_limit_error")
    assert 1 <= int(refused.headers["retry-after"]) <= 61
    async with openai.AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key=KEY, max_retries=0) as client:
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model="tiny", messages=[])
    assert len(world.engine.requests) == 2


async def test_a_budget_counts_what_the_engine_said_and_then_the_quota_is_used_up(world: World) -> None:
    await world.server.publish(credentials=(credential(KEY, id=51, limits=Limits(tokens_per_month=10)),))
    assert (await world.chat()).status_code == 200
    refused = await world.chat()
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "insufficient_quota")
    assert refused.json()["error"]["type"] == "insufficient_quota"


async def test_a_disabled_key_is_told_so_and_so_is_one_that_expired(world: World) -> None:
    past = datetime.now(UTC) - timedelta(hours=1)
    await world.server.publish(credentials=(credential(KEY, enabled=False), credential(OTHER, expires_at=past)))
    disabled = await world.chat()
    assert (disabled.status_code, disabled.json()["error"]["code"]) == (401, "key_disabled")
    world_of_other = {"authorization": f"Bearer {OTHER}"}
    expired = await world.client.post("/v1/chat/completions", json=world.body(), headers=world_of_other)
    assert (expired.status_code, expired.json()["error"]["code"]) == (401, "expired_api_key")


async def endless(request: Request, talk: Talk) -> None:
    await talk.send(SSE_HEAD)
    await talk.events(frame("one "))
    await talk.until_gone()


async def silent(request: Request, talk: Talk) -> None:
    await talk.until_gone()


def content(world: World, *, is_chunked: bool, stream: bool) -> object:
    """A body without a length goes by the ASGI lane, one with a length by the protocol lane."""
    body = json.dumps(world.body(stream=stream)).encode()

    async def pieces() -> AsyncIterator[bytes]:
        yield body

    return pieces() if is_chunked else body


@pytest.mark.parametrize("is_chunked", [False, True], ids=["protocol lane", "ASGI lane"])
@pytest.mark.parametrize("how", ["gone", "disabled", "expired"])
async def test_a_stream_ends_with_an_error_when_its_key_holds_no_more(
    world: World, how: str, *, is_chunked: bool
) -> None:
    world.engine.script = endless
    await world.server.publish(credentials=(credential(KEY), credential(OTHER, id=2)))
    received: list[bytes] = []
    given = content(world, is_chunked=is_chunked, stream=True)
    async with world.client.stream("POST", "/v1/chat/completions", content=given) as answer:
        pieces = answer.aiter_raw()
        received.append(await anext(pieces))
        await _end_the_key(world, how)
        with pytest.raises(httpx.RemoteProtocolError):
            await _take_all(pieces, received)
    *said, error = events(b"".join(received))
    assert [each["choices"][0]["delta"]["content"] for each in said] == ["one "]
    assert error["error"]["code"] == "key_revoked"
    await until(world.engine.talks[-1].gone.is_set)
    row = await world.row(answer.headers["x-request-id"])
    assert (row.status, row.cause) == (401, "key_revoked")
    assert await world.metric("requests_in_flight") == 0


async def _take_all(pieces: AsyncIterator[bytes], into: list[bytes]) -> None:
    async for piece in pieces:
        into.append(piece)


async def _end_the_key(world: World, how: str) -> None:
    changed = {
        "gone": (),
        "disabled": (credential(KEY, enabled=False),),
        "expired": (credential(KEY, expires_at=datetime.now(UTC) + timedelta(seconds=0.5)),),
    }
    reader = credential(READER, id=3, scopes=("read",))
    await world.server.publish(credentials=(*changed[how], credential(OTHER, id=2), reader))


@pytest.mark.parametrize("is_chunked", [False, True], ids=["protocol lane", "ASGI lane"])
async def test_an_answer_that_has_not_begun_is_401_when_its_key_is_revoked(world: World, *, is_chunked: bool) -> None:
    world.engine.script = silent
    given = content(world, is_chunked=is_chunked, stream=False)
    asking = asyncio.ensure_future(world.client.post("/v1/chat/completions", content=given))
    await until(lambda: world.engine.requests)
    await world.server.publish(credentials=(credential(OTHER, id=2),))
    refused = await asking
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "key_revoked")
    await until(world.engine.talks[-1].gone.is_set)


async def test_who_reads_slowly_is_cut_off_and_the_others_go_on(world: World) -> None:
    async def flood(request: Request, talk: Talk) -> None:
        if request.json.get("user") == "other":
            await chat(request, talk)
            return
        await talk.send(SSE_HEAD)
        with contextlib.suppress(ConnectionError):
            while True:
                await talk.events(frame("x" * 60_000))

    world.engine.script = flood
    await world.server.publish(credentials=(credential(KEY), credential(OTHER, id=2)))
    reader, writer = await asyncio.open_connection("127.0.0.1", world.gateway.port, limit=1024)
    writer.write(world.raw_chat(stream=True))
    await reader.readexactly(10)
    await world.server.publish(credentials=(credential(OTHER, id=2),))
    await until(lambda: world.engine.talks[0].writer.is_closing() or _is_cut(world.engine.talks[0]))
    writer.close()
    headers = {"authorization": f"Bearer {OTHER}"}
    answer = await world.client.post("/v1/chat/completions", json=world.body(user="other"), headers=headers)
    assert answer.status_code == 200


def _is_cut(talk: Talk) -> bool:
    return talk.reader.at_eof() or talk.reader.exception() is not None


async def test_a_budget_holds_while_the_server_is_dead_and_after_a_restart_of_the_gateway(world: World) -> None:
    await world.server.publish(credentials=(credential(KEY, id=5277, limits=Limits(tokens_per_month=15)),))
    await until(lambda: "5277" in (world.gateway.data_dir / "gateway" / "routes.json").read_text())
    await world.server.stop()
    assert [(await world.chat()).status_code for _ in range(3)] == [200, 200, 429]
    await world.gateway.end()
    await world.gateway.start()
    refused = await world.chat()
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "insufficient_quota")
    assert refused.json()["error"]["type"] == "insufficient_quota"
    await world.server.start()
