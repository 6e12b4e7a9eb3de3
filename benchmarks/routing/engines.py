"""Two real engines as the platform starts them, asked directly, and made slow at will."""

import asyncio
import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass

import httpx

from gpustack_lite.gateway import tokens
from gpustack_lite.gateway.balance import Observation
from tests.fakes.smollm import smollm_path
from tests.harness import Document, Platform
from worker.adoption import Record

NAME = "m"
OPTIONS = {"max-model-len": 4096, "threads": 1, "parallel": 4}
PERIOD_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Engine:
    port: int
    pid: int
    key: str

    async def ask(self, body: bytes) -> Observation:
        """Streamed, to its end."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        began, first, usage = time.monotonic(), None, None
        async with httpx.AsyncClient(trust_env=False, timeout=300) as client:
            url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
            async with client.stream("POST", url, content=body, headers=headers) as answer:
                assert answer.status_code == 200, await answer.aread()
                async for line in answer.aiter_lines():
                    if first is None and '"content":"' in line:
                        first = time.monotonic() - began
                    if '"usage"' in line and (found := tokens.frame(line.removeprefix("data: ").encode())):
                        usage = tokens.of_frame(found) or usage
        seconds = time.monotonic() - began
        assert usage is not None
        return Observation(seconds, first or seconds, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)

    async def warm_up(self) -> None:
        body = {"model": NAME, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "stream": True}
        await self.ask(json.dumps(body | {"stream_options": {"include_usage": True}}).encode())


def engines(platform: Platform) -> list[Engine]:
    platform.deploy(NAME, source=str(smollm_path()), options=OPTIONS, replicas=2)
    platform.until(lambda: platform.model(NAME)["ready_replicas"] == 2, seconds=240)
    return [_engine(platform, each) for each in platform.instances(NAME)]


def _engine(platform: Platform, instance: Document) -> Engine:
    """Its key is in the worker's record of it."""
    records = (platform.data_dir / "worker").rglob("*.json")
    found = [_record(each.read_text()) for each in records]
    key = next(each.instance.engine_key for each in found if each is not None and each.instance.id == instance["id"])
    return Engine(int(instance["port"]), int(instance["pid"]), key)


def _record(text: str) -> Record | None:
    with contextlib.suppress(ValueError):
        return Record.model_validate_json(text)
    return None


class Throttle:
    """Lets a process run for a part of each tenth of a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.speed = 1.0
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        try:
            while True:
                if self.speed < 1.0:
                    os.kill(self._pid, signal.SIGSTOP)
                    await asyncio.sleep(PERIOD_SECONDS * (1.0 - self.speed))
                    os.kill(self._pid, signal.SIGCONT)
                await asyncio.sleep(PERIOD_SECONDS * self.speed)
        finally:
            os.kill(self._pid, signal.SIGCONT)

    async def stop(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
