"""Anthropic's own Python client: over an engine that speaks Messages, and over one that speaks chat only."""

import json
from collections.abc import AsyncIterator

import anthropic
import httpx
import pytest
import pytest_asyncio
from anthropic import AsyncAnthropic

from gpustack_lite.wire import Limits, ModelRoute
from tests.fakes.gateway_world import KEY, READER, World, route
from tests.fakes.route_server import credential
from tests.fakes.scripted_engine import DONE, SSE_HEAD, Request, Talk, chat, frame, usage_of

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
HELLO: list[anthropic.types.MessageParam] = [{"role": "user", "content": "hi"}]
WEATHER: anthropic.types.ToolParam = {
    "name": "weather",
    "description": "Of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
COUNTS = {**usage_of(20, 5), "prompt_tokens_details": {"cached_tokens": 8}}


def of_its_own(instance_id: int, model: ModelRoute) -> ModelRoute:
    """All of them are the same engine, which the gateway need not know."""
    endpoints = tuple(each.model_copy(update={"instance_id": instance_id}) for each in model.endpoints)
    return model.model_copy(update={"endpoints": endpoints})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("gateway"), request_body_bytes=1024 * 1024) as world:
        address = world.engine.address
        models = (
            of_its_own(1, route("tiny", address)),
            of_its_own(2, route("chat-only", address, paths=("/v1/chat/completions",))),
            of_its_own(3, route("older", address, paths=("/v1/chat/completions", "/v1/messages"))),
            of_its_own(4, route("native", address, paths=("/v1/messages", "/v1/messages/count_tokens"))),
            route("asleep", state="starting"),
        )
        keys = (
            credential(KEY),
            credential(READER, id=2, scopes=("read",)),
            credential("limited", id=3, models=("x",)),
            credential("slow", id=4, limits=Limits(requests_per_minute=0)),
        )
        await world.server.publish(models, keys)
        yield world


@pytest.fixture
def world(shared: World) -> World:
    shared.engine.script = speaks_chat
    shared.engine.forget()
    return shared


@pytest_asyncio.fixture(loop_scope="module")
async def client(world: World) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=world.gateway.url, api_key=KEY, max_retries=0) as one:
        yield one


async def speaks_chat(request: Request, talk: Talk) -> None:
    """Knows no Messages, as most engines."""
    if request.path != "/v1/chat/completions":
        await talk.answer_json({"detail": "Not Found"}, 404)
        return
    await chat(request, talk)


def chunk(finish: str | None = None, **delta: object) -> bytes:
    document = {"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def called(arguments: str, index: int = 0, name: str | None = None) -> bytes:
    begun = {"id": f"call_{index}", "type": "function"} if name else {}
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return chunk(tool_calls=[{"index": index, "function": function, **begun}])


def streams(*events: bytes) -> object:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(*events)
        await talk.send(b"0\r\n\r\n")

    return script


# --- over an engine that speaks chat completions only


@pytest.mark.parametrize("model", ["chat-only", "tiny", "older"], ids=["its backend says", "its 404 says", "both"])
async def test_a_message_is_answered_and_counted(world: World, client: AsyncAnthropic, model: str) -> None:
    answer = await client.messages.create(
        model=model, max_tokens=16, system="Be brief.", messages=HELLO, stop_sequences=["END"], extra_body={"top_k": 3}
    )
    (said,) = answer.content
    assert isinstance(said, anthropic.types.TextBlock)
    assert (said.text, answer.model, answer.stop_reason) == ("one two three", model, "end_turn")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 3)
    request = world.engine.requests[-1]
    assert request.path == "/v1/chat/completions"
    assert request.json == {
        "model": model,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "max_tokens": 16,
        "top_k": 3,
        "stop": ["END"],
    }
    assert answer._request_id is not None
    row = await world.row(answer._request_id)
    assert (row.path, row.prompt_tokens, row.completion_tokens) == ("/v1/messages", 7, 3)


