"""Two servers on one database, asked over HTTP in the same moment: a device has one owner, and the other is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpustack_lite.api.app import build
from gpustack_lite.api.context import Context
from gpustack_lite.db.engine import open_database
from gpustack_lite.ports import Ports
from gpustack_lite.server.main import working
from gpustack_lite.settings import Settings
from tests.fakes.cluster import clear
from tests.fakes.rows import GIB, a_device, a_worker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
ROUNDS = 6
ASKED = {"device-count": 1, "bytes-per-device": 14 * GIB}


class Server:
    def __init__(self, context: Context) -> None:
        self.context = context
        transport = httpx.ASGITransport(build(context))
        headers = {"Authorization": "Bearer cli"}
        self.client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)

    async def deploy(self, name: str) -> None:
        body = {"name": name, "source": "none:", "backend": "echo", "options": ASKED}
        (await self.client.post("/api/v1/models", json=body)).raise_for_status()

    async def instances(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.client.get("/api/v1/instances")).json()["items"]
        return found


@pytest.fixture
async def servers(migrated_url: str, tmp_path: Path) -> AsyncIterator[list[Server]]:
    """Each with its own pool of connections, its own reconcilers, and a wish to lead."""
    ports = Ports()
    async with AsyncExitStack() as stack:
        found = []
        for name in ("a", "b"):
            run = tmp_path / name / "run"
            run.mkdir(parents=True)
            (run / "cli_token").write_text("cli")
            db = await open_database(migrated_url, ports)
            stack.push_async_callback(db.close)
            settings = Settings(data_dir=tmp_path / name)
            found.append(Server(await stack.enter_async_context(working(settings, ports, db, tmp_path / name))))
        yield found


async def settled(servers: list[Server]) -> list[dict[str, Any]]:
    """Both instances decided. Hints do not cross from one server to the other; here they do, to save time."""
    async with asyncio.timeout(60):
        while True:
            for each in servers:
                each.context.signals.touch("models", "instances")
            rows = await servers[0].instances()
            if len(rows) == 2 and all(each["state"] != "pending" or each["reasons"] for each in rows):
                return rows
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("migrated_url", ["postgresql"], indirect=True)
async def test_of_two_deployments_at_two_servers_one_gets_the_device_and_the_other_is_told_who_has_it(
    servers: list[Server],
) -> None:
    """B09, B11: one card of 24 GiB, twice 14 GiB, six rounds."""
    now = Ports().clock.wall()
    card = {"kind": "cuda", "chip": "A10", "memory_total_bytes": 24 * GIB, "memory_used_bytes": 0}
    async with servers[0].context.db.write() as session:
        session.add(a_worker(1, seen_at=now))
        await session.flush()
        session.add(a_device(0, **card))
    for number in range(ROUNDS):
        names = [f"a{number}", f"b{number}"]
        await asyncio.gather(*[server.deploy(name) for server, name in zip(servers, names, strict=True)])
        rows = await settled(servers)
        assert sorted(each["state"] for each in rows) == ["pending", "scheduled"]
        winner, waiting = sorted(rows, key=lambda each: each["state"] == "pending")
        assert waiting["reasons"][0]["code"] == "not_enough_device_memory"
        stop = next(each for each in waiting["remedies"] if each["code"] == "stop_instances")
        assert stop["params"]["instances"] == f"{winner['id']} ({winner['model']})"
        assert await servers[1].instances() == rows
        await clear(servers[0].context.db)
