"""What of an engine can be reached: a table of POST paths, decided on the very string that is sent on."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import paths
from gpustack_lite.gateway.inference import PATHS
from tests.fakes.gateway_world import KEY, World, route
from tests.fakes.route_server import credential
from tests.fakes.scripted_engine import chat

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
OF_ENGINES = (
    *("/stopService", "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/reset_prefix_cache", "/reset_mm_cache"),
    *("/slots", "/slots/0", "/lora-adapters", "/props", "/sleep", "/wake_up", "/is_sleeping", "/collective_rpc"),
    *("/pause", "/resume", "/scale_elastic_ep", "/start_profile", "/stop_profile", "/update_weights_from_disk"),
    *("/tokenize", "/detokenize", "/pooling", "/classify", "/server_info", "/flush_cache", "/generate", "/invocations"),
    *("/release_memory_occupation", "/abort_request", "/set_internal_state", "/health_generate", "/models/load"),
    *("/infer", "/docs", "/openapi.json", "/metrics", "/v1/internal/model/load", "/v1/realtime", "/v1/loras"),
)
"""What engines answer beside OpenAI's paths (vLLM, SGLang, llama.cpp, MindIE), some of it without any key."""
WAYS = (
    *(
        "{}",
        "/v1{}",
        "/v1/..{}",
        "/v1/chat/completions/..{}",
        "/v1/chat/completions/../..{}",
        "/{}",
        "/.{}",
        "/v1//..{}",
    ),
    *("/v1/%2e%2e{}", "/v1/%2E%2E{}", "/v1/..%2f..{}", "/v1/%252e%252e{}", "/v1-openai{}", "/v1-openai/..{}", "/v2{}"),
    *("{}/", "{}%00", "{};a=b", "{}?x=/v1/chat/completions", "/v1/chat/completions;{}", "/v1/chat/completions%3f/..{}"),
    *("/v1/models/..%2f..{}", "/v1/models/x/..{}", "/v1\\..{}", "/v1/%5c..{}", "http://127.0.0.1{}", "{}#/v1/models"),
    *("/v1/chat/completions%0d%0a{}", "/v1/chat/completions{}"),
)


def attempts() -> Iterator[bytes]:
    yield from (way.format(path).encode() for path in OF_ENGINES for way in WAYS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("paths")) as made:
        made.engine.script = chat
        await made.server.publish((route("tiny", made.engine.address),), (credential(KEY),))
        yield made


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_no_spelling_reaches_anything_else_of_an_engine(world: World, method: str) -> None:
    """With a key that may use every model; on one connection each, as bytes that no client of ours has made nicer."""
    world.engine.forget()
    body = b'{"model":"tiny"}'
    for target in attempts():
        head = f"Host: x\r\nConnection: close\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
        assert await world.raw(b"%s %s HTTP/1.1\r\n%s%s" % (method.encode(), target, head.encode(), body))
    assert {each.path for each in world.engine.requests} <= PATHS


async def test_a_path_of_the_table_does_reach_it(world: World) -> None:
    world.engine.forget()
    answer = await world.client.post(
        "/v1/chat/completions", json={"model": "tiny", "messages": []}, headers={"Authorization": f"Bearer {KEY}"}
    )
    assert answer.status_code == 200
    assert [each.path for each in world.engine.requests] == ["/v1/chat/completions"]


async def test_what_is_decided_on_is_what_is_sent_on() -> None:
    """Whatever is taken at all is taken for one path only, and is written again from that."""
    for target in attempts():
        try:
            found = paths.canonical(target.partition(b"?")[0])
        except Refusal:
            continue
        assert ".." not in found.split("/")
        assert paths.canonical(paths.encoded(found)) == found


async def test_the_table_names_no_path_that_changes_an_engine() -> None:
    assert not PATHS.intersection(OF_ENGINES)