async def test_an_engine_is_asked_once_only_whether_it_speaks_messages(world: World, client: AsyncAnthropic) -> None:
    for _ in range(2):
        await client.messages.create(model="tiny", max_tokens=16, messages=HELLO)
    assert [each.path for each in world.engine.requests][-2:] == ["/v1/chat/completions"] * 2


async def test_a_stream_tells_text_thinking_and_tools_as_they_come(world: World, client: AsyncAnthropic) -> None:
    world.engine.script = streams(
        b": waiting\n\n",
        chunk(role="assistant", content=""),
        chunk(reasoning_content="Let me "),
        chunk(reasoning_content="看看🌍"),
        chunk(content="Look"),
        chunk(content="ing 你好"),
        called("", 0, "weather"),
        called('{"ci'),
        called('ty":"Köln"}'),
        called('{"city":', 1, "weather"),
        called('"Oslo"}', 1),
        chunk("tool_calls"),
        frame(usage=COUNTS),
        DONE,
    )
    texts, thoughts, kinds = [], [], []
    async with client.messages.stream(model="chat-only", max_tokens=64, messages=HELLO, tools=[WEATHER]) as stream:
        async for event in stream:
            kinds.append(event.type)
            if event.type == "text":
                texts.append(event.text)
            elif event.type == "thinking":
                thoughts.append(event.thinking)
        whole = await stream.get_final_message()
    assert (texts, thoughts) == (["Look", "ing 你好"], ["Let me ", "看看🌍"])
    thought, said, first, second = whole.content
    assert isinstance(thought, anthropic.types.ThinkingBlock)
    assert isinstance(said, anthropic.types.TextBlock)
    assert (thought.thinking, said.text) == ("Let me 看看🌍", "Looking 你好")
    assert isinstance(first, anthropic.types.ToolUseBlock)
    assert isinstance(second, anthropic.types.ToolUseBlock)
    assert [(each.id, each.name, each.input) for each in (first, second)] == [
        ("call_0", "weather", {"city": "Köln"}),
        ("call_1", "weather", {"city": "Oslo"}),
    ]
    assert whole.stop_reason == "tool_use"
    usage = whole.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (12, 8, 5)
    assert kinds[-1] == "message_stop"


async def test_a_conversation_with_tools_goes_back_to_the_engine(world: World, client: AsyncAnthropic) -> None:
    world.engine.script = chat
    await client.messages.create(
        model="chat-only",
        max_tokens=16,
        tools=[WEATHER],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "In Köln?", "cache_control": {"type": "ephemeral"}}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": ""},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Köln"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "rain"}]},
        ],
    )
    sent = world.engine.requests[-1].json
    call = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Köln"}'}}
    assert sent["messages"] == [
        {"role": "user", "content": "In Köln?"},
        {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "rain"},
    ]
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("required", False)
    assert sent["tools"][0]["function"]["parameters"] == WEATHER["input_schema"]


@pytest.mark.parametrize("is_reset", [True, False], ids=["reset", "ended without a finish"])
async def test_a_stream_that_breaks_is_an_error_and_no_message(
    world: World, client: AsyncAnthropic, is_reset: bool
) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(chunk(content="one "))
        if is_reset:
            await talk.reset()
        else:
            await talk.send(b"0\r\n\r\n")

    world.engine.script = script
    seen = []

    async def read() -> None:
        async for event in await client.messages.create(model="chat-only", max_tokens=9, messages=HELLO, stream=True):
            seen.append(event.type)

    with pytest.raises(anthropic.APIStatusError) as broken:
        await read()
    assert broken.value.body["type"] == "error"  # type: ignore[index]
    assert broken.value.body["error"]["type"] == "api_error"  # type: ignore[index]
    assert (await world.row(broken.value.request_id)).status == 502
    assert "message_delta" not in seen
    assert "message_stop" not in seen


