"""The gateway beside the engine it stands before: requests, streams and added delay, interleaved, as ratios.

`python benchmarks/gateway.py` starts a mock engine and a real gateway process; read ratios, not rates.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.fakes.gateway_world import KEY, World, route

WORD = b'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
ANSWER = b'{"id":"1","choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}'
CHUNKS = 100
CHUNK_SECONDS = 0.01


class Engine(asyncio.Protocol):
    """Answers at once, or streams CHUNKS words with CHUNK_SECONDS between them."""

    tasks: ClassVar[set[asyncio.Task[None]]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if b'"stream":true' in data:
            task = asyncio.create_task(self._stream())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif b"{" in data:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            self.transport.write(head % len(ANSWER) + ANSWER)

    async def _stream(self) -> None:
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(CHUNKS):
            self.transport.write(b"%x\r\n%s\r\n" % (len(WORD), WORD))
            await asyncio.sleep(CHUNK_SECONDS)
        self.transport.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


async def be_engine() -> None:
    server = await asyncio.get_running_loop().create_server(Engine, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def request(*, is_stream: bool) -> bytes:
    body = json.dumps(
        {"model": "tiny", "messages": [{"role": "user", "content": "x" * 500}], "stream": is_stream},
        separators=(",", ":"),
    )
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@dataclass(frozen=True)
class Load:
    """One round: how many connections, and what each of them does."""

    connections: int
    requests: int

    async def per_second(self, port: int) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(self._ask(port) for _ in range(self.connections)))
        return self.connections * self.requests / (time.perf_counter() - started)

    async def _ask(self, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(self.requests):
            writer.write(request(is_stream=False))
            await reader.readuntil(b'"completion_tokens":1}}')
        writer.close()

    async def chunks_per_second(self, port: int) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(_first_chunk(port) for _ in range(self.connections)))
        return self.connections * CHUNKS / (time.perf_counter() - started)

    async def ttft_ms(self, port: int) -> float:
        return statistics.median(await asyncio.gather(*(_first_chunk(port) for _ in range(self.connections)))) * 1000


async def _first_chunk(port: int) -> float:
    """Seconds to the first word of a stream that is read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    started = time.perf_counter()
    writer.write(request(is_stream=True))
    await reader.readuntil(b"word")
    first = time.perf_counter() - started
    await reader.readuntil(b"0\r\n\r\n")
    writer.close()
    return first


Measure = Callable[[int], Awaitable[float]]


async def compare(rounds: int, world: World, engine_port: int) -> dict[str, dict[str, float]]:
    measures: dict[str, Measure] = {
        "requests_per_second_32_connections": Load(32, 40).per_second,
        "requests_per_second_1_connection": Load(1, 300).per_second,
        "chunks_per_second_200_streams": Load(200, 1).chunks_per_second,
        "ttft_ms_50_streams": Load(50, 1).ttft_ms,
    }
    figures: dict[str, dict[str, float]] = {}
    for name, measure in measures.items():
        await measure(world.gateway.port)  # warm
        pairs = [(await measure(engine_port), await measure(world.gateway.port)) for _ in range(rounds)]
        direct, through = (statistics.median(each) for each in zip(*pairs, strict=True))
        figures[name] = {"direct": direct, "gateway": through, "ratio": statistics.median(b / a for a, b in pairs)}
    one = figures["requests_per_second_1_connection"]
    one["added_ms"] = 1000 / one["gateway"] - 1000 / one["direct"]
    figures["gateway_cpu_us"] = {
        "per_request": await cpu_us(world, Load(32, 40).per_second, 32 * 40, rounds),
        "per_chunk": await cpu_us(world, Load(50, 1).chunks_per_second, 50 * CHUNKS, rounds),
    }
    return figures


async def cpu_us(world: World, measure: Measure, units: int, rounds: int) -> float:
    """Processor time of the gateway for one unit: it depends least on what else the machine does."""
    process = psutil.Process(world.gateway.pid)
    spent = []
    for _ in range(rounds):
        before = sum(process.cpu_times()[:2])
        await measure(world.gateway.port)
        spent.append((sum(process.cpu_times()[:2]) - before) / units * 1e6)
    return statistics.median(spent)


async def main(rounds: int) -> None:
    engine = subprocess.Popen([sys.executable, __file__, "--engine"], stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    port = int(engine.stdout.readline())
    try:
        with tempfile.TemporaryDirectory() as folder:
            async with World(Path(folder)) as world:
                await world.server.publish((route("tiny", f"127.0.0.1:{port}"),))
                print(json.dumps(await compare(rounds, world, port), indent=2))
    finally:
        engine.terminate()
        engine.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    uvloop.run(be_engine() if given.engine else main(given.rounds))
