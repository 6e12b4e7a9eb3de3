"""A real gateway while the server dies, while it is restarted itself, and when it leaves: nothing is lost."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from tests.fakes.gateway_world import World, events, until
from tests.fakes.scripted_engine import DONE, SSE_HEAD, Request, Talk, chat, frame

pytestmark = pytest.mark.integration


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path) as world:
        yield world


class Paced:
    """A script that sends a word, waits to be told, and ends well."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, _: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(frame("first "))
        self.started.set()
        await self.go_on.wait()
        await talk.events(frame("last"), frame(finish="stop"), DONE)
        await talk.send(b"0\r\n\r\n")


def text(body: bytes) -> str:
    return "".join(each["choices"][0]["delta"].get("content", "") for each in events(body)[:-1])


async def copied(world: World) -> None:
    """Until the routes of now are on disk."""
    path = world.gateway.data_dir / "gateway" / "routes.json"
    await until(lambda: path.exists() and world.engine.address in path.read_text())


async def test_a_dead_server_breaks_no_stream_and_usage_arrives_once_when_it_is_back(world: World) -> None:
    paced = world.engine.script = Paced()
    streaming = asyncio.create_task(world.stream_bytes())
    await paced.started.wait()
    await world.server.stop()
    paced.go_on.set()
    assert text(await streaming) == "first last"
    world.engine.script = chat
    answers = [await world.chat() for _ in range(5)]
    assert {each.status_code for each in answers} == {200}
    away = await world.client.get("/api/v1/models")
    assert (away.status_code, away.json()["error"]["code"]) == (503, "server_away")
    assert away.headers["retry-after"]
    assert (await world.client.get("/readyz")).status_code == 200
    await world.server.start()
    ids = [each.headers["x-request-id"] for each in answers]
    await world.server.until(lambda: len(world.server.rows) == 6)
    assert set(ids) < set(world.server.rows)
    delivered = [row.request_id for batch in world.server.deliveries for row in batch.rows]
    assert len(delivered) == len(set(delivered))


async def test_a_dead_server_whose_socket_still_takes_connections_is_no_reason_to_hang(world: World) -> None:
    """The supervisor holds the socket: nobody refuses, and nobody answers."""
    await world.server.stop()
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(world.gateway.socket_path))
        silent.listen(64)

        async def is_told() -> bool:
            with contextlib.suppress(httpx.ReadTimeout):
                answer = await world.client.get("/api/v1/models", timeout=0.5)
                return answer.status_code == 503 and answer.json()["error"]["params"]["cause"] == "silent"
            return False

        await until(is_told)
        assert (await world.chat()).status_code == 200
    await world.server.start()
    await until(lambda: is_answered(world), seconds=60)


async def is_answered(world: World) -> bool:
    return (await world.client.get("/api/v1/models")).status_code == 200


async def test_a_gateway_that_starts_without_a_server_serves_from_disk(world: World) -> None:
    await copied(world)
    await world.server.stop()
    await world.gateway.end(signal.SIGKILL)
    await world.gateway.start()
    assert (await world.chat()).status_code == 200


async def test_usage_on_disk_survives_a_killed_gateway_and_counts_once(world: World) -> None:
    await copied(world)
    await world.server.stop()
    answer = await world.chat()
    folder = world.gateway.data_dir / "gateway"
    await until(lambda: any(answer.headers["x-request-id"] in path.read_text() for path in folder.glob("*.spool")))
    await world.gateway.end(signal.SIGKILL)
    (spool,) = folder.glob("*.spool")
    with spool.open("ab") as torn:
        torn.write(b'0badc0de {"request_id": "torn')
    await world.gateway.start()
    await world.server.start()
    row = await world.row(answer.headers["x-request-id"])
    assert (row.prompt_tokens, row.completion_tokens) == (7, 3)
    assert len(world.server.rows) == 1
    await until(lambda: not spool.exists())


async def test_usage_is_kept_until_the_server_says_that_it_has_it(world: World) -> None:
    world.server.usage_answer = 500
    answer = await world.chat()
    await world.server.until(lambda: len(world.server.deliveries) >= 2)
    world.server.usage_answer = 204
    assert (await world.row(answer.headers["x-request-id"])).status == 200


async def test_a_damaged_copy_is_said_aloud_and_not_served_from(world: World) -> None:
    await copied(world)
    await world.server.stop()
    await world.gateway.end(signal.SIGKILL)
    path = world.gateway.data_dir / "gateway" / "routes.json"
    path.write_bytes(path.read_bytes().replace(b"inference", b"everythin"))
    await world.gateway.start()
    answer = await world.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "routes_missing")
    assert "routes_copy_damaged" in world.gateway.log


