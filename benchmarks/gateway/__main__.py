"""`python -m benchmarks.gateway`: the gateway beside the bare engine, nginx and LiteLLM, as a table in Markdown."""

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.gateway import measures, stand
from benchmarks.gateway.measures import Load, Round, added, median, paired
from benchmarks.gateway.stand import Cores, Target
from tests.fakes.gateway_world import World

Found = dict[str, list[Round]]


@dataclass(frozen=True)
class Asked:
    rounds: int
    seconds: float
    idle_connections: int
    large_body_mb: int
    litellm: Path | None


async def main(asked: Asked) -> None:
    cores = Cores()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as running:
        folder = Path(name)
        engine = running.enter_context(stand.engine(folder, cores))
        load_program = stand.compiled(folder, "load")
        async with stand.gateway(folder, engine, cores) as (ours, world):
            nginx = running.enter_context(stand.nginx(folder, engine, cores))
            targets = [engine, ours] + ([nginx] if nginx else [])
            bench = Bench(asked, folder, cores, load_program, targets, world)
            await bench.run()
            if asked.litellm is not None:
                with stand.litellm(folder, engine, cores, asked.litellm) as slow:
                    await bench.against(slow)
            await bench.single(ours, folder / "engine.log")


@dataclass(frozen=True)
class Bench:
    asked: Asked
    folder: Path
    cores: Cores
    program: Path
    targets: Sequence[Target]
    world: World

    def load(self, shape: str, connections: int, *, is_stream: bool, least_seconds: float = 0.0) -> Load:
        seconds = max(self.asked.seconds, least_seconds)
        return Load(self.program, self.folder, self.cores, shape, connections, seconds, is_stream)

    async def _found(self, load: Load, targets: Sequence[Target], rounds: int) -> Found:
        self.world.server.rows.clear()
        self.world.server.deliveries.clear()
        await load.on(targets[-1])  # warm
        return await measures.in_turn(load, targets, rounds)

    async def run(self) -> None:
        rounds, targets = self.asked.rounds, self.targets
        plain = await self._found(self.load("paced", 32, is_stream=False), targets, rounds)
        single = await self._found(self.load("paced", 1, is_stream=False), targets, rounds)
        paced = await self._found(self.load("paced", 50, is_stream=True), targets, rounds)
        dense = await self._found(self.load("dense", 400, is_stream=True), targets, rounds)
        print(heading())
        for target in targets:
            print(row(target.name, plain, single, paced, dense))
        print(errors([plain, single, paced, dense]))

    async def against(self, slow: Target) -> None:
        """So slow that a few rounds say enough."""
        ours = self.targets[1]
        rounds = min(3, self.asked.rounds)
        plain = await self._found(self.load("paced", 32, is_stream=False, least_seconds=2), [ours, slow], rounds)
        paced = await self._found(self.load("paced", 50, is_stream=True), [self.targets[0], ours, slow], rounds)
        print(f"\n## Beside {slow.name}\n")
        print("| | requests/s | CPU µs per request | added TTFT ms | CPU µs per chunk |\n|---|---|---|---|---|")
        for target in (ours, slow):
            name = target.name
            print(
                f"| {name} | {median(plain[name], 'per_second'):.0f} | {median(plain[name], 'cpu_us'):.0f}"
                f" | {added(paced[name], paced['direct'], 'first_byte_ms'):.2f} | {median(paced[name], 'cpu_us'):.0f} |"
            )
        print(f"\nRequests per second, paired: {paired(plain[ours.name], plain[slow.name], 'per_second'):.0f} x.")
        print(errors([plain, paced]))

    async def single(self, ours: Target, engine_log: Path) -> None:
        body_mb, idle = self.asked.large_body_mb, self.asked.idle_connections
        print("\n## One client at a time\n\n| | |\n|---|---|")
        gone = await measures.ms_until_the_engine_knows(ours, engine_log, 20)
        print(f"| client gone to engine's connection closed, p50 of 20 | {gone:.1f} ms |")
        print(f"| a stalled client on a flood | +{await measures.mb_for_a_stalled_client(ours, 3):.1f} MB |")
        large = [await measures.mb_for_a_large_body(ours, body_mb) for _ in range(3)]
        print(f"| a body of {body_mb} MB, first of three | +{large[0]:.1f} MB |")
        print(f"| {idle} idle connections, whole process | {await self._idle(ours, idle):.0f} MB |", flush=True)

    async def _idle(self, ours: Target, idle: int) -> float:
        return await measures.mb_with_idle_connections(ours, self.world, idle)


def heading() -> str:
    names = [
        "target",
        "32 connections: requests/s",
        "vs nginx, paired",
        "CPU µs per request",
        "1 connection: added ms p50",
        "50 paced streams: CPU µs per chunk",
        "added TTFT ms p50",
        "added delay per chunk ms p50",
        "400 streams x 100/s: chunks/s",
        "vs direct, paired",
    ]
    return "| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|"


def row(name: str, plain: Found, single: Found, paced: Found, dense: Found) -> str:
    is_proxy = name != "direct"
    cells = [
        name,
        f"{median(plain[name], 'per_second'):.0f}",
        f"{paired(plain[name], plain['nginx'], 'per_second'):.2f}" if "nginx" in plain else "",
        f"{median(plain[name], 'cpu_us'):.1f}" if is_proxy else "",
        f"{added(single[name], single['direct'], 'latency_ms'):.3f}" if is_proxy else "",
        f"{median(paced[name], 'cpu_us'):.1f}" if is_proxy else "",
        f"{added(paced[name], paced['direct'], 'first_byte_ms'):.3f}" if is_proxy else "",
        f"{added(paced[name], paced['direct'], 'delay_ms'):.3f}" if is_proxy else "",
        f"{median(dense[name], 'chunks_per_second'):.0f}",
        f"{paired(dense[name], dense['direct'], 'chunks_per_second'):.3f}",
    ]
    return "| " + " | ".join(cells) + " |"


def errors(found: Sequence[Found]) -> str:
    failed = {name: sum(each.errors for part in found for each in part.get(name, [])) for name in found[0]}
    return "\nFailed requests: " + ", ".join(f"{name} {count}" for name, count in failed.items()) + "."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each round")
    parser.add_argument("--idle-connections", type=int, default=9000)
    parser.add_argument("--large-body-mb", type=int, default=20)
    parser.add_argument("--with-litellm", action="store_true", help="beside LiteLLM too; uv makes its environment")
    parser.add_argument("--litellm-venv", type=Path, help="an environment that has litellm[proxy]")
    given = parser.parse_args()
    wants_litellm = given.with_litellm or given.litellm_venv is not None
    venv = stand.litellm_venv(given.litellm_venv) if wants_litellm else None
    uvloop.run(main(Asked(given.rounds, given.seconds, given.idle_connections, given.large_body_mb, venv)))