async def test_an_error_within_the_stream_is_told_in_anthropics_shape(world: World, client: AsyncAnthropic) -> None:
    world.engine.script = streams(chunk(content="one "), b'data: {"error":{"message":"out of memory","code":500}}\n\n')
    with pytest.raises(anthropic.APIStatusError, match="out of memory"):
        async with client.messages.stream(model="chat-only", max_tokens=9, messages=HELLO) as stream:
            await stream.get_final_message()


# --- what is refused


@pytest.mark.parametrize(
    ("more", "field"),
    [
        pytest.param(
            {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools.0.type", id="its tools"
        ),
        pytest.param({"container": "c"}, "container", id="a container"),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]},
            "messages.0.content.0.type",
            id="a document",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}]},
            "messages[0].content[0].source.url",
            id="an image by its address",
        ),
        pytest.param({"max_tokens": None}, "max_tokens", id="no max_tokens"),
        pytest.param({"messages": "hi"}, "messages", id="messages a text"),
    ],
)
async def test_what_has_no_counterpart_is_refused_by_its_name(
    world: World, client: AsyncAnthropic, more: dict[str, object], field: str
) -> None:
    body = {"model": "chat-only", "max_tokens": 9, "messages": HELLO, **more}
    with pytest.raises(anthropic.BadRequestError) as refused:
        await client.post("/v1/messages", cast_to=httpx.Response, body=body)
    error = refused.value.body["error"]  # type: ignore[index]
    assert (error["type"], error["param"]) == ("invalid_request_error", field)
    assert field in error["message"]
    assert world.engine.requests == []


@pytest.mark.parametrize(
    ("key", "model", "error", "kind"),
    [
        pytest.param("gpl_bad", "tiny", anthropic.AuthenticationError, "authentication_error", id="bad key"),
        pytest.param("limited", "tiny", anthropic.PermissionDeniedError, "permission_error", id="not its model"),
        pytest.param("slow", "tiny", anthropic.RateLimitError, "rate_limit_error", id="a limit"),
        pytest.param(KEY, "nope", anthropic.NotFoundError, "not_found_error", id="no such model"),
        pytest.param(KEY, "asleep", anthropic.OverloadedError, "overloaded_error", id="not ready"),
    ],
)
async def test_refusals_raise_the_right_class(
    client: AsyncAnthropic, key: str, model: str, error: type[anthropic.APIStatusError], kind: str
) -> None:
    with pytest.raises(error) as refused:
        await client.with_options(api_key=key).messages.create(model=model, max_tokens=9, messages=HELLO)
    body = refused.value.body
    assert isinstance(body, dict)
    assert (body["type"], body["error"]["type"]) == ("error", kind)
    assert {"message", "type", "param", "code"} <= set(body["error"])
    assert refused.value.request_id


@pytest.mark.parametrize(
    ("status", "error"),
    [(429, anthropic.RateLimitError), (400, anthropic.BadRequestError), (500, anthropic.InternalServerError)],
)
@pytest.mark.parametrize("model", ["chat-only", "native"])
async def test_an_engine_that_refuses_is_told_in_anthropics_shape(
    world: World, client: AsyncAnthropic, model: str, status: int, error: type[anthropic.APIStatusError]
) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.answer_json({"error": {"message": "because", "type": "x"}}, status)

    world.engine.script = script
    with pytest.raises(error, match="because"):
        await client.messages.create(model=model, max_tokens=9, messages=HELLO)


async def test_a_body_over_the_limit_is_too_large(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.APIStatusError) as refused:
        await client.messages.create(
            model="tiny", max_tokens=9, messages=[{"role": "user", "content": "x" * 2_000_000}]
        )
    assert refused.value.status_code == 413
    assert refused.value.body["error"]["type"] == "request_too_large"  # type: ignore[index]


# --- over an engine that speaks Messages


