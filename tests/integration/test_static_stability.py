"""The server is dead for hours: what gateways know is enough, is not believed for ever, and forgets no revocation."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from gpustack_lite.gateway import route_copy
from tests.fakes.gateway_world import KEY, World, until
from tests.fakes.route_server import credential

pytestmark = pytest.mark.integration
OTHER = "gpl_a-key-that-is-revoked"
LIMIT_SECONDS = 3600


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path, stale_keys_max_seconds=LIMIT_SECONDS) as world:
        yield world


def copy_of(world: World) -> Path:
    return world.gateway.data_dir / "gateway" / "routes.json"


async def restart_without_a_server(world: World, *, aged_seconds: float = 0) -> None:
    """The gateway is killed and starts from its copy, which the server confirmed so many seconds earlier."""
    await world.server.stop()
    await world.gateway.end(signal.SIGKILL)
    saved, _ = route_copy.decode(copy_of(world).read_bytes())
    older = msgspec.structs.replace(saved, monotonic=saved.monotonic - aged_seconds)
    copy_of(world).write_bytes(route_copy.encode(older))
    await world.gateway.start()


async def copied(world: World, *, keys: int) -> None:
    def holds_them() -> bool:
        return (
            copy_of(world).exists() and len(route_copy.decode(copy_of(world).read_bytes())[1].credentials or ()) == keys
        )

    await until(holds_them)


async def test_a_key_that_was_revoked_before_stays_revoked_after_a_restart(world: World) -> None:
    theirs = {"Authorization": f"Bearer {OTHER}"}
    await world.server.publish(credentials=(credential(KEY), credential(OTHER, id=9)))
    await copied(world, keys=2)
    assert (await world.client.post("/v1/chat/completions", json=world.body(), headers=theirs)).status_code == 200
    await world.server.publish(credentials=(credential(KEY),))
    await copied(world, keys=1)
    await restart_without_a_server(world)
    refused = await world.client.post("/v1/chat/completions", json=world.body(), headers=theirs)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert (await world.chat()).status_code == 200
    assert (await world.stream_bytes()).endswith(b"data: [DONE]\n\n")
    assert (await world.client.get("/v1/models")).json()["data"][0]["id"] == "tiny"


async def test_a_restart_does_not_make_an_old_copy_young(world: World) -> None:
    await copied(world, keys=2)
    await restart_without_a_server(world, aged_seconds=LIMIT_SECONDS - 600)
    assert (await world.chat()).status_code == 200
    await restart_without_a_server(world, aged_seconds=1200)
    refused = await world.chat()
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "routes_stale")
    assert (await world.client.get("/readyz")).status_code == 503
    await world.server.start()

    async def serves_again() -> bool:
        return (await world.chat()).status_code == 200

    await until(serves_again)


async def test_what_was_served_meanwhile_is_delivered_once_over_two_restarts(world: World) -> None:
    await copied(world, keys=2)
    await restart_without_a_server(world)
    first = [(await world.chat()).headers["x-request-id"] for _ in range(3)]
    await restart_without_a_server(world)
    second = [(await world.chat()).headers["x-request-id"] for _ in range(3)]
    await world.server.start()
    await world.server.until(lambda: {*first, *second} <= set(world.server.rows))
    folder = world.gateway.data_dir / "gateway"
    await until(lambda: not list(folder.glob("*.spool")))
    delivered = [row.request_id for batch in world.server.deliveries for row in batch.rows]
    assert sorted(delivered) == sorted({*first, *second})
    killed_as_it_ended = [row for row in world.server.rows.values() if row.cause == "gateway_killed"]
    assert len(killed_as_it_ended) <= 1  # its answer was out, and the process was gone before it could say so
    assert {row.status for row in world.server.rows.values() if row not in killed_as_it_ended} == {200}
