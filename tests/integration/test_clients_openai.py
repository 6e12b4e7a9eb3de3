"""OpenAI's own client and LangChain's against the gateway, over an engine that answers in OpenAI's published shapes."""

import base64
import json
import struct
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
import pytest_asyncio
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai import AsyncOpenAI
from pydantic import BaseModel, SecretStr

from tests.fakes.gateway_world import KEY, World
from tests.fakes.openai_shapes import AUDIO, VECTOR, engine
from tests.fakes.scripted_engine import SSE_HEAD, Request, Talk

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("gateway")) as one:
        one.engine.script = engine
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def client(world: World) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key=KEY, max_retries=0) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def langchain(world: World) -> AsyncIterator[ChatOpenAI]:
    one = ChatOpenAI(
        model="tiny",
        base_url=f"{world.gateway.url}/v1",
        api_key=SecretStr(KEY),
        max_retries=0,
        stream_usage=True,
    )
    yield one
    await one.root_async_client.close()


class Weather(BaseModel):
    city: str
    degrees: int


# --- OpenAI's client


async def test_a_chat_is_answered_and_streamed(client: AsyncOpenAI) -> None:
    whole = await client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "hi"}])
    chunks = await client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "hi"}], stream=True
    )
    streamed = [chunk async for chunk in chunks]
    assert whole.choices[0].message.content == "Hello 你好"
    assert "".join(each.choices[0].delta.content or "" for each in streamed) == "Hello 你好"


async def test_tools_are_called_whole_and_in_a_stream(client: AsyncOpenAI) -> None:
    whole = await client.chat.completions.create(model="tiny", messages=[], tools=[WEATHER])  # type: ignore[list-item]
    (call,) = whole.choices[0].message.tool_calls or ()
    assert call.type == "function"
    assert json.loads(call.function.arguments) == {"city": "Köln"}
    async with client.chat.completions.stream(model="tiny", messages=[], tools=[WEATHER]) as events:  # type: ignore[list-item]
        final = await events.get_final_completion()
    (streamed,) = final.choices[0].message.tool_calls or ()
    assert json.loads(streamed.function.arguments) == {"city": "Köln"}


async def test_structured_output_is_parsed(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.parse(model="tiny", messages=[], response_format=Weather)
    assert answer.choices[0].message.parsed == Weather(city="Köln", degrees=21)


async def test_a_response_is_answered_streamed_and_counted(world: World, client: AsyncOpenAI) -> None:
    whole = await client.responses.create(model="tiny", input="hi")
    assert whole.output_text == "Hello 你好"
    async with client.responses.stream(model="tiny", input="hi") as events:
        deltas = [event.delta async for event in events if event.type == "response.output_text.delta"]
        final = await events.get_final_response()
    assert (deltas, final.output_text) == (["Hello ", "你好"], "Hello 你好")

    def counts() -> list[tuple[object, ...]]:
        found = [row for row in world.server.rows.values() if row.path == "/v1/responses"]
        return [(r.prompt_tokens, r.completion_tokens, r.cached_tokens, r.reasoning_tokens) for r in found]

    await world.server.until(lambda: counts().count((9, 4, 2, 1)) == 2)


async def test_a_response_that_breaks_raises(world: World, client: AsyncOpenAI) -> None:
    async def breaks(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(b'event: response.created\ndata: {"type":"response.created"}\n\n')
        await talk.reset()

    world.engine.script = breaks
    stream = await client.responses.create(model="tiny", input="hi", stream=True)
    with pytest.raises(openai.APIError, match="ended its answer before it was complete"):
        _ = [event async for event in stream]
    world.engine.script = engine


async def test_embeddings_come_as_numbers(client: AsyncOpenAI) -> None:
    for encoding in (openai.omit, "float", "base64"):
        answer = await client.embeddings.create(model="tiny", input="x", encoding_format=encoding)  # type: ignore[arg-type]
        vector: object = answer.data[0].embedding
        packed = base64.b64decode(vector) if isinstance(vector, str) else struct.pack("<3f", *vector)  # type: ignore[misc]
        assert struct.unpack("<3f", packed) == tuple(VECTOR)


async def test_moderations_images_and_speech_pass(client: AsyncOpenAI) -> None:
    moderated = await client.moderations.create(model="tiny", input="x")
    assert moderated.results[0].flagged
    image = await client.images.generate(model="tiny", prompt="x", response_format="b64_json")
    assert base64.b64decode((image.data or [])[0].b64_json or "") == AUDIO
    speech = await client.audio.speech.create(model="tiny", voice="alloy", input="x")
    assert (speech.content, speech.response.headers["content-type"]) == (AUDIO, "audio/mpeg")


async def test_models_are_listed_and_found(client: AsyncOpenAI) -> None:
    assert [each.id async for each in client.models.list()] == ["tiny"]
    assert (await client.models.retrieve("tiny")).id == "tiny"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("nope")


async def test_a_moderation_without_a_model_is_told_what_is_missing(world: World) -> None:
    answer: httpx.Response = await world.client.post("/v1/moderations", json={"input": "x"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "model_missing")


# --- LangChain's


async def test_langchain_invokes_and_streams(langchain: ChatOpenAI) -> None:
    answer = await langchain.ainvoke("hi")
    assert answer.content == "Hello 你好"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == 3
    pieces = [piece async for piece in langchain.astream("hi")]
    assert [piece.content for piece in pieces if piece.content] == ["Hello ", "你好"]
    assert sum(piece.usage_metadata["total_tokens"] for piece in pieces if piece.usage_metadata) == 10


async def test_langchain_calls_tools(langchain: ChatOpenAI) -> None:
    tooled = langchain.bind_tools([WEATHER])
    (call,) = (await tooled.ainvoke("hi")).tool_calls
    assert (call["name"], call["args"]) == ("weather", {"city": "Köln"})
    pieces = [piece async for piece in tooled.astream("hi")]
    arguments = [
        each["args"] for piece in pieces if isinstance(piece, AIMessageChunk) for each in piece.tool_call_chunks
    ]
    assert json.loads("".join(each or "" for each in arguments)) == {"city": "Köln"}


async def test_langchain_takes_structured_output(langchain: ChatOpenAI) -> None:
    found = await langchain.with_structured_output(Weather).ainvoke("hi")
    assert found == Weather(city="Köln", degrees=21)


async def test_langchain_embeds(world: World, client: AsyncOpenAI) -> None:
    """Its own count of tokens would need a table from the network."""
    one = OpenAIEmbeddings(
        model="tiny",
        async_client=client.embeddings,
        base_url=f"{world.gateway.url}/v1",
        api_key=SecretStr(KEY),
        check_embedding_ctx_length=False,
    )
    assert await one.aembed_query("x") == VECTOR
