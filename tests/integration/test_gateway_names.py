"""Public names before a real gateway: aliases, weights, a fallback, reasoning in one spelling, and other origins."""

import json
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import openai
import pytest
import pytest_asyncio

from gpustack_lite.wire import NamedRoute, RouteTarget
from tests.fakes.gateway_world import KEY, READER, World, events, route
from tests.fakes.route_server import credential
from tests.fakes.scripted_engine import DONE, SSE_HEAD, Request, Talk, chat, frame

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
MODEL = "org/tiny-model:q4"
ALIAS = "org/别名:latest"
PAGE = "https://chat.example"
CHAT = "/v1/chat/completions"


def leads(name: str, *targets: tuple[str, int], fallback: tuple[str, ...] = ()) -> NamedRoute:
    made = tuple(RouteTarget(model=each, weight=weight) for each, weight in targets)
    return NamedRoute(name=name, created=5, targets=made, fallback=fallback)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("gateway"), cors_origins=json.dumps([PAGE])) as world:
        engine = world.engine.address
        models = (
            route(MODEL, engine, paths=(CHAT, "/v1/completions"), abilities={"tools": True}, context_length=4096),
            route("other", engine),
            route("thinker", engine, abilities={"spelling": "reasoning"}),
            route("asleep", state="pending"),
            route("base", engine, adapters=("base:poet",), abilities={"spelling": "reasoning"}),
        )
        routes = (
            leads(ALIAS, (MODEL, 1)),
            leads("weighted", (MODEL, 3), ("other", 1)),
            leads("spared", ("asleep", 1), fallback=("other",)),
            leads("nowhere", ("gone", 1)),
        )
        keys = (
            credential(KEY),
            credential(READER, id=2, scopes=("read",)),
            credential("alias-only", id=3, models=(ALIAS,)),
            credential("target-only", id=4, models=(MODEL,)),
            credential("poet-only", id=5, models=("base:poet",)),
        )
        await world.server.publish(models, keys, routes)
        yield world


@pytest.fixture
def world(shared: World) -> World:
    shared.engine.script = chat
    shared.engine.forget()
    return shared


@pytest_asyncio.fixture(loop_scope="module")
async def client(world: World) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key=KEY, max_retries=0) as each:
        yield each