async def test_the_copy_on_disk_is_readable_by_its_owner_alone(world: World) -> None:
    await copied(world)
    folder = world.gateway.data_dir / "gateway"
    assert (folder / "routes.json").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_keys_are_not_trusted_for_longer_than_the_setting_says(tmp_path: Path) -> None:
    async with World(tmp_path, stale_keys_max_seconds=0.5) as world:
        await world.server.stop()
        await until(lambda: _code(world, "routes_stale"))
        assert (await world.client.get("/readyz")).status_code == 503
        await world.server.start()
        await until(lambda: _code(world, None))


async def _code(world: World, code: str | None) -> bool:
    found = (await world.client.get("/v1/models")).json().get("error", {}).get("code")
    return bool(found == code)


async def test_a_revoked_key_is_refused_as_soon_as_the_gateway_has_heard(world: World) -> None:
    assert (await world.chat()).status_code == 200
    await world.server.publish(credentials=())
    assert (await world.chat()).status_code == 401


async def test_an_older_section_never_replaces_a_newer_one(world: World) -> None:
    world.server.models_revision, world.server.models = 0, ()
    revision = world.server.credentials_revision + 1
    publishing = asyncio.create_task(world.server.publish(credentials=world.server.credentials))
    await world.server.until(lambda: world.server.asked[2] == revision)
    assert (await world.chat()).status_code == 200
    publishing.cancel()


def leases(world: World) -> dict[int, int] | None:
    return world.server.statuses[-1].leases if world.server.statuses else None


async def test_the_server_is_told_who_holds_what(world: World) -> None:
    paced = world.engine.script = Paced()
    streaming = asyncio.create_task(world.stream_bytes())
    await paced.started.wait()
    await world.server.until(lambda: leases(world) == {world.engine.port: 1})
    paced.go_on.set()
    await streaming
    await world.server.until(lambda: leases(world) == {})


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP], ids=["TERM", "HUP"])
async def test_a_gateway_that_leaves_finishes_its_streams_first(world: World, signum: signal.Signals) -> None:
    paced = world.engine.script = Paced()
    process = world.gateway.process
    assert process is not None
    async with world.client.stream("POST", "/v1/chat/completions", json=world.body(stream=True)) as answer:
        await paced.started.wait()
        process.send_signal(signum)
        await until(lambda: "gateway_leaving" in world.gateway.log)
        paced.go_on.set()
        body = b"".join([piece async for piece in answer.aiter_raw()])
    assert text(body) == "first last"
    await world.client.aclose()
    assert await world.gateway.wait() == 0
    assert answer.headers["x-request-id"] in world.server.rows


async def test_a_successor_serves_while_the_leaving_gateway_answers_its_last_request_with_close(world: World) -> None:
    """The listening socket is shared, so no connection is refused between the two."""
    assert (await world.chat()).status_code == 200
    process = world.gateway.process
    assert process is not None
    process.send_signal(signal.SIGHUP)
    await until(lambda: "gateway_leaving" in world.gateway.log)
    last = await world.client.get("/healthz")
    assert last.headers["connection"] == "close"
    await world.gateway.wait()
    await world.gateway.start()
    assert (await world.chat()).status_code == 200


async def test_an_open_watch_does_not_keep_a_leaving_gateway(world: World) -> None:
    async with world.client.stream("GET", "/api/v1/watch") as answer:
        lines = answer.aiter_lines()
        await anext(lines)
        process = world.gateway.process
        assert process is not None
        process.send_signal(signal.SIGHUP)
        assert [line async for line in lines]
    await world.client.aclose()
    assert await world.gateway.wait() == 0


async def test_a_leaving_gateway_says_that_nobody_need_wait_for_it(world: World) -> None:
    await world.chat()
    await world.client.aclose()
    await world.gateway.end(signal.SIGTERM)
    assert world.server.statuses[-1].models_revision > 10**6
    assert world.server.statuses[-1].leases == {}


async def test_a_slow_engine_is_given_up_after_the_setting(tmp_path: Path) -> None:
    async def silent(_: Request, talk: Talk) -> None:
        await talk.until_gone()

    async def stuck(_: Request, talk: Talk) -> None:
        await talk.send(SSE_HEAD)
        await talk.events(frame("word "))
        await talk.until_gone()

    async with World(tmp_path, first_byte_seconds=0.3, idle_seconds=0.3) as world:
        world.engine.script = silent
        answer = await world.chat()
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "engine_timeout")
        world.engine.script = stuck
        received = await world.raw(world.raw_chat(stream=True))
        assert b"word" in received
        assert b'"code":"engine_timeout"' in received


async def test_a_small_limit_on_bodies_holds_on_every_way(tmp_path: Path) -> None:
    """Also where an engine's connection is idle and the head is known, so that nothing has to be waited for."""
    async with World(tmp_path, request_body_bytes=1000) as world:
        answers = [await world.chat(user=text) for text in ("short", "short", "x" * 2000, "short")]
    assert [each.status_code for each in answers] == [200, 200, 413, 200]
