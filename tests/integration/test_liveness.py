"""Engines that accept requests and never answer: an idle one is found by a probe, a busy one by its silence."""

import sys
from pathlib import Path

import httpx
import pytest

from gpustack_lite.wire import GatewayOrders
from tests.fakes.gateway_world import World, route, until
from tests.fakes.scripted_engine import Request, Talk, chat
from tests.harness import Document, Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
ENGINE = Path(__file__).parents[1] / "fakes" / "hanging_engine.py"


async def silent(_: Request, talk: Talk) -> None:
    await talk.until_gone()


def judged(world: World) -> set[tuple[int, str]]:
    """What the newest status calls stuck."""
    return {(each.instance_id, each.said.code) for each in world.server.statuses[-1].stuck}


async def test_an_idle_engine_that_answers_no_more_is_found_by_a_probe(tmp_path: Path) -> None:
    async with World(tmp_path, probe_seconds=0.3, probe_deadline_seconds=1.0) as world:
        world.server.orders = GatewayOrders(is_prober=True)
        await world.server.publish((route("tiny", world.engine.address, paths=("/v1/chat/completions",)),))
        await until(lambda: len(world.engine.requests) >= 2)
        assert {each.json["max_tokens"] for each in world.engine.requests} == {1}
        assert not judged(world)
        world.engine.script = silent
        await until(lambda: judged(world) == {(world.engine.port, "engine_unanswering")})
        world.engine.script = chat
        await until(lambda: not judged(world))
        request_id = (await world.chat()).headers["x-request-id"]
        await world.row(request_id)
        assert set(world.server.rows) == {request_id}, "a probe is nobody's request"


async def test_a_busy_engine_is_judged_by_its_silence_and_others_are_chosen(tmp_path: Path) -> None:
    async with World(tmp_path, probe_deadline_seconds=1.0) as world:
        assert (await world.chat()).status_code == 200
        world.engine.script = silent
        with pytest.raises(httpx.ReadTimeout):
            await world.client.post("/v1/chat/completions", json=world.body(max_tokens=1), timeout=6)
        await world.server.until(lambda: any(each.stuck for each in world.server.statuses))
        said = next(each.stuck[0] for each in world.server.statuses if each.stuck)
        assert (said.instance_id, said.said.code) == (world.engine.port, "engine_silent")


def test_a_stuck_engine_is_drained_and_started_again_once(tmp_path: Path) -> None:
    """The whole way: probe, verdict, route, Assignment, a new attempt that serves."""
    hangs = tmp_path / "hangs"
    quick = {"PROBE_SECONDS": "0.5", "PROBE_DEADLINE_SECONDS": "2", "RESTART_BACKOFF_SECONDS": "0.5"}
    with Platform(tmp_path, env={f"GPUSTACK_LITE_{name}": value for name, value in quick.items()}) as platform:
        command = [sys.executable, str(ENGINE), "--port", "{port}", "--hangs", str(hangs)]
        claim = {"ram_bytes": 50_000_000}
        spec: Document = {"name": "hanging", "command": command, "device_kinds": ["cpu"], "claim": claim}
        spec["paths"] = ["/v1/chat/completions"]
        assert platform.api.post("/api/v1/backends", json=spec).status_code == 201
        platform.deploy("m", backend="hanging")
        platform.wait_ready("m")
        headers = {"Authorization": f"Bearer {platform.key()}"}
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

        def chat_status() -> int:
            return httpx.post(
                f"{platform.url}/v1/chat/completions", json=body, headers=headers, timeout=30, trust_env=False
            ).status_code

        assert chat_status() == 200
        hangs.touch()
        platform.until(lambda: _attempt(platform) == 2 and platform.model("m")["state"] == "ready", seconds=60)
        platform.until(lambda: chat_status() == 200, seconds=20)
        told = [each for each in _events(platform) if each["code"] in {"engine_unanswering", "engine_stuck"}]
        assert [each["to_state"] for each in told] == ["unhealthy", "failed"]
        assert all(str(each["message"]) for each in told)
        assert _attempt(platform) == 2


def _attempt(platform: Platform) -> int:
    return int(platform.instances("m")[0]["attempt"])


def _events(platform: Platform) -> list[Document]:
    found: list[Document] = platform.api.get("/api/v1/events?limit=200").json()["items"]
    return sorted(found, key=lambda each: int(each["id"]))
