"""Forms through a real gateway: fields in any order, files untouched, sizes bounded, sound passed on as it comes."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import httpx
import openai
import pytest
import pytest_asyncio

from tests.fakes.gateway_world import ENGINE_KEY, KEY, World, route, until
from tests.fakes.scripted_engine import Request, ScriptedEngine, Talk
from tests.unit.gateway.test_media import wav

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("ignore:deprecated"),  # OpenAI's client says so of translations and variations
]
LIMIT = 24 * 1024 * 1024
PATH = "/v1/audio/transcriptions"
SMALL, LARGE = 90_000, 20_000_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("gateway"), upload_bytes=LIMIT) as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def world(shared: World) -> World:
    shared.engine.script = transcribe
    shared.engine.forget()
    await shared.reset()
    return shared


def parts_of(request: Request) -> dict[str, Message]:
    head = f"Content-Type: {request.header('content-type')}\r\n\r\n".encode()
    found = message_from_bytes(head + request.body).get_payload()
    assert isinstance(found, list)
    return {str(part.get_param("name", header="content-disposition")): part for part in found}


def content(part: Message) -> bytes:
    found = part.get_payload(decode=True)
    assert isinstance(found, bytes)
    return found


async def transcribe(request: Request, talk: Talk) -> None:
    await talk.answer_json({"text": "hello", "usage": {"type": "duration", "seconds": 7}})


def form(size: int, *, model_first: bool) -> tuple[bytes, dict[str, str]]:
    """As curl would write it, and the headers."""
    file = b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="r\xc3\xa9c.wav"\r\n'
    file += b"Content-Type: audio/x-wav\r\nX-Mine: kept\r\n\r\n" + noise(size) + b"\r\n"
    model = b'--xyz\r\nContent-Disposition: form-data; name="model"\r\n\r\ntiny\r\n'
    language = b'--xyz\r\nContent-Disposition: form-data; name="language"\r\n\r\nen\r\n'
    parts = [model, language, file] if model_first else [file, model, language]
    return b"".join(parts) + b"--xyz--\r\n", {"Content-Type": "multipart/form-data; boundary=xyz"}


def noise(size: int) -> bytes:
    return (hashlib.sha512(b"noise").digest() * (size // 64 + 1))[:size]


# --- A11


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("model_first", [True, False], ids=["model first", "file first"])
async def test_a_form_reaches_the_engine_byte_for_byte(world: World, size: int, model_first: bool) -> None:
    body, headers = form(size, model_first=model_first)
    answer = await world.client.post(PATH, content=body, headers=headers)
    assert (answer.status_code, answer.json()["text"]) == (200, "hello")
    (request,) = world.engine.requests
    assert (request.path, request.header("authorization")) == (PATH, f"Bearer {ENGINE_KEY}")
    assert request.header("content-length") == str(len(body))
    assert hashlib.sha256(request.body).hexdigest() == hashlib.sha256(body).hexdigest()
    row = await world.row_of(answer)
    assert (row.model, row.audio_seconds) == ("tiny", 7.0)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_only_the_models_name_is_replaced_where_the_engine_knows_another(world: World, size: int) -> None:
    endpoint = route("tiny", world.engine.address).endpoints[0].model_copy(update={"served_name": "whisper"})
    await world.server.publish((route("tiny", world.engine.address, endpoints=(endpoint,)),))
    body, headers = form(size, model_first=False)
    assert (await world.client.post(PATH, content=body, headers=headers)).status_code == 200
    assert world.engine.requests[0].body == body.replace(b"\r\ntiny\r\n", b"\r\nwhisper\r\n")


async def test_above_the_limit_the_answer_says_the_limit(world: World) -> None:
    body, headers = form(LIMIT, model_first=True)
    answer = await world.client.post(PATH, content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "upload_too_large")
    assert "24 MiB" in answer.json()["error"]["message"]
    assert world.engine.requests == []


# --- OpenAI's client


@pytest_asyncio.fixture(loop_scope="module")
async def client(world: World) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key=KEY, max_retries=0) as each:
        yield each


async def test_openais_client_transcribes_and_translates(world: World, client: openai.AsyncOpenAI) -> None:
    sound = wav(1.5)
    assert (await client.audio.transcriptions.create(model="tiny", file=("a.wav", sound))).text == "hello"
    assert (await client.audio.translations.create(model="tiny", file=("a.wav", sound))).text == "hello"
    assert [request.path for request in world.engine.requests] == [PATH, "/v1/audio/translations"]
    for request in world.engine.requests:
        part = parts_of(request)["file"]
        assert (part.get_filename(), content(part)) == ("a.wav", sound)


async def test_openais_client_reads_a_transcription_as_a_stream(world: World, client: openai.AsyncOpenAI) -> None:
    async def stream(request: Request, talk: Talk) -> None:
        assert content(parts_of(request)["stream"]) == b"true"
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        await talk.events(b'data: {"type":"transcript.text.delta","delta":"he"}\n\n')
        await talk.events(b'data: {"type":"transcript.text.done","text":"he"}\n\n', b"data: [DONE]\n\n")
        await talk.send(b"0\r\n\r\n")

    world.engine.script = stream
    events = await client.audio.transcriptions.create(model="tiny", file=("a.wav", wav(1.5)), stream=True)
    assert [event.type async for event in events] == ["transcript.text.delta", "transcript.text.done"]


async def test_openais_client_edits_and_makes_images(world: World, client: openai.AsyncOpenAI) -> None:
    async def draw(request: Request, talk: Talk) -> None:
        await talk.answer_json({"created": 1, "data": [{"b64_json": "eHh4" * 400_000}, {"b64_json": "eHh4"}]})

    world.engine.script = draw
    edited = await client.images.edit(model="tiny", image=("a.png", b"png"), prompt="a hat")
    varied = await client.images.create_variation(model="tiny", image=("a.png", b"png"))
    made = await client.images.generate(model="tiny", prompt="a cat")
    for answer in (edited, varied, made):
        assert answer.data is not None
        assert len(answer.data) == 2
    rows = world.server.rows
    await until(lambda: sum(row.images == 2 for row in rows.values()) == 3)


async def test_speech_is_passed_on_as_it_comes(world: World) -> None:
    sound, goes_on = wav(1), asyncio.Event()

    async def speak(request: Request, talk: Talk) -> None:
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nTransfer-Encoding: chunked\r\n\r\n")
        await talk.events(sound[:1000])
        await goes_on.wait()
        await talk.events(sound[1000:])
        await talk.send(b"0\r\n\r\n")

    world.engine.script = speak
    body = {"model": "tiny", "input": "x", "voice": "joe"}
    async with world.client.stream("POST", "/v1/audio/speech", json=body) as answer:
        pieces = answer.aiter_raw()
        first = await anext(pieces)
        goes_on.set()
        assert first + b"".join([piece async for piece in pieces]) == sound
    assert answer.headers["content-type"] == "audio/wav"
    assert (await world.row_of(answer)).audio_seconds == 1.0


# --- what goes wrong


FORM = "multipart/form-data; boundary=xyz"
TINY = form(9, model_first=True)[0]


@pytest.mark.parametrize(
    ("path", "content_type", "body", "status", "code"),
    [
        (PATH, "application/json", b'{"model":"tiny"}', 415, "form_wanted"),
        ("/v1/chat/completions", FORM, TINY, 415, "form_not_wanted"),
        (PATH, "multipart/form-data", b"", 400, "form_boundary_bad"),
        (PATH, FORM, TINY[:-5], 400, "form_ends_early"),
        (PATH, FORM, b"--xyz--", 400, "model_missing"),
        (PATH, FORM, TINY.replace(b"tiny", b"nope"), 404, "model_not_found"),
    ],
)
async def test_what_is_wrong_is_said(
    world: World, path: str, content_type: str, body: bytes, status: int, code: str
) -> None:
    answer = await world.client.post(path, content=body, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert world.engine.requests == []


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_before_the_first_byte_another_replica_is_asked(world: World, size: int) -> None:
    async def break_off(request: Request, talk: Talk) -> None:
        await talk.reset()

    async with ScriptedEngine(break_off) as broken:
        await world.server.publish((route("tiny", broken.address, world.engine.address),))
        body, headers = form(size, model_first=False)
        for _ in range(2):
            assert (await world.client.post(PATH, content=body, headers=headers)).status_code == 200
        assert broken.requests
        assert all(request.body == body for request in (*broken.requests, *world.engine.requests))


async def test_a_client_that_leaves_frees_what_was_kept(world: World) -> None:
    async def wait(request: Request, talk: Talk) -> None:
        await talk.until_gone()

    world.engine.script = wait
    body, headers = form(LARGE, model_first=True)
    asking = asyncio.create_task(world.client.post(PATH, content=body, headers=headers))
    await until(lambda: world.engine.talks)
    asking.cancel()
    await asyncio.wait_for(world.engine.talks[0].gone.wait(), 20)
    half = httpx.AsyncClient(base_url=world.gateway.url, trust_env=False)
    uploading = asyncio.create_task(half.post(PATH, content=halting(body), headers=headers | {"X-API-Key": KEY}))
    await until(lambda: is_keeping(world))
    uploading.cancel()
    await until(lambda: is_idle(world))
    await half.aclose()
    assert open_files(world.gateway.pid, world.gateway.data_dir / "gateway" / "uploads") == 0


async def halting(body: bytes) -> AsyncIterator[bytes]:
    yield body[: LARGE // 2]
    await asyncio.Event().wait()


async def is_keeping(world: World) -> bool:
    return await world.metric("upload_bytes") > LARGE // 3


async def is_idle(world: World) -> bool:
    return await world.metric("upload_bytes") == 0


def open_files(pid: int, folder: Path) -> int:
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += os.readlink(link).startswith(str(folder))
        except FileNotFoundError:
            continue
    return found
