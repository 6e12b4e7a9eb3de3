"""Ten thousand clients that say nothing cost little, and nobody else notices them."""

import asyncio
import resource
from pathlib import Path

import psutil
import pytest

from gpustack_lite.gateway.main import FILES_FOR_OURSELVES
from tests.fakes.gateway_world import World
from tests.heavy.conftest import Tell

pytestmark = pytest.mark.slow
WANTED = 10_000
MOST_BYTES = 300 * 1024**2


def possible() -> int:
    """As many as the bound on open files lets the gateway take, which keeps one for each engine's side."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(WANTED, (hard - FILES_FOR_OURSELVES) // 2 - 100)


async def idle(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """One that has asked once and stays."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


@pytest.mark.asyncio
async def test_ten_thousand_idle_connections_leave_the_others_alone(tmp_path: Path, tell: Tell) -> None:
    wanted = possible()
    async with World(tmp_path) as world:
        assert (await world.chat()).status_code == 200
        process = psutil.Process(world.gateway.pid)
        before = process.memory_info().rss
        held = []
        for _ in range(wanted // 500):
            held += await asyncio.gather(*(idle(world.gateway.port) for _ in range(500)))
        assert {(await world.chat()).status_code for _ in range(20)} == {200}
        grown = process.memory_info().rss
        assert grown <= MOST_BYTES
        open_now = await world.metric("connections")
        for _, writer in held:
            writer.close()
        assert (await world.chat()).status_code == 200
        assert open_now >= wanted // 500 * 500
        mib = 1024**2
        tell("idle connections", open=int(open_now), rss_MiB=grown // mib, before_MiB=before // mib)