def key(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


# --- aliases


async def test_an_alias_is_a_model_to_openais_client(client: openai.AsyncOpenAI) -> None:
    assert {ALIAS, "weighted", "spared"} <= {each.id for each in (await client.models.list()).data}
    shown = await client.models.retrieve(ALIAS)
    assert (shown.id, shown.object, shown.created) == (ALIAS, "model", 5)
    messages: list[openai.types.chat.ChatCompletionUserMessageParam] = [{"role": "user", "content": "hi"}]
    whole = await client.chat.completions.create(model=ALIAS, messages=messages)
    assert (whole.model, whole.choices[0].message.content) == (ALIAS, "one two three")
    stream = await client.chat.completions.create(model=ALIAS, messages=messages, stream=True)
    assert {chunk.model async for chunk in stream} == {ALIAS}


@pytest.mark.parametrize("name", [MODEL, ALIAS])
@pytest.mark.parametrize("spelling", ["raw", "slashes", "slashes and colons"])
async def test_a07_a_name_is_found_in_any_spelling(world: World, name: str, spelling: str) -> None:
    written = name if spelling == "raw" else name.replace("/", "%2F")
    written = written.replace(":", "%3A") if spelling == "slashes and colons" else written
    answer = await world.client.get(f"/v1/models/{written}")
    assert answer.status_code == 200
    said = answer.json()
    assert (said["id"], said["object"], said["owned_by"]) == (name, "model", "gpustack-lite")
    assert (said["context_length"], said["tools"], said["json_schema"]) == (4096, True, None)
    assert said["supported_paths"] == [CHAT, "/v1/completions", "/v1/messages"]


async def test_the_engine_hears_its_own_name_and_the_row_has_both(world: World) -> None:
    answer = await world.chat(model=ALIAS)
    assert world.engine.requests[-1].json["model"] == MODEL
    row = await world.row(answer.headers["x-request-id"])
    assert (row.model, row.public_name) == (MODEL, ALIAS)
    plain = await world.chat(model=MODEL)
    assert (await world.row(plain.headers["x-request-id"])).public_name is None


async def test_an_adapter_is_asked_of_its_models_engine_by_its_own_name(world: World) -> None:
    """The row is the model's, whose limits and line it has; a key for the adapter alone is none for the model."""
    answer = await world.chat(model="base:poet")
    assert answer.status_code == 200
    assert world.engine.requests[-1].json["model"] == "base:poet"
    row = await world.row(answer.headers["x-request-id"])
    assert (row.model, row.public_name) == ("base", "base:poet")
    assert (await world.chat(model="base")).status_code == 200
    assert world.engine.requests[-1].json["model"] == "base"
    codes = [
        (await world.client.post(CHAT, json=world.body(model=name), headers=key("poet-only"))).status_code
        for name in ("base:poet", "base", "base:none")
    ]
    assert codes == [200, 403, 404]
    assert (await world.client.get("/v1/models/base:poet")).json()["id"] == "base:poet"


async def test_only_the_name_differs_from_what_the_engine_said(world: World) -> None:
    lines = b'event: x\r\ndata: {"model":\r\ndata: "tiny","n":"\\"model\\":1"}\r\n\r\n'
    said = [b": hello\n\n", lines, frame("é")]

    async def odd(request: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(*said, DONE)
        await talk.send(b"0\r\n\r\n")

    world.engine.script = odd
    expected = b"".join([*said, DONE])
    received = await world.stream_bytes(model=ALIAS)
    assert received == expected.replace(b'"tiny"', f'"{ALIAS}"'.encode())


@pytest.mark.parametrize(
    ("secret", "name", "status"),
    [
        ("alias-only", ALIAS, 200),
        ("alias-only", MODEL, 403),
        ("target-only", MODEL, 200),
        ("target-only", ALIAS, 403),
    ],
)
async def test_a_key_is_allowed_public_names(world: World, secret: str, name: str, status: int) -> None:
    answer = await world.client.post(CHAT, json=world.body(model=name), headers=key(secret))
    assert answer.status_code == status
    shown = (await world.client.get("/v1/models", headers=key(secret))).json()["data"]
    assert [each["id"] for each in shown] == [ALIAS if secret == "alias-only" else MODEL]
    assert (await world.client.get(f"/v1/models/{name}", headers=key(secret))).status_code == status


async def test_weights_are_kept_exactly(world: World) -> None:
    for _ in range(8):
        assert (await world.chat(model="weighted")).json()["model"] == "weighted"
    assert Counter(each.json["model"] for each in world.engine.requests) == {MODEL: 6, "other": 2}


async def test_the_fallback_serves_and_a_name_without_models_says_so(world: World) -> None:
    assert (await world.chat(model="spared")).json()["model"] == "spared"
    assert world.engine.requests[-1].json["model"] == "other"
    nowhere = await world.chat(model="nowhere")
    assert (nowhere.status_code, nowhere.json()["error"]["code"]) == (404, "route_leads_nowhere")


async def test_a_path_that_the_engine_lacks_is_refused_before_it_is_asked(world: World) -> None:
    answer = await world.client.post("/v1/embeddings", json={"model": ALIAS, "input": "x"})
    said = answer.json()["error"]
    assert (answer.status_code, said["code"]) == (404, "path_not_served")
    assert f"{CHAT}, /v1/completions, /v1/messages" in said["message"]
    assert world.engine.requests == []


# --- reasoning


async def think(request: Request, talk: Talk) -> None:
    delta = {"reasoning": "hm"}
    if not request.json.get("stream"):
        await talk.answer_json({"model": "thinker", "choices": [{"index": 0, "message": {"content": "a", **delta}}]})
        return
    await talk.send(SSE_HEAD)
    await talk.events(frame(choices=[{"index": 0, "delta": delta}]), frame("a"), DONE)
    await talk.send(b"0\r\n\r\n")


async def test_reasoning_has_one_spelling_in_and_out(world: World) -> None:
    world.engine.script = think
    turn = {"role": "assistant", "content": "a", "reasoning_content": "before"}
    whole = (await world.chat(model="thinker", messages=[turn])).json()
    assert whole["choices"][0]["message"] == {"content": "a", "reasoning_content": "hm"}
    assert world.engine.requests[-1].json["messages"] == [{"role": "assistant", "content": "a", "reasoning": "before"}]
    streamed = events(await world.stream_bytes(model="thinker"))
    assert streamed[0]["choices"][0]["delta"] == {"reasoning_content": "hm"}
    assert streamed[1]["choices"][0]["delta"] == {"content": "a"}


# --- other origins


async def preflight(world: World, origin: str, path: str = CHAT) -> httpx.Response:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang,x-csrf-token",
    }
    async with httpx.AsyncClient(base_url=world.gateway.url, trust_env=False, timeout=30) as browser:
        return await browser.options(path, headers=asked)


@pytest.mark.parametrize("path", [CHAT, "/v1/models", "/v1-openai/models"])
async def test_a_preflight_is_answered_without_a_credential(world: World, path: str) -> None:
    answer = await preflight(world, PAGE, path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type, x-stainless-lang"
    assert "access-control-allow-credentials" not in answer.headers


async def test_an_origin_that_is_not_named_is_told_so(world: World) -> None:
    answer = await preflight(world, "https://evil.example")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cors_not_allowed")
    assert "access-control-allow-origin" not in answer.headers


async def test_a_page_may_read_answers_and_errors_of_both_kinds(world: World) -> None:
    for model, status in ((MODEL, 200), ("no-such", 404)):
        answer = await world.client.post(CHAT, json=world.body(model=model), headers={"Origin": PAGE})
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert "x-request-id" in answer.headers["access-control-expose-headers"]
        assert answer.headers["vary"] == "origin"
    silent = await world.client.post(CHAT, json=world.body(), headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in silent.headers


async def test_management_is_not_opened_to_other_origins(world: World) -> None:
    answer = await world.client.get("/api/v1/anything", headers={"Origin": PAGE})
    assert "access-control-allow-origin" not in answer.headers
