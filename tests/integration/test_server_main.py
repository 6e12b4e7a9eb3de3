"""The server as a process: starts on an empty folder, ends at once, is alone; and two servers on one database."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from gpustack_lite.api.context import Context
from gpustack_lite.db.engine import open_database
from gpustack_lite.ports import Ports
from gpustack_lite.server.main import working
from gpustack_lite.server.publish import Publisher
from gpustack_lite.settings import Settings
from tests.harness import environment, until

pytestmark = pytest.mark.integration


def spawn(data_dir: Path, **env: str) -> subprocess.Popen[bytes]:
    told = json.dumps({"data_dir": str(data_dir)})
    argv = [sys.executable, "-P", "-m", "gpustack_lite.cli.child", "server"]
    env = {"GPUSTACK_LITE_CHILD": told, "GPUSTACK_LITE_NO_WORKER": "true"} | env
    return subprocess.Popen(argv, env=environment(**env), stderr=subprocess.PIPE)


@contextmanager
def serving(data_dir: Path, **env: str) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
    process, path = spawn(data_dir, **env), data_dir / "run" / "server.sock"
    try:
        until(lambda: _listens(path), 60)
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://localhost", timeout=30) as client:
            until(lambda: client.get("/api/internal/readyz").status_code == 200, 60)
            yield process, client
    finally:
        process.kill()
        process.communicate()


def _listens(path: Path) -> bool:
    """Asked without httpx, which leaks the socket of a refused connection."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """As a supervisor leaves it."""
    run = tmp_path / "data" / "run"
    run.mkdir(parents=True)
    (run / "gateway_token").write_text("gateway-secret")
    return run.parent


def test_a_first_start_leaves_private_files_and_a_term_ends_it(data_dir: Path) -> None:
    with serving(data_dir) as (process, _):
        modes = {path.name: path.stat().st_mode & 0o077 for path in data_dir.iterdir() if path.is_file()}
        assert {"gpustack-lite.db", "initial_admin_password", "server.lock", "server_id"} <= set(modes)
        assert set(modes.values()) == {0}
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP], ids=["TERM", "HUP"])
def test_open_long_polls_end_with_the_server(data_dir: Path, signum: int) -> None:
    """The server is asked to wait for a minute, and told to end."""
    with serving(data_dir) as (process, client):
        headers = {"Authorization": "Bearer gateway-secret"}

        def routes(**known: int) -> httpx.Response:
            return client.get("/api/gateway/v1/routes", params={"wait": 60, **known}, headers=headers)

        now, known = routes(wait=1), dict[str, int]()
        while now.status_code == 200:  # until nothing is new any more: a fresh server still publishes
            told = now.json()
            known = {name: told[f"{name}_revision"] for name in ("models", "credentials")} | {"epoch": told["epoch"]}
            now = routes(**known, wait=1)

        async def poll_and_end() -> int:
            polling = asyncio.create_task(asyncio.to_thread(routes, **known))
            await asyncio.sleep(0.3)
            process.send_signal(signum)
            return (await polling).status_code

        assert asyncio.run(asyncio.wait_for(poll_and_end(), 20)) == 204
        assert process.wait(20) == 0


def test_a_second_server_on_the_same_folder_is_refused_and_names_the_first(data_dir: Path) -> None:
    with serving(data_dir) as (process, client):
        second = spawn(data_dir)
        _, said = second.communicate(timeout=60)
        assert second.returncode != 0
        refused = next(json.loads(line) for line in said.decode().splitlines() if '"refused"' in line)
        assert (refused["code"], refused["params"]["pid"]) == ("data_dir_in_use", str(process.pid))
        assert client.get("/api/internal/readyz").status_code == 200


def test_a_killed_server_is_followed_at_once_under_a_new_epoch(data_dir: Path) -> None:
    """Its lease would have lasted for an hour."""
    headers = {"Authorization": "Bearer gateway-secret"}
    for expected in (1, 2):
        with serving(data_dir, GPUSTACK_LITE_LEASE_SECONDS="3600") as (process, client):

            def epoch() -> int:
                answer = client.get("/api/gateway/v1/routes", params={"wait": 30}, headers=headers)
                return int(answer.json()["epoch"])

            until(lambda: epoch() == expected, 30)  # noqa: B023
            os.kill(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("migrated_url", ["postgresql"], indirect=True)
async def test_of_two_servers_one_leads_and_the_other_follows_it(migrated_url: str, tmp_path: Path) -> None:
    """On PostgreSQL: an SQLite file belongs to one server."""
    ports = Ports()
    settings = Settings(lease_seconds=0.6)
    async with AsyncExitStack() as stack:
        first_stack = await stack.enter_async_context(AsyncExitStack())
        contexts: list[Context] = []
        for name, held in (("a", first_stack), ("b", stack)):
            db = await open_database(migrated_url, ports)
            stack.push_async_callback(db.close)
            (tmp_path / name).mkdir()
            contexts.append(await held.enter_async_context(working(settings, ports, db, tmp_path / name)))
            await _until_known(contexts[0])
        first, second = contexts
        await _until_known(second)
        assert [_leads(each) for each in contexts] == [True, False]
        assert first.published.newer(-1, -1, -1) == second.published.newer(-1, -1, -1)
        await first_stack.aclose()
        async with asyncio.timeout(20):
            while not _leads(second):
                await asyncio.sleep(0.05)


def _leads(context: Context) -> bool:
    assert isinstance(context.published, Publisher)
    return context.published.epoch is not None


async def _until_known(context: Context) -> None:
    """Its routes have been published, by itself or by the server it follows."""
    async with asyncio.timeout(20):
        while (reply := context.published.newer(-1, -1, -1)) is None or reply.models_revision == 0:
            await asyncio.sleep(0.05)
