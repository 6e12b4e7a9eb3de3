"""A real gateway process between a fake server and scripted engines, for integration tests."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from gpustack_lite.wire import Endpoint, ModelRoute
from tests.fakes.route_server import TOKEN, RouteServer, credential
from tests.fakes.scripted_engine import ScriptedEngine

ROOT = Path(__file__).parents[2]
KEY = "gpl_a-key-of-the-tests"
ENGINE_KEY = "engine-key"


def route(name: str, *addresses: str, **fields: object) -> ModelRoute:
    """Instance ids are the engines' ports."""
    endpoints = tuple(
        Endpoint(instance_id=int(each.rpartition(":")[2]), address=each, engine_key=ENGINE_KEY, served_name=name)
        for each in addresses
    )
    return ModelRoute(**{"id": 1, "name": name, "created": 1, "state": "ready", "endpoints": endpoints, **fields})


class Gateway:
    """The process on a socket of its own, which outlives it as the supervisor's does. Two may share a folder."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.data_dir = folder / "data"
        (self.data_dir / "run").mkdir(parents=True, exist_ok=True)
        (self.data_dir / "run" / "gateway_token").write_text(TOKEN)
        self.socket_path = self.data_dir / "run" / "server.sock"
        self._settings = {f"GPUSTACK_LITE_{name.upper()}": str(value) for name, value in settings.items()}
        self._log = folder / "gateway.log"
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    async def start(self) -> None:
        descriptor = self._listener.fileno()
        argv = [sys.executable, str(ROOT / "tests/fakes/gateway_run.py"), str(descriptor)]
        with self._log.open("ab") as output:
            self.process = subprocess.Popen(
                [*argv, str(self.socket_path), str(self.data_dir)],
                env={**os.environ, **self._settings, "PYTHONPATH": str(ROOT)},
                pass_fds=[descriptor],
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        async with asyncio.timeout(60), httpx.AsyncClient(trust_env=False) as client:
            while (await client.get(f"{self.url}/healthz", timeout=60)).status_code != 200:
                await asyncio.sleep(0.02)

    async def end(self, signum: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(signum)
        return await self.wait()

    async def wait(self) -> int:
        assert self.process is not None
        process, self.process = self.process, None
        async with asyncio.timeout(60):
            while process.poll() is None:
                await asyncio.sleep(0.01)
        return int(process.returncode)

    async def stop(self) -> None:
        if self.process is not None:
            await self.end(signal.SIGKILL)
        self._listener.close()

    @property
    def log(self) -> str:
        return self._log.read_text()


class World:
    """`async with World(tmp_path) as world:` has a gateway that knows one model, `tiny`, on one engine, and one key."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.gateway = Gateway(folder, **settings)
        self.server = RouteServer(self.gateway.socket_path)
        self.engine = ScriptedEngine()
        self.client = httpx.AsyncClient(
            base_url=self.gateway.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=30
        )

    async def __aenter__(self) -> "World":
        await self.engine.__aenter__()
        await self.server.start()
        await self.gateway.start()
        await self.reset()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()
        await self.gateway.stop()
        await self.server.stop()
        await self.engine.__aexit__(kind, error, trace)

    async def reset(self) -> None:
        await self.server.publish(
            (route("tiny", self.engine.address),), (credential(KEY), credential(READER, id=2, scopes=("read",)))
        )

    # --- asking

    def body(self, *, model: str = "tiny", **more: object) -> dict[str, object]:
        return {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}

    async def chat(self, **more: object) -> httpx.Response:
        return await self.client.post("/v1/chat/completions", json=self.body(**more))

    async def raw(self, request: bytes, *, until: bytes | None = None) -> bytes:
        """What comes back for these bytes until the gateway closes, or until a text has come."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.gateway.port)
        writer.write(request)
        received = b""
        async with asyncio.timeout(20):
            while (until is None or until not in received) and (data := await reader.read(65536)):
                received += data
        writer.close()
        return received

    def raw_chat(self, *, close: bool = True, **more: object) -> bytes:
        return self.raw_post("/v1/chat/completions", json.dumps(self.body(**more)).encode(), close=close)

    def raw_post(self, path: str, body: bytes, *, close: bool = True) -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n" + ("Connection: close\r\n" if close else "")
        return head.encode() + b"\r\n" + body

    async def stream_bytes(self, **more: object) -> bytes:
        """The body of a streamed chat, as the client gets it."""
        async with self.client.stream("POST", "/v1/chat/completions", json=self.body(stream=True, **more)) as answer:
            return b"".join([piece async for piece in answer.aiter_raw()])

    # --- knowing

    async def row(self, request_id: str) -> Any:
        await self.server.until(lambda: request_id in self.server.rows)
        return self.server.rows[request_id]

    async def row_of(self, answer: httpx.Response) -> Any:
        return await self.row(answer.headers["x-request-id"])

    async def metric(self, name: str) -> float:
        headers = {"Authorization": f"Bearer {READER}"}
        text = (await self.client.get("/metrics", headers=headers)).text
        lines = [line for line in text.splitlines() if line.startswith(f"gpustack_lite_{name} ")]
        return float(lines[0].split()[1])


READER = "gpl_a-key-that-reads"


async def until(condition: Any, seconds: float = 20) -> None:
    """Poll a condition, plain or awaitable, until it holds."""
    ends_at = time.monotonic() + seconds
    while True:
        held = condition()
        if asyncio.iscoroutine(held):
            held = await held
        if held:
            return
        assert time.monotonic() < ends_at, "not in time"
        await asyncio.sleep(0.01)


def events(body: bytes) -> list[Any]:
    """The JSON documents of a stream's data events; [DONE] stays a text."""
    datas = [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: ")]
    return [data if data == "[DONE]" else json.loads(data) for data in datas]
