"""Mixed load at a fixed rate through a real gateway: is its memory flat, and does it give its descriptors back?

`python -m benchmarks.soak [--minutes 30 --rate 40]`; exit code 1 when one of the two does not hold.
"""

import argparse
import asyncio
import logging
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx

from tests.fakes.gateway_world import World
from tests.fakes.scripted_engine import DONE, SSE_HEAD, Request, Talk, chat, chunk, frame

SAMPLE_SECONDS = 2.0
WARM_UP = 0.2
"""Of the whole time; what the interpreter and its pools take once is not a leak."""
QUIET_SECONDS = 45.0
"""Longer than an idle connection lives on either side."""
MOST_GROWTH = 0.05
MOST_MORE_DESCRIPTORS = 4
KINDS = ("stream",) * 8 + ("plain",) * 6 + ("embeddings",) * 3 + ("leaves", "large", "broken", "unknown", "stranger")
EXPECTED = {"broken": "broken", "leaves": "left", "unknown": "404", "stranger": "401"}


async def script(request: Request, talk: Talk) -> None:
    """A stream of twenty words in 0.4 s; a plain answer; or a stream that breaks off, for whoever asks so."""
    body = request.json
    if not body.get("stream"):
        await chat(request, talk)
        return
    await talk.send(SSE_HEAD)
    await talk.events(*(frame(f"word {number} ") for number in range(20)), pause=0.02)
    if body.get("user") == "broken":
        await talk.close()
        return
    await talk.send(b"".join(map(chunk, (frame(finish="stop"), DONE))) + b"0\r\n\r\n")


class Soak:
    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self._random = random.Random(1)
        self._tasks: set[asyncio.Task[None]] = set()

    async def load(self, seconds: float, rate: float) -> None:
        """Requests begin at their time, whatever became of those before them."""
        began = time.monotonic()
        for number in range(int(seconds * rate)):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            task = asyncio.create_task(self._one(self._random.choice(KINDS)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if number % 500 == 0:
                self.world.engine.forget()
                self.world.server.deliveries.clear()
        await asyncio.gather(*self._tasks)

    async def _one(self, kind: str) -> None:
        leaves_after = self._random.uniform(0.02, 0.3) if kind == "leaves" else None
        try:
            async with asyncio.timeout(leaves_after):
                answer = await self._ask(kind)
                self.outcomes[kind, str(answer.status_code)] += 1
        except TimeoutError:
            self.outcomes[kind, "left"] += 1
        except httpx.HTTPError as error:
            self.outcomes[kind, "broken" if kind == "broken" else type(error).__name__] += 1

    async def _ask(self, kind: str) -> httpx.Response:
        path = "/v1/embeddings" if kind == "embeddings" else "/v1/chat/completions"
        body = self.world.body(model="nobody" if kind == "unknown" else "tiny")
        if kind in {"stream", "leaves", "broken"}:
            body |= {"stream": True, "user": kind}
        if kind == "large":
            body["user"] = "x" * 1_000_000
        headers = {"Authorization": "Bearer nobody's"} if kind == "stranger" else {}
        return await self.world.client.post(path, json=body, headers=headers)

    @property
    def unexpected(self) -> dict[str, int]:
        found = {(kind, how): count for (kind, how), count in self.outcomes.items() if how != EXPECTED.get(kind, "200")}
        return {f"{kind}: {how}": count for (kind, how), count in found.items()}


def rss_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


async def sample(pid: int, found: list[tuple[float, float, int]]) -> None:
    began = time.monotonic()
    while True:
        found.append((time.monotonic() - began, rss_mb(pid), descriptors(pid)))
        await asyncio.sleep(SAMPLE_SECONDS)


async def run(minutes: float, rate: float) -> bool:
    seconds = minutes * 60
    with tempfile.TemporaryDirectory() as folder:
        async with World(Path(folder)) as world:
            world.engine.script = script
            pid, samples, soak = world.gateway.pid, list[tuple[float, float, int]](), Soak(world)
            await soak.load(5, rate)
            await asyncio.sleep(QUIET_SECONDS)
            idle = descriptors(pid)
            sampling = asyncio.create_task(sample(pid, samples))
            await soak.load(seconds, rate)
            sampling.cancel()
            await asyncio.sleep(QUIET_SECONDS)
            return report(soak, samples, minutes=minutes, rate=rate, idle=idle, after=descriptors(pid))


def report(
    soak: Soak, samples: list[tuple[float, float, int]], *, minutes: float, rate: float, idle: int, after: int
) -> bool:
    ends = samples[-1][0]
    window = max(SAMPLE_SECONDS * 3, ends / 10)
    warm = statistics.median(rss for at, rss, _ in samples if WARM_UP * ends <= at < WARM_UP * ends + window)
    last = statistics.median(rss for at, rss, _ in samples if at >= ends - window)
    growth = last / warm - 1
    is_flat, is_clean = growth <= MOST_GROWTH, after <= idle + MOST_MORE_DESCRIPTORS
    rows = len(soak.world.server.rows)
    print(f"{sum(soak.outcomes.values())} requests in {minutes:g} minutes at {rate:g}/s, {rows} rows delivered")
    print(f"unexpected answers: {soak.unexpected or 'none'}")
    print(f"memory {warm:.1f} MB after the warm-up, {last:.1f} MB at the end ({growth:+.1%})")
    print(f"descriptors {idle} idle before, at most {max(each[2] for each in samples)}, {after} idle after")
    print(f"{'pass' if is_flat else 'FAIL'}: memory flat within {MOST_GROWTH:.0%}")
    print(f"{'pass' if is_clean else 'FAIL'}: no descriptor leak")
    return is_flat and is_clean


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=40)
    given = parser.parse_args()
    logging.disable()  # the fake server's last words, when it is ended in the middle of a poll
    sys.exit(0 if asyncio.run(run(given.minutes, given.rate)) else 1)
