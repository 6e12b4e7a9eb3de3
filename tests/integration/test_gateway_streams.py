"""Streams through a real gateway: what the engine sent arrives, nothing is invented, and both ends are heeded."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import openai
import psutil
import pytest
import pytest_asyncio

from tests.fakes.gateway_world import KEY, World, events, route, until
from tests.fakes.scripted_engine import (
    DONE,
    SSE_HEAD,
    Request,
    Script,
    ScriptedEngine,
    Talk,
    chat,
    chunk,
    frame,
    usage_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
TEXT = "你好世界🌍"


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


@pytest_asyncio.fixture(loop_scope="module")
async def client(world: World) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key=KEY, max_retries=0) as each:
        yield each


async def said(client: openai.AsyncOpenAI) -> str:
    stream = await client.chat.completions.create(model="tiny", messages=[], stream=True)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


# --- A01: usage is counted always and shown when it was asked for


async def test_usage_is_hidden_from_a_stream_that_did_not_ask_for_it(world: World) -> None:
    frames = events(await world.stream_bytes())
    assert frames[-1] == "[DONE]"
    assert all(each["choices"] and "usage" not in each for each in frames[:-1])


async def test_usage_that_was_asked_for_comes_once_between_the_stop_and_the_end(world: World) -> None:
    frames = events(await world.stream_bytes(stream_options={"include_usage": True}))
    assert [bool(each.get("usage")) for each in frames[:-1]] == [False, False, False, False, True]
    assert frames[-3]["choices"][0]["finish_reason"] == "stop"
    assert frames[-2]["choices"] == []


async def test_usage_is_stored_alike_whether_it_was_asked_for_or_not(world: World) -> None:
    rows = []
    for options in (None, {"include_usage": True}):
        body = world.body(stream=True) | ({} if options is None else {"stream_options": options})
        answer = await world.client.post("/v1/chat/completions", json=body)
        rows.append(await world.row(answer.headers["x-request-id"]))
    assert [(row.prompt_tokens, row.completion_tokens, row.partial, row.status) for row in rows] == [
        (7, 3, False, 200)
    ] * 2


async def test_openais_client_can_index_the_choices_of_every_chunk(client: openai.AsyncOpenAI) -> None:
    assert await said(client) == "one two three"


async def test_usage_beside_choices_is_cut_out_of_its_frame(world: World) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(frame("a", usage=None), frame("b", usage=usage_of(5, 2)), DONE)
        await talk.send(b"0\r\n\r\n")

    world.engine.script = script
    frames = events(await world.stream_bytes())
    assert [each["choices"][0]["delta"]["content"] for each in frames[:-1]] == ["a", "b"]
    assert all("usage" not in each for each in frames[:-1])


# --- A03: an engine that breaks


@pytest.mark.parametrize("contents", [["one ", "two "], []], ids=["after two words", "after the role only"])
async def test_an_engine_that_is_reset_ends_in_an_error_and_not_in_a_stop(world: World, contents: list[str]) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(frame("", role="assistant"), *(frame(each) for each in contents))
        await talk.reset()

    world.engine.script = script
    received = await world.raw(world.raw_chat(stream=True))
    assert b'"finish_reason": "stop"' not in received
    assert b"[DONE]" not in received
    assert [each.encode() in received for each in contents] == [True] * len(contents)
    (error,) = [json.loads(line[6:]) for line in received.split(b"\r\n") if line.startswith(b'data: {"error"')]
    assert error["error"]["type"] == "server_error"
    assert error["error"]["code"] == "engine_broke"
    assert not received.endswith(b"0\r\n\r\n")


async def test_the_row_of_a_broken_stream_says_so_and_counts_the_frames_seen(world: World) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(frame("one "), frame("two "))
        await talk.reset()

    world.engine.script = script
    received = await world.raw(world.raw_chat(stream=True))
    request_id = received.partition(b"x-request-id: ")[2].split(b"\r\n")[0].decode()
    row = await world.row(request_id)
    assert (row.status, row.cause, row.partial, row.completion_tokens) == (502, "closed_early", True, 2)


async def test_half_an_event_of_a_broken_stream_is_not_passed_on(world: World) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD, chunk(frame("whole")), chunk(b'data: {"choices":[{"delta":{"content":"ha'))
        await talk.close()

    world.engine.script = script
    received = await world.raw(world.raw_chat(stream=True))
    assert b"whole" in received
    assert b'"content":"ha' not in received
    assert b'data: {"error"' in received


async def test_a_stream_that_ends_with_the_connection_must_have_said_done(world: World) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    async def script(request: Request, talk: Talk) -> None:
        await talk.send(head, frame("word"), *([DONE] if request.json["user"] == "done" else []))
        await talk.close()

    world.engine.script = script
    assert events(await world.stream_bytes(user="done"))[-1] == "[DONE]"
    assert b'data: {"error"' in await world.raw(world.raw_chat(stream=True, user="cut"))


async def test_openais_client_raises_on_a_broken_stream(world: World, client: openai.AsyncOpenAI) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(frame("one "))
        await talk.reset()

    world.engine.script = script
    with pytest.raises(openai.APIError, match="tiny"):
        await said(client)


# --- A05: a client that leaves


async def endless(_: Request, talk: Talk) -> None:
    await talk.send(SSE_HEAD)
    reading = asyncio.create_task(talk.until_gone())
    while not talk.gone.is_set():
        talk.writer.write(chunk(frame("word ")))
        await asyncio.sleep(0.2)
    await reading


async def test_twenty_clients_that_leave_free_the_engine_twenty_times(world: World) -> None:
    world.engine.script = endless
    readers = [asyncio.create_task(world.raw(world.raw_chat(stream=True), until=b"word")) for _ in range(20)]
    await asyncio.gather(*readers)  # each closes its connection when the first word has come
    async with asyncio.timeout(10):
        await asyncio.gather(*(talk.gone.wait() for talk in world.engine.talks))
    assert len(world.engine.talks) == 20
    await until(lambda: _is_zero(world, "requests_in_flight"))
    assert await world.metric("leases") == 0
    assert "never retrieved" not in world.gateway.log
    assert "traceback" not in world.gateway.log


async def _is_zero(world: World, name: str) -> bool:
    return await world.metric(name) == 0


async def test_a_client_that_leaves_before_the_first_byte_frees_the_engine(world: World) -> None:
    async def silent(_: Request, talk: Talk) -> None:
        await talk.until_gone()

    world.engine.script = silent
    _, writer = await asyncio.open_connection("127.0.0.1", world.gateway.port)
    writer.write(world.raw_chat(stream=False))
    await until(lambda: world.engine.talks)
    writer.close()
    async with asyncio.timeout(10):
        await world.engine.talks[0].gone.wait()


async def test_the_row_of_a_client_that_left_is_partial(world: World) -> None:
    world.engine.script = endless
    request_id = "none"
    async with world.client.stream("POST", "/v1/chat/completions", json=world.body(stream=True)) as answer:
        request_id = answer.headers["x-request-id"]
        async for _ in answer.aiter_lines():
            break
    row = await world.row(request_id)
    assert (row.status, row.cause, row.partial) == (499, "client_gone", True)
    assert row.completion_tokens >= 1


async def test_a_client_that_reads_nothing_holds_back_the_engine_and_costs_no_memory(world: World) -> None:
    flood = chunk(b"data: " + b"x" * 65_000 + b"\n\n")
    sent = 0

    async def script(_: Request, talk: Talk) -> None:
        nonlocal sent
        await talk.send(SSE_HEAD)
        for _ in range(3000):
            talk.writer.write(flood)
            await talk.writer.drain()
            sent += len(flood)

    world.engine.script = script
    before = psutil.Process(world.gateway.pid).memory_info().rss
    with socket.create_connection(("127.0.0.1", world.gateway.port)) as raw:
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(raw, world.raw_chat(stream=True))
        last = -1
        while sent != last:
            last = sent
            await asyncio.sleep(0.3)
        assert sent < 500 * len(flood)  # what the kernel's buffers take, of 3000
        assert psutil.Process(world.gateway.pid).memory_info().rss - before < 8 * 1024**2
    async with asyncio.timeout(10):
        await world.engine.talks[0].gone.wait()


# --- A17, A19: bytes stay what they are


async def test_comments_crlf_and_data_over_several_lines_pass_unchanged(
    world: World, client: openai.AsyncOpenAI
) -> None:
    crlf = frame("one ").replace(b"\n\n", b"\r\n\r\n")
    document = frame("two").removeprefix(b"data: ").strip()
    cut = document.index(b'"object"')
    two_lines = b"data: " + document[:cut] + b"\ndata: " + document[cut:] + b"\n\n"
    sent = [b":\n\n", b": keepalive\n\n", crlf, two_lines, DONE]

    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(*sent)
        await talk.send(b"0\r\n\r\n")

    world.engine.script = script
    assert await world.stream_bytes() == b"".join(sent)
    assert await said(client) == "one two"


async def test_the_head_comes_before_the_engine_has_said_a_word(world: World) -> None:
    go_on = asyncio.Event()

    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await go_on.wait()
        await talk.events(frame("late"), DONE)
        await talk.send(b"0\r\n\r\n")

    world.engine.script = script
    async with world.client.stream("POST", "/v1/chat/completions", json=world.body(stream=True)) as answer:
        assert answer.status_code == 200
        go_on.set()
        assert b"late" in b"".join([piece async for piece in answer.aiter_raw()])


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
async def test_characters_cut_anywhere_arrive_whole(world: World, client: openai.AsyncOpenAI, line_end: bytes) -> None:
    whole = (frame(TEXT) + DONE).replace(b"\n", line_end)

    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(*(whole[at : at + 1] for at in range(len(whole))), pause=0.0005)
        await talk.send(b"0\r\n\r\n")

    world.engine.script = script
    assert await world.stream_bytes() == whole
    assert await said(client) == TEXT


# --- replicas


@pytest_asyncio.fixture(loop_scope="module")
async def second(world: World) -> AsyncIterator[ScriptedEngine]:
    async with ScriptedEngine() as engine:
        await world.server.publish((route("tiny", world.engine.address, engine.address),))
        yield engine


async def broken_before_a_byte(_: Request, talk: Talk) -> None:
    await talk.reset()


async def test_requests_go_to_the_least_busy_replica(world: World, second: ScriptedEngine) -> None:
    """Of two of which nothing is known: what the other tests taught of the first one is no part of this."""
    release = asyncio.Event()

    async def slow(request: Request, talk: Talk) -> None:
        await release.wait()
        await chat(request, talk)

    second.script = slow
    async with ScriptedEngine(slow) as third:
        await world.server.publish((route("tiny", third.address, second.address),))
        asking = [asyncio.create_task(world.chat()) for _ in range(6)]
        await until(lambda: len(third.requests) + len(second.requests) == 6)
        assert len(third.requests) == len(second.requests) == 3
        release.set()
        assert {(await each).status_code for each in asking} == {200}


async def test_an_engine_that_breaks_before_its_first_byte_is_replaced_by_another(
    world: World, second: ScriptedEngine
) -> None:
    world.engine.script = broken_before_a_byte
    assert {(await world.chat()).status_code for _ in range(4)} == {200}
    assert len(second.requests) == 4


async def test_an_engine_that_is_still_loading_is_replaced_by_another(world: World, second: ScriptedEngine) -> None:
    async def loading(_: Request, talk: Talk) -> None:
        await talk.answer_json({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, 503)

    world.engine.script = loading
    assert {(await world.chat()).status_code for _ in range(2)} == {200}


async def test_an_engine_with_a_broken_gateway_in_front_is_replaced_by_another(
    world: World, second: ScriptedEngine
) -> None:
    world.engine.script = bad_gateway
    assert {(await world.chat()).status_code for _ in range(2)} == {200}


async def bad_gateway(_: Request, talk: Talk) -> None:
    await talk.answer_json({"error": {"message": "nobody behind me"}}, 502)


@pytest.mark.parametrize("script", [broken_before_a_byte, bad_gateway])
async def test_what_an_engine_may_store_or_act_on_is_sent_once(
    world: World, second: ScriptedEngine, script: Script
) -> None:
    world.engine.script = second.script = script
    answer = await world.client.post("/v1/responses", json={"model": "tiny", "input": "hi"})
    assert answer.status_code == 502
    assert len(world.engine.requests) + len(second.requests) == 1


async def test_what_no_engine_has_read_goes_to_another_replica_whatever_it_would_do(world: World) -> None:
    async with ScriptedEngine() as gone:
        pass
    await world.server.publish((route("tiny", gone.address, world.engine.address),))
    for _ in range(4):
        assert (await world.client.post("/v1/responses", json={"model": "tiny", "input": "hi"})).status_code == 200


async def test_a_request_is_tried_on_two_replicas_and_no_more(world: World, second: ScriptedEngine) -> None:
    second.script = broken_before_a_byte
    async with ScriptedEngine(broken_before_a_byte) as third:  # neither has an idle connection
        await world.server.publish((route("tiny", third.address, second.address),))
        answer = await world.chat()
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "engine_broke")
        assert len(third.requests) == len(second.requests) == 1


async def test_an_engine_that_resets_its_idle_connections_hears_a_request_twice_at_most(world: World) -> None:
    release = asyncio.Event()

    async def slow(request: Request, talk: Talk) -> None:
        await release.wait()
        await chat(request, talk)

    world.engine.script = slow
    asking = [asyncio.create_task(world.chat()) for _ in range(6)]
    await until(lambda: len(world.engine.requests) == 6)
    release.set()
    await asyncio.gather(*asking)  # six connections are idle now
    world.engine.forget()
    world.engine.script = broken_before_a_byte
    assert (await world.chat()).status_code == 502
    assert len(world.engine.requests) <= 2


async def test_the_same_replica_is_never_asked_twice(world: World, second: ScriptedEngine) -> None:
    await world.server.publish((route("tiny", second.address),))
    second.script = broken_before_a_byte
    assert (await world.chat()).status_code == 502
    assert len(second.requests) == 1


async def test_an_idle_connection_that_the_engine_closed_costs_no_request(world: World) -> None:
    async def once(request: Request, talk: Talk) -> None:
        await chat(request, talk)
        await talk.close()

    world.engine.script = once
    assert [(await world.chat()).status_code for _ in range(3)] == [200, 200, 200]


# --- what engines answer


async def test_an_answer_that_breaks_before_it_is_whole_is_an_error_and_not_half_an_answer(world: World) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"half')
        await talk.close()

    world.engine.script = script
    answer = await world.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "engine_broke")


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", id="an unknown coding"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X-Big: " + b"a" * 100_000, id="a head without end"),
    ],
)
async def test_garbage_from_an_engine_is_one_clear_error(world: World, garbage: bytes) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(garbage)
        await talk.until_gone()

    world.engine.script = script
    answer = await world.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "engine_not_http")


async def test_interim_answers_are_passed_over(world: World) -> None:
    async def script(request: Request, talk: Talk) -> None:
        await talk.send(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        await chat(request, talk)

    world.engine.script = script
    answer = await world.chat()
    assert answer.status_code == 200
    assert "link" not in answer.headers


async def test_a_long_answer_is_passed_on_and_its_usage_found(world: World) -> None:
    vectors = [{"object": "embedding", "index": at, "embedding": [0.125] * 1000} for at in range(400)]
    document = {"object": "list", "data": vectors, "model": "tiny", "usage": {"prompt_tokens": 9, "total_tokens": 9}}

    async def script(_: Request, talk: Talk) -> None:
        await talk.answer_json(document)

    world.engine.script = script
    answer = await world.client.post("/v1/embeddings", json={"model": "tiny", "input": "x"})
    assert answer.json() == document
    assert (await world.row(answer.headers["x-request-id"])).prompt_tokens == 9


async def test_no_credential_of_the_client_reaches_an_engine(world: World) -> None:
    headers = {
        "X-API-Key": KEY,
        "Cookie": f"gpustack_lite_session={KEY}",
        "X-Custom": "kept",
        "X-Forwarded-For": "1.2.3.4",
    }
    assert (await world.client.post("/v1/chat/completions", json=world.body(), headers=headers)).status_code == 200
    (request,) = world.engine.requests
    assert request.header("authorization") == "Bearer engine-key"
    assert request.header("x-custom") == "kept"
    assert not {"x-api-key", "cookie", "x-forwarded-for", "accept-encoding"} & {name for name, _ in request.headers}
    assert all(KEY not in value for _, value in request.headers)


async def test_a_large_body_arrives_whole_and_is_held_once(world: World) -> None:
    before = psutil.Process(world.gateway.pid).memory_info().rss
    text = "a" * 20_000_000
    answer = await world.client.post("/v1/chat/completions", json=world.body(stream=True, user=text))
    assert answer.status_code == 200
    (request,) = world.engine.requests
    assert request.json["user"] == text
    assert request.json["stream_options"] == {"include_usage": True}
    await until(lambda: psutil.Process(world.gateway.pid).memory_info().rss - before < 60 * 1024**2)


async def test_an_engine_that_knows_the_model_by_another_name_is_asked_for_that_one(world: World) -> None:
    alias = route("tiny", world.engine.address)
    endpoint = alias.endpoints[0].model_copy(update={"served_name": "/models/tiny"})
    await world.server.publish((alias.model_copy(update={"endpoints": (endpoint,)}),))
    assert (await world.chat(stream=False)).status_code == 200
    assert world.engine.requests[0].json["model"] == "/models/tiny"


async def test_a_stream_reaches_a_client_that_speaks_http_1_0(world: World) -> None:
    request = world.raw_chat(stream=True).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    head, _, body = (await world.raw(request)).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert events(body)[-1] == "[DONE]"
