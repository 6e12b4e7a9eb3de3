"""OpenAI and Anthropic clients over the real llama.cpp; Messages as it speaks them and as we translate them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import anthropic
import openai
import pytest
import pytest_asyncio
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from gpustack_lite.ports import Ports
from tests.fakes.gateway_world import KEY, World, route
from tests.fakes.gguf import write_tiny_gguf
from tests.fakes.real_engine import WHEEL, running, spec_of
from tests.fakes.smollm import smollm_path
from worker import engines

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
QUESTION = "What is the capital of France? One word."
HELLO: list[anthropic.types.MessageParam] = [{"role": "user", "content": QUESTION}]
PATIENCE = 200.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("real")
    engine = await engines.ensure(WHEEL, folder, Ports())
    tiny = write_tiny_gguf(folder / "tiny.gguf")
    chat = spec_of(engine, smollm_path(), workdir(folder, "chat"), **{"max-model-len": 1024})
    embed = spec_of(engine, tiny, workdir(folder, "embed"), embeddings=True, pooling="mean")
    with running(chat, folder / "chat.log"), running(embed, folder / "embed.log"):
        async with World(folder) as one:
            speaks = f"127.0.0.1:{chat.port}"
            await one.server.publish(
                (
                    route("smol", speaks),
                    route("translated", speaks, paths=("/v1/chat/completions",)),
                    route("embed", f"127.0.0.1:{embed.port}"),
                )
            )
            yield one


def workdir(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


@pytest_asyncio.fixture(loop_scope="module")
async def claude(world: World) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=world.gateway.url, api_key=KEY, max_retries=0, timeout=PATIENCE) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def gpt(world: World) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key=KEY, max_retries=0, timeout=PATIENCE) as one:
        yield one


async def asked(client: AsyncAnthropic, model: str) -> anthropic.types.Message:
    return await client.messages.create(
        model=model, max_tokens=8, system="Be brief.", messages=HELLO, extra_body={"temperature": 0}
    )


async def streamed(client: AsyncAnthropic, model: str) -> anthropic.types.Message:
    stream = client.messages.stream(
        model=model, max_tokens=8, system="Be brief.", messages=HELLO, extra_body={"temperature": 0}
    )
    async with stream as events:
        return await events.get_final_message()


def essence(message: anthropic.types.Message) -> tuple[object, ...]:
    usage = message.usage
    prompt = usage.input_tokens + (usage.cache_read_input_tokens or 0)
    text = "".join(block.text for block in message.content if block.type == "text")
    return text, message.stop_reason, prompt, usage.output_tokens


async def test_a_translated_message_says_what_the_engine_says_itself(claude: AsyncAnthropic) -> None:
    own, ours, own_stream, our_stream = await asyncio.gather(
        asked(claude, "smol"), asked(claude, "translated"), streamed(claude, "smol"), streamed(claude, "translated")
    )
    assert "Paris" in str(essence(own)[0])
    assert essence(ours) == essence(own) == essence(own_stream) == essence(our_stream)
    assert (own.model, ours.model, our_stream.model) == ("smol", "translated", "translated")


async def test_translated_tokens_are_counted_as_the_engine_counts_itself(claude: AsyncAnthropic) -> None:
    own, ours = [
        (await claude.messages.count_tokens(model=model, system="Be brief.", messages=HELLO)).input_tokens
        for model in ("smol", "translated")
    ]
    assert own == ours > 20


async def test_chat_completions_and_responses_answer_openais_client(gpt: AsyncOpenAI) -> None:
    chat, completion, response = await asyncio.gather(
        gpt.chat.completions.create(
            model="smol", messages=[{"role": "user", "content": QUESTION}], max_tokens=8, temperature=0
        ),
        gpt.completions.create(model="smol", prompt="One, two,", max_tokens=4),
        gpt.responses.create(model="smol", input=QUESTION, max_output_tokens=8, temperature=0),
    )
    assert "Paris" in (chat.choices[0].message.content or "")
    assert completion.choices[0].text
    assert "Paris" in response.output_text
    assert response.usage is not None
    assert response.usage.output_tokens > 0


async def test_a_streamed_response_tells_its_text_and_its_end(world: World, gpt: AsyncOpenAI) -> None:
    stream = await gpt.responses.create(model="smol", input=QUESTION, max_output_tokens=8, temperature=0, stream=True)
    events = [event async for event in stream]
    assert "Paris" in "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert events[-1].type == "response.completed"
    await world.server.until(lambda: any(row.path == "/v1/responses" and row.status == 200 for row in rows(world)))


def rows(world: World) -> list[object]:
    return list(world.server.rows.values())


async def test_embeddings_come_as_numbers_in_both_encodings(gpt: AsyncOpenAI) -> None:
    unsaid, numbers = await asyncio.gather(
        gpt.embeddings.create(model="embed", input=["hello", "world"]),
        gpt.embeddings.create(model="embed", input=["hello", "world"], encoding_format="float"),
    )
    assert [len(each.embedding) for each in unsaid.data] == [64, 64]
    for one, other in zip(unsaid.data, numbers.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-6)


async def test_what_the_engine_was_not_started_for_is_not_found(gpt: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        await gpt.embeddings.create(model="smol", input="x")
    assert refused.value.code == "path_not_served"
