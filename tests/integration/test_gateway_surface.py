"""What a real gateway lets pass and what it refuses: keys, models, paths, heads, bodies, and everything relayed."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx
import openai
import pytest
import pytest_asyncio

from tests.fakes.gateway_world import KEY, READER, World, route, until
from tests.fakes.route_server import credential
from tests.fakes.scripted_engine import Request, Talk, chat

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
NAME = "org/tiny-model:q4"
CSRF = "csrf-token"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("gateway"), request_body_bytes=1024 * 1024) as world:
        loading = {"state": "starting", "worker": "w1", "eta_seconds": None}
        models = (
            route("tiny", world.engine.address),
            route(NAME, world.engine.address, context_length=4096),
            route("asleep", state="starting", loading=loading),
        )
        keys = (
            credential(KEY),
            credential(READER, id=2, scopes=("read",)),
            credential("limited", id=3, models=("org/*",)),
            credential("late", id=4, expires_at=datetime.now(UTC) - timedelta(seconds=1)),
            credential("session", id=5, kind="session", scopes=(), csrf_digest=credential(CSRF).digest),
        )
        await world.server.publish(models, keys)
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


def error(answer: httpx.Response) -> dict[str, object]:
    found: dict[str, object] = answer.json()["error"]
    assert set(found) == {"message", "type", "param", "code", "params"}
    assert found["message"]
    return found


# --- A07: models


@pytest.mark.parametrize("spelling", [NAME, "org%2Ftiny-model:q4", "org%2Ftiny-model%3Aq4", "org%2ftiny-model%3aq4"])
@pytest.mark.parametrize("prefix", ["/v1", "/v1-openai"])
async def test_a_listed_id_can_be_fetched_in_every_spelling(world: World, prefix: str, spelling: str) -> None:
    head = f"GET {prefix}/models/{spelling} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    received = await world.raw(f"{head}Authorization: Bearer {KEY}\r\n\r\n".encode())
    document = json.loads(received.partition(b"\r\n\r\n")[2])
    assert (document["id"], document["object"], document["owned_by"]) == (NAME, "model", "gpustack-lite")
    assert isinstance(document["created"], int)
    assert document["max_model_len"] == document["context_length"] == 4096


async def test_models_are_listed_as_openai_does_those_that_answer_first(world: World) -> None:
    document = (await world.client.get("/v1/models")).json()
    assert document["object"] == "list"
    assert [each["id"] for each in document["data"]] == [NAME, "tiny", "asleep"]


async def test_every_listed_model_is_retrieved_by_openais_client(client: openai.AsyncOpenAI) -> None:
    assert [(await client.models.retrieve(each.id)).id async for each in client.models.list()]


async def test_a_key_sees_only_the_models_that_it_may_use(world: World) -> None:
    answer = await world.client.get("/v1/models", headers={"Authorization": "Bearer limited"})
    assert [each["id"] for each in answer.json()["data"]] == [NAME]


# --- pictures: an engine fetches nothing that its clients choose


def shows(address: str) -> dict[str, object]:
    content = [{"type": "image_url", "image_url": {"url": address}}]
    return {"model": "tiny", "messages": [{"role": "user", "content": content}]}


@pytest.mark.parametrize("address", ["http://169.254.169.254/latest/meta-data/", "file:///etc/passwd"])
async def test_an_address_of_a_picture_reaches_no_engine(world: World, address: str) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    answer = await world.client.post("/v1/chat/completions", json=shows(address), headers=headers)
    assert (answer.status_code, error(answer)["code"]) == (400, "media_url_refused")
    assert error(answer)["param"] == "messages[0].content[0].image_url.url"
    assert world.engine.requests == []


async def test_a_picture_itself_reaches_the_engine_as_it_was_sent(world: World) -> None:
    headers, body = {"Authorization": f"Bearer {KEY}"}, shows("data:image/png;base64,iVBORw0KGgo=")
    answer = await world.client.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200
    assert json.loads(world.engine.requests[0].body) == body


# --- A15: three different refusals


async def test_an_unknown_model_is_not_found(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        await client.chat.completions.create(model="nope", messages=[])
    assert (refused.value.code, refused.value.type, refused.value.param) == (
        "model_not_found",
        "invalid_request_error",
        "model",
    )
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("nope")


async def test_a_model_that_the_key_may_not_use_is_forbidden(world: World) -> None:
    async with openai.AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key="limited", max_retries=0) as limited:
        with pytest.raises(openai.PermissionDeniedError):
            await limited.chat.completions.create(model="tiny", messages=[])
        with pytest.raises(openai.NotFoundError):
            await limited.chat.completions.create(model="nope", messages=[])


async def test_a_bad_key_is_unauthenticated(world: World) -> None:
    async with openai.AsyncOpenAI(base_url=f"{world.gateway.url}/v1", api_key="gpl_bad", max_retries=0) as bad:
        with pytest.raises(openai.AuthenticationError) as refused:
            await bad.chat.completions.create(model="tiny", messages=[])
    assert (refused.value.code, refused.value.type) == ("invalid_api_key", "authentication_error")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        pytest.param({"Authorization": f"Bearer {KEY}"}, 200, None, id="bearer"),
        pytest.param({"X-API-Key": KEY}, 200, None, id="x-api-key"),
        pytest.param(
            {"Cookie": "a=b; gpustack_lite_session=session", "X-CSRF-Token": CSRF}, 200, None, id="cookie with csrf"
        ),
        pytest.param({"Cookie": "gpustack_lite_session=session"}, 403, "csrf_token_missing", id="cookie without csrf"),
        pytest.param({"Authorization": "Bearer session"}, 200, None, id="session as bearer"),
        pytest.param({}, 401, "missing_api_key", id="nothing"),
        pytest.param({"Authorization": "Bearer late"}, 401, "expired_api_key", id="expired"),
        pytest.param({"X-API-Key": "late"}, 401, "expired_api_key", id="expired by x-api-key"),
        pytest.param({"Authorization": f"Bearer {READER}"}, 403, "key_lacks_scope", id="no inference scope"),
        pytest.param({"X-API-Key": READER}, 403, "key_lacks_scope", id="no inference scope by x-api-key"),
        pytest.param({"X-API-Key": "limited"}, 403, "model_not_allowed", id="not this model by x-api-key"),
    ],
)
async def test_each_carrier_is_judged_by_the_same_rules(
    world: World, headers: dict[str, str], status: int, code: str | None
) -> None:
    async with httpx.AsyncClient(base_url=world.gateway.url, trust_env=False) as bare:
        answer = await bare.post("/v1/chat/completions", json=world.body(), headers=headers)
    assert answer.status_code == status
    if code:
        assert error(answer)["code"] == code


async def test_the_credential_is_judged_before_the_body(world: World) -> None:
    answer = await world.client.post("/v1/chat/completions", content=b"{", headers={"Authorization": "Bearer no"})
    assert answer.status_code == 401


async def test_a_model_that_is_not_ready_says_how_far_it_is(world: World) -> None:
    answer = await world.chat(model="asleep")
    assert (answer.status_code, error(answer)["code"]) == (503, "model_not_ready")
    assert answer.json()["loading"]["worker"] == "w1"
    assert answer.headers["retry-after"]


async def test_errors_speak_the_readers_language(world: World) -> None:
    answer = await world.client.get("/v1/models/nope", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    assert "不存在" in str(error(answer)["message"])


# --- bodies


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b"", "body_empty", id="empty"),
        pytest.param(b"{", "body_not_json", id="cut"),
        pytest.param(b'{"model": "tiny" "x": 1}', "body_not_json", id="a comma missing"),
        pytest.param(b"[1]", "body_not_object", id="a list"),
        pytest.param(b'{"model": "tiny", "x": "\xff"}', "body_not_utf8", id="not UTF-8"),
        pytest.param(b'{"model": "tiny", "model": "asleep"}', "body_repeats_key", id="model twice"),
        pytest.param(b'{"model": "tiny", "mod\\u0065l": "asleep"}', "body_repeats_key", id="model twice, once escaped"),
        pytest.param(b'{"messages": []}', "model_missing", id="no model"),
        pytest.param(b'{"model": 7}', "model_not_text", id="model a number"),
        pytest.param(b'{"model": "tiny", "stream": "yes"}', "stream_not_boolean", id="stream a text"),
        pytest.param(b'{"model": "tiny", "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "body_not_json", id="too deep"),
    ],
)
async def test_a_bad_body_gets_one_clear_sentence(world: World, body: bytes, code: str) -> None:
    answer = await world.client.post("/v1/chat/completions", content=body)
    assert (answer.status_code, error(answer)["code"]) == (400, code)
    assert world.engine.requests == []


@pytest.mark.parametrize("is_chunked", [False, True], ids=["by its length", "as it comes"])
async def test_a_body_over_the_limit_is_refused_with_the_limit(world: World, is_chunked: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(32):
            yield b" " * 65536

    content = pieces() if is_chunked else b" " * (2 * 1024 * 1024)
    answer = await world.client.post("/v1/chat/completions", content=content)
    assert (answer.status_code, error(answer)["code"]) == (413, "request_body_too_large")
    assert "1 MiB" in str(error(answer)["message"])


async def test_a_refused_request_leaves_its_connection_good(world: World) -> None:
    refused = world.raw_post("/v1/chat/completions", b"{", close=False)
    received = await world.raw(refused + world.raw_chat())
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"HTTP/1.1 200 OK" in received


# --- engines that refuse


@pytest.mark.parametrize(
    ("status", "document", "expected", "code"),
    [
        pytest.param(
            400,
            {"error": {"code": 400, "message": "the request exceeds", "type": "exceed_context_size_error", "n_ctx": 5}},
            400,
            "context_length_exceeded",
            id="llama.cpp, too long",
        ),
        pytest.param(
            400,
            {"object": "error", "message": "This model's maximum context length is 16 tokens.", "code": 400},
            400,
            "context_length_exceeded",
            id="vLLM, too long",
        ),
        pytest.param(422, {"detail": "no"}, 422, "engine_error", id="FastAPI's detail"),
        pytest.param(500, {"error": "boom"}, 500, "engine_error", id="a bare text"),
        pytest.param(501, {"error": {"message": "no embeddings"}}, 404, "path_not_served", id="not implemented"),
        pytest.param(404, {"detail": "Not Found"}, 404, "path_not_served", id="no such path"),
        pytest.param(401, {"error": "key"}, 502, "engine_refused_key", id="our own key refused"),
    ],
)
async def test_errors_of_engines_come_in_openais_shape(
    world: World, status: int, document: object, expected: int, code: str
) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.answer_json(document, status)

    world.engine.script = script
    answer = await world.client.post("/v1/embeddings", json={"model": "tiny", "input": "x"})
    assert (answer.status_code, error(answer)["code"]) == (expected, code)


async def test_a_path_that_the_engine_lacks_is_told_with_model_and_path(world: World) -> None:
    async def script(_: Request, talk: Talk) -> None:
        await talk.answer_json({"detail": "Not Found"}, 404)

    world.engine.script = script
    message = str(error(await world.client.post("/v1/rerank", json={"model": "tiny"}))["message"])
    assert "tiny" in message
    assert "/v1/rerank" in message


# --- paths and heads


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../api/v1/users",
        "/v1/%2e%2e/api",
        "/v1%2f..%2fapi/v1/users",
        "//api/v1/users",
        "/v1//models",
        "/v1/models/a%5cb",
        "/v1/models/a\\b",
        "/v1/models/a%00b",
        "/v1/models/a%252fb",
        "/v1/models/..%2f..%2fapi",
        "/api/v1/./users",
        "/api%2fgateway/v1/routes",
        "http://other/api/v1/users",
        "*",
        "/v1/models/%ff",
        "/v1/models/%zz",
    ],
)
async def test_a_path_that_can_be_read_in_two_ways_is_refused(world: World, path: str) -> None:
    received = await world.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "path", ["/api/gateway/v1/routes", "/api/internal/readyz", "/internal/ready", "/v1/load_lora_adapter"]
)
async def test_what_is_inside_cannot_be_reached(world: World, path: str) -> None:
    assert (await world.client.post(path, json={"model": "tiny"})).status_code == 404
    assert world.engine.requests == []


@pytest.mark.parametrize(
    ("head", "status"),
    [
        pytest.param(b"GET /healthz HTTP/1.1\r\n", 400, id="no Host"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400, id="two Hosts"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a/admin?x=\r\n", 400, id="a path in Host"),
        pytest.param(
            b"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            400,
            id="CL and TE",
        ),
        pytest.param(
            b"POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n", 400, id="two codings"
        ),
        pytest.param(b"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n", 400, id="a signed length"),
        pytest.param(b"GET /healthz HTTP/1.1\nHost: a\n", 400, id="bare LF"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost : a\r\n", 400, id="space before colon"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n", 400, id="folded"),
        pytest.param(b"GET /healthz HTTP/2.0\r\nHost: a\r\n", 505, id="another version"),
        pytest.param(b"TRACE /healthz HTTP/1.1\r\nHost: a\r\n", 405, id="TRACE"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 101, 431, id="101 fields"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 17_000 + b"\r\n", 431, id="17 kB in a field"),
        pytest.param(b"GET /" + b"y" * 9_000 + b" HTTP/1.1\r\nHost: a\r\n", 414, id="a long target"),
        pytest.param(b"GET /healthz HTTP/1.0\r\n", 200, id="HTTP/1.0 needs no Host"),
        pytest.param(
            b"GET /healthz HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n",
            200,
            id="an offer of h2c",
        ),
    ],
)
async def test_heads_are_parsed_strictly(world: World, head: bytes, status: int) -> None:
    received = await world.raw(head + b"\r\n")
    assert received.startswith(b"HTTP/1.1 %d " % status), received[:200]


async def test_a_head_that_never_ends_is_cut_off_early(world: World) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", world.gateway.port)
    sent = 0
    try:
        for _ in range(1000):
            writer.write(b"X-Field: " + b"y" * 65_536)
            sent += 65_536
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()
    assert sent < 32 * 1024**2


async def test_a_sane_request_id_is_kept_but_counts_under_our_own(world: World) -> None:
    answers = [
        await world.client.post("/v1/chat/completions", json=world.body(), headers={"X-Request-ID": "mine-1"})
        for _ in range(2)
    ]
    assert {each.headers["x-request-id"] for each in answers} == {"mine-1"}
    assert [request.header("x-request-id") for request in world.engine.requests] == ["mine-1"] * 2
    await world.server.until(lambda: len([r for r in world.server.rows.values() if r.model == "tiny"]) >= 2)
    assert "mine-1" not in world.server.rows
    insane = await world.client.get("/healthz", headers={"X-Request-ID": "a b"})
    assert insane.headers["x-request-id"] != "a b"


# --- the relay to the server


async def test_everything_else_reaches_the_server_with_the_clients_address(world: World) -> None:
    headers = {"X-Gpustack-Client": "6.6.6.6", "X-Forwarded-For": "6.6.6.6", "Cookie": "a=b"}
    document = (await world.client.put("/api/v1/things/a%20b?x=1&y=%2F", content=b"body", headers=headers)).json()
    assert (document["method"], document["path"], document["query"]) == ("PUT", "api/v1/things/a b", "x=1&y=%2F")
    assert document["body"] == "body"
    sent = dict(document["headers"])
    assert sent["x-gpustack-client"] == "127.0.0.1"
    assert sent["cookie"] == "a=b"
    assert sent["authorization"] == f"Bearer {KEY}"
    assert "x-forwarded-for" not in sent


async def test_an_upload_of_unknown_length_streams_through(world: World) -> None:
    started = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"a" * 1000
        await until(lambda: world.server.uploaded >= 1000)  # it is there before we have finished
        started.set()
        for _ in range(20):
            yield b"b" * 10_000

    answer = await world.client.post("/api/v1/upload", content=pieces())
    assert started.is_set()
    assert answer.json() == {"bytes": 201_000}


async def test_a_watch_streams_and_its_end_reaches_the_server(world: World) -> None:
    async with world.client.stream("GET", "/api/v1/watch") as answer:
        lines = []
        async for line in answer.aiter_lines():
            lines.append(line)
            if len(lines) > 6:
                break
    assert lines[0] == "id: 0"


async def test_answers_without_a_body_pass(world: World) -> None:
    assert (await world.client.get("/api/v1/nothing")).status_code == 204
    head = await world.client.head("/api/v1/things")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 0


async def test_the_gateway_speaks_of_its_own_health_and_version(world: World) -> None:
    async with httpx.AsyncClient(base_url=world.gateway.url, trust_env=False) as bare:
        assert (await bare.get("/healthz")).json() == {"status": "ok"}
        ready = await bare.get("/readyz")
        assert (ready.status_code, ready.json()["server"]) == (200, {"ready": True})
        assert (await bare.get("/version")).json()["version"]
        assert (await bare.get("/metrics")).status_code == 401


async def test_requests_on_one_connection_are_answered_in_order(world: World) -> None:
    get = "GET {} HTTP/1.1\r\nHost: x\r\n{}\r\n"
    requests = get.format("/healthz", "") + get.format("/version", "") + get.format("/healthz", "Connection: close\r\n")
    received = await world.raw(requests.encode())
    assert received.count(b"HTTP/1.1 200 OK") == 3
    assert received.index(b'"version"') > received.index(b'"ok"')


async def test_an_upload_that_begins_with_silence_reaches_the_server_at_once(world: World) -> None:
    reached = asyncio.Event()
    world.server.begun.clear()

    async def pieces() -> AsyncIterator[bytes]:
        await until(lambda: "/api/v1/upload" in world.server.begun)
        reached.set()
        yield b"late"

    answer = await world.client.post("/api/v1/upload", content=pieces())
    assert reached.is_set()
    assert answer.json() == {"bytes": 4}