async def test_messages_pass_untouched_where_the_engine_speaks_them(world: World) -> None:
    document = {"id": "msg_1", "type": "message", "role": "assistant", "model": "native", "content": []}
    answer_bytes = json.dumps({**document, "usage": {"input_tokens": 4, "output_tokens": 2}}).encode()

    async def script(_: Request, talk: Talk) -> None:
        await talk.answer(200, answer_bytes)

    world.engine.script = script
    body = b'{"model": "native","max_tokens":5, "messages":[{"role":"user","content":"hi"}],"container":"c"}'
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "a,b"}
    answer = await world.client.post("/v1/messages", content=body, headers=headers)
    assert answer.content == answer_bytes
    request = world.engine.requests[-1]
    assert (request.path, request.body) == ("/v1/messages", body)
    assert (request.header("anthropic-version"), request.header("anthropic-beta")) == ("2023-06-01", "a,b")
    row = await world.row(answer.headers["request-id"])
    assert (row.prompt_tokens, row.completion_tokens) == (4, 2)


START = b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
START += b'"model":"native","content":[],"usage":{"input_tokens":4,"output_tokens":1}}}\n\n'
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
UNTIL_CLOSED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("is_reset", [True, False], ids=["reset", "closed before its end"])
async def test_a_native_stream_that_breaks_ends_with_anthropics_error(
    world: World, client: AsyncAnthropic, is_reset: bool
) -> None:
    async def script(_: Request, talk: Talk) -> None:
        if is_reset:
            await talk.send(SSE_HEAD)
            await talk.events(START)
            await talk.reset()
        else:
            await talk.send(UNTIL_CLOSED, START)
            await talk.close()

    world.engine.script = script

    async def read() -> None:
        async for _ in await client.messages.create(model="native", max_tokens=9, messages=HELLO, stream=True):
            pass

    with pytest.raises(anthropic.APIStatusError) as broken:
        await read()
    assert broken.value.body["error"]["code"] == "engine_broke"  # type: ignore[index]


async def test_a_native_stream_that_ends_with_its_connection_is_whole(world: World, client: AsyncAnthropic) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.send(UNTIL_CLOSED, START, STOP[:30], STOP[30:])
        await talk.close()

    world.engine.script = script
    stream = await client.messages.create(model="native", max_tokens=9, messages=HELLO, stream=True)
    assert [event.type async for event in stream] == ["message_start", "message_stop"]


# --- models


async def test_models_are_listed_for_anthropics_client(world: World, client: AsyncAnthropic) -> None:
    found = [each async for each in client.models.list()]
    assert [each.id for each in found][-1] == "asleep"
    assert {each.type for each in found} == {"model"}
    one = await client.models.retrieve("tiny")
    assert (one.display_name, one.created_at.year) == ("tiny", 1970)
    with pytest.raises(anthropic.NotFoundError):
        await client.models.retrieve("nope")
    plain = (await world.client.get("/v1/models/chat-only")).json()
    assert "display_name" not in plain
    assert "/v1/messages" in plain["supported_paths"]


# --- counting tokens


async def test_tokens_are_counted_by_vllms_tokenizer(world: World, client: AsyncAnthropic) -> None:
    async def script(request: Request, talk: Talk) -> None:
        await talk.answer_json({"count": 11, "tokens": list(range(11))} if request.path == "/tokenize" else {}, 200)

    world.engine.script = script
    counted = await client.messages.count_tokens(model="chat-only", messages=HELLO, system="Be brief.")
    assert counted.input_tokens == 11
    assert [each["role"] for each in world.engine.requests[-1].json["messages"]] == ["system", "user"]


async def test_tokens_are_counted_by_llama_cpps_tokenizer(world: World, client: AsyncAnthropic) -> None:
    async def script(request: Request, talk: Talk) -> None:
        if request.path == "/apply-template":
            await talk.answer_json({"prompt": "<s>hi"})
        else:
            await talk.answer_json({"tokens": [1] * len(request.json.get("content", ""))})

    world.engine.script = script
    assert (await client.messages.count_tokens(model="chat-only", messages=HELLO)).input_tokens == 5


async def test_tokens_are_never_guessed(world: World, client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as refused:
        await client.messages.count_tokens(model="tiny", messages=HELLO)
    assert refused.value.body["error"]["code"] == "tokens_not_countable"  # type: ignore[index]
