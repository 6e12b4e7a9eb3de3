"""Every field that OpenAI and Anthropic publish reaches the engine in the very bytes that the client sent."""

import json
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import pytest_asyncio
from anthropic.types import message_count_tokens_params, message_create_params
from openai.types import (
    completion_create_params,
    embedding_create_params,
    image_create_variation_params,
    image_edit_params,
    image_generate_params,
    moderation_create_params,
)
from openai.types.audio import speech_create_params, transcription_create_params, translation_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.responses import response_create_params

from tests.fakes.gateway_world import World
from tests.fakes.published_shapes import Body, bodies
from tests.fakes.scripted_engine import Request, Talk

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
PUBLISHED: dict[str, tuple[type, ...]] = {
    CHAT: (
        chat_create_params.CompletionCreateParamsNonStreaming,
        chat_create_params.CompletionCreateParamsStreaming,
    ),
    COMPLETIONS: (
        completion_create_params.CompletionCreateParamsNonStreaming,
        completion_create_params.CompletionCreateParamsStreaming,
    ),
    "/v1/responses": (
        response_create_params.ResponseCreateParamsNonStreaming,
        response_create_params.ResponseCreateParamsStreaming,
    ),
    "/v1/embeddings": (embedding_create_params.EmbeddingCreateParams,),
    "/v1/moderations": (moderation_create_params.ModerationCreateParams,),
    "/v1/images/generations": (
        image_generate_params.ImageGenerateParamsNonStreaming,
        image_generate_params.ImageGenerateParamsStreaming,
    ),
    "/v1/messages": (
        message_create_params.MessageCreateParamsNonStreaming,
        message_create_params.MessageCreateParamsStreaming,
    ),
    "/v1/messages/count_tokens": (message_count_tokens_params.MessageCountTokensParams,),
    "/v1/audio/speech": (speech_create_params.SpeechCreateParams,),
}
FILE = object()
"""In its place stand some bytes with a file name."""
FORMS: dict[str, tuple[tuple[type, Body], ...]] = {
    "/v1/audio/transcriptions": (
        (transcription_create_params.TranscriptionCreateParamsNonStreaming, {"file": FILE}),
        (transcription_create_params.TranscriptionCreateParamsStreaming, {"file": FILE}),
    ),
    "/v1/audio/translations": ((translation_create_params.TranslationCreateParams, {"file": FILE}),),
    "/v1/images/edits": (
        (image_edit_params.ImageEditParamsNonStreaming, {"image": [FILE, FILE], "mask": FILE}),
        (image_edit_params.ImageEditParamsStreaming, {"image": FILE, "mask": FILE}),
    ),
    "/v1/images/variations": ((image_create_variation_params.ImageCreateVariationParams, {"image": FILE}),),
}
RANKED: Body = {"model": "tiny", "query": "你好?", "documents": ["a", "b 🌍"]}
JINA: Body = {**RANKED, "documents": [{"text": "a"}, {"image": "b"}], "return_documents": False, "truncation": True}
COHERE: Body = {**RANKED, "top_n": 1, "max_tokens_per_doc": 64, "rank_fields": ["title"], "max_chunks_per_doc": 2}
SCORED: Body = {"model": "tiny", "text_1": "q", "text_2": ["a", "b"], "truncate_prompt_tokens": 8}
UNPUBLISHED: dict[str, tuple[Body, ...]] = {
    "/v1/rerank": (RANKED, JINA, COHERE),
    "/v2/rerank": (RANKED, JINA, COHERE),
    "/v1/score": (SCORED, {**SCORED, "text_2": "a"}, {"model": "tiny", "queries": ["q"], "documents": ["a"]}),
}
"""OpenAI has no such paths: these are the forms of Jina, of Cohere, and of vLLM."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async def takes_anything(_: Request, talk: Talk) -> None:
        await talk.answer_json({"ok": True})

    async with World(tmp_path_factory.mktemp("gateway")) as one:
        one.engine.script = takes_anything
        yield one


def tried(path: str) -> list[tuple[str, Body]]:
    if path in UNPUBLISHED:
        return [(str(number), body) for number, body in enumerate(UNPUBLISHED[path])]
    return [each for shape in PUBLISHED[path] for each in bodies(shape, model="tiny")]


async def test_the_published_types_are_walked_whole() -> None:
    """Should a package be laid out anew, this says so, and not a silence."""
    fields = {name.split()[0] for name, _ in tried(CHAT)}
    assert {"tools", "response_format", "stream_options", "logit_bias", "messages", "audio"} <= fields
    assert sum(len(tried(path)) for path in PUBLISHED) > 300


@pytest.mark.parametrize("path", [*PUBLISHED, *UNPUBLISHED])
async def test_every_published_field_reaches_the_engine_untouched(world: World, path: str) -> None:
    for name, body in tried(path):
        sent = json.dumps(body, ensure_ascii=False, indent=1).encode()
        answer = await world.client.post(path, content=sent, headers={"Content-Type": "application/json"})
        assert answer.status_code == 200, f"{name}: {answer.text}"
        received = world.engine.requests.pop()
        assert received.path == path
        assert received.body == with_usage(path, body, sent), name


def with_usage(path: str, body: Body, sent: bytes) -> bytes:
    """The one thing that is put in: a stream of these two is asked for its usage, which is taken out again."""
    options = body.get("stream_options")
    if path not in {CHAT, COMPLETIONS} or body.get("stream") is not True or (options or {}).get("include_usage"):
        return sent
    if "stream_options" not in body:
        return sent.replace(b"{", b'{"stream_options":{"include_usage":true},', 1)
    asked = json.dumps({**(options or {}), "include_usage": True}, separators=(",", ":")).encode()
    before = json.dumps(options, ensure_ascii=False, indent=1).replace("\n", "\n ").encode()
    return sent.replace(b'"stream_options": ' + before, b'"stream_options": ' + asked)


async def test_what_nobody_has_published_yet_passes_too(world: World) -> None:
    sent = b'{"model":"tiny","of_next_year":{"a":[1e400,"\\ud83c\\udf0d"]},"messages":[]}'
    answer: httpx.Response = await world.client.post(CHAT, content=sent)
    assert answer.status_code == 200
    assert world.engine.requests.pop().body == sent


@pytest.mark.parametrize("path", FORMS)
async def test_every_published_field_of_a_form_reaches_the_engine_untouched(world: World, path: str) -> None:
    """Files stand before the fields, as clients send them that were given the file first."""
    headers = {"Content-Type": "multipart/form-data; boundary=seam"}
    for shape, files in FORMS[path]:
        for name, body in bodies(shape, **files, model="tiny"):
            sent = b"".join(part for key, value in body.items() for part in parts(key, value)) + b"--seam--\r\n"
            answer = await world.client.post(path, content=sent, headers=headers)
            assert answer.status_code == 200, f"{name}: {answer.text}"
            received = world.engine.requests.pop()
            assert (received.path, received.header("content-type")) == (path, headers["Content-Type"])
            assert received.body == sent, name


def parts(name: str, value: object) -> Iterator[bytes]:
    """As OpenAI's client writes them: members in brackets, null left out."""
    if isinstance(value, list):
        for each in value:
            yield from parts(f"{name}[]", each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from parts(f"{name}[{key}]", each)
    elif value is FILE:
        head = f'--seam\r\nContent-Disposition: form-data; name="{name}"; filename="ä.wav"\r\n'
        yield head.encode() + b"Content-Type: audio/wav\r\n\r\n" + bytes(range(256)) + b"\r\n--sea\r\n"
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        yield f'--seam\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
