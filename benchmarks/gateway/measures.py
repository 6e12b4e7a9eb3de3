"""How it is measured: rounds of load in turn, so that whatever else the machine does falls on all alike."""

import asyncio
import json
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.gateway.stand import Cores, Target
from tests.fakes.gateway_world import World

SYSTEM = {"role": "system", "content": "You are helpful. " * 20}
USER = {"role": "user", "content": "Tell me something about proxies. " * 15}
MB = 1024 * 1024


def body(model: str, *, stream: bool, **more: object) -> bytes:
    """About 1 KB, as a client writes it."""
    asked = {"model": model, "messages": [SYSTEM, USER], "temperature": 0.7, "max_tokens": 64, "stream": stream}
    usage = {"stream_options": {"include_usage": True}} if stream else {}
    return json.dumps({**asked, **usage, **more}, separators=(",", ":")).encode()


class Round(NamedTuple):
    """One target under one load. `cpu_us` is its processor time per answer, or per chunk where there are any."""

    per_second: float
    chunks_per_second: float
    latency_ms: float
    first_byte_ms: float
    delay_ms: float
    cpu_us: float
    errors: int


@dataclass(frozen=True)
class Load:
    """`connections` that ask one shape for streams, or for plain answers, without a pause."""

    program: Path
    folder: Path
    cores: Cores
    shape: str
    connections: int
    seconds: float
    is_stream: bool

    async def on(self, target: Target) -> Round:
        path = self.folder / f"{self.shape}-{self.is_stream}.json"
        path.write_bytes(body(self.shape, stream=self.is_stream))
        argv = [str(self.program), str(target.ports[self.shape]), str(self.connections), str(self.seconds)]
        before = target.cpu_seconds
        load = await asyncio.create_subprocess_exec(*argv, str(path), target.key, "0", stdout=asyncio.subprocess.PIPE)
        os.sched_setaffinity(load.pid, self.cores.others)
        output, _ = await load.communicate()
        spent = target.cpu_seconds - before
        said = json.loads(output)
        units = said["chunks"] if self.is_stream else said["answers"]
        return Round(
            said["per_second"],
            said["chunks_per_second"],
            said["latency_ms"],
            said["first_byte_ms"],
            said["delay_ms"],
            spent / units * 1e6 if units else float("nan"),
            said["errors"],
        )


async def in_turn(load: Load, targets: Sequence[Target], rounds: int) -> dict[str, list[Round]]:
    found: dict[str, list[Round]] = {target.name: [] for target in targets}
    for _ in range(rounds):
        for target in targets:
            found[target.name].append(await load.on(target))
    return found


def median(rounds: Sequence[Round], field: str) -> float:
    return statistics.median(getattr(each, field) for each in rounds)


def paired(rounds: Sequence[Round], others: Sequence[Round], field: str) -> float:
    """The median of the rounds' ratios: what both had to share cancels out."""
    return statistics.median(getattr(a, field) / getattr(b, field) for a, b in zip(rounds, others, strict=False))


def added(rounds: Sequence[Round], others: Sequence[Round], field: str) -> float:
    return statistics.median(getattr(a, field) - getattr(b, field) for a, b in zip(rounds, others, strict=False))


# --- single clients --------------------------------------------------------------------------------------------------


async def ask(target: Target, shape: str, content: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", target.ports[shape], limit=4096)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()
    return reader, writer


async def ms_until_the_engine_knows(target: Target, engine_log: Path, times: int) -> float:
    """From a client's leaving amid a stream to the end of the engine's connection."""
    await asyncio.sleep(1)  # until the streams of other measurements are told of
    return statistics.median([await _leave(target, engine_log) for _ in range(times)])


async def _leave(target: Target, engine_log: Path) -> float:
    known = engine_log.read_text().count("gone")
    reader, writer = await ask(target, "paced", body("paced", stream=True))
    await reader.readuntil(b"data: ")
    left = time.monotonic()
    writer.transport.abort()
    while (log := engine_log.read_text()).count("gone") <= known:
        await asyncio.sleep(0.001)
    return int(log.split("gone ")[-1].split()[0]) / 1000 - left * 1000


async def mb_for_a_stalled_client(target: Target, seconds: float) -> float:
    """A client that reads nothing while the engine would send as fast as it can."""
    before = target.rss_mb
    reader, writer = await ask(target, "flood", body("flood", stream=True))
    await reader.readuntil(b"data: ")
    await asyncio.sleep(seconds)
    grown = target.rss_mb - before
    writer.transport.abort()
    return grown


async def mb_for_a_large_body(target: Target, size_mb: int) -> float:
    """The most that the process grows while one large body passes through."""
    content = body("paced", stream=False, prompt="x" * (size_mb * MB))
    before = most = target.rss_mb
    asking = asyncio.create_task(_answered(target, content))
    while not asking.done():
        most = max(most, target.rss_mb)
        await asyncio.sleep(0.002)
    await asking
    return most - before


async def _answered(target: Target, content: bytes) -> None:
    reader, writer = await ask(target, "paced", content)
    await reader.readuntil(b"completion_tokens")
    writer.close()


async def mb_with_idle_connections(target: Target, world: World, count: int) -> float:
    """The whole process, each connection having been answered once."""
    writers = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", world.gateway.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writers.append(writer)
    total = target.rss_mb
    for writer in writers:
        writer.transport.abort()
    return total
