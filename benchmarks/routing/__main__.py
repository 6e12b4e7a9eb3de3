"""Learned balance against least-in-flight and round robin, on two real llama.cpp servers with a small real model.

`python -m benchmarks.routing [--rounds 3] [--only NAME]`. Each round runs every policy once, in an order that changes,
on questions of the same sizes and other words, so that nobody finds another's prompts in a cache. A slow replica is
stopped and continued by signals, ten times a second.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.routing.engines import Engine, Throttle, engines
from benchmarks.routing.policies import POLICIES, Asked, Policy
from benchmarks.routing.scenarios import SCENARIOS, Scenario, questions
from gpustack_lite.gateway.balance import Observation
from tests.harness import Platform

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Measured:
    first_seconds: float
    seconds: float
    replica: int


class Run:
    """One policy answers all questions of one scenario."""

    def __init__(self, scenario: Scenario, policy: Policy, both: list[Engine], seed: str) -> None:
        self._scenario = scenario
        self._policy = policy
        self._engines = both
        self._seed = seed
        self._asked = 0
        self._throttles = [Throttle(each.pid) for each in both]
        self.measured: list[Measured] = []

    async def __call__(self) -> list[Measured]:
        users = questions(self._scenario, self._seed)
        try:
            await asyncio.gather(*(self._ask_all(user, asked) for user, asked in enumerate(users)))
        finally:
            for throttle in self._throttles:
                await throttle.stop()
        return self.measured

    async def _ask_all(self, user: int, asked: list[Asked]) -> None:
        thinks = random.Random(f"{self._seed} {user}")
        for each in asked:
            for at, throttle in enumerate(self._throttles):
                throttle.speed = self._scenario.speed(at, self._asked)
            self._asked += 1
            await self._ask(each)
            await asyncio.sleep(thinks.uniform(0.0, 2.0) * self._scenario.think_seconds)

    async def _ask(self, asked: Asked) -> None:
        replica, flight = self._policy.begin(asked)
        seen = Observation(0.0, is_answered=False, is_alive=False)
        try:
            seen = await self._engines[replica].ask(asked.body)
        finally:
            self._policy.end(replica, flight, seen)
        self.measured.append(Measured(seen.first_seconds or seen.seconds, seen.seconds, replica))


# --- what came of it


def ratio_with_interval(
    ours: list[float], theirs: list[float], of: Callable[[list[float]], float]
) -> tuple[float, float, float]:
    """Ours by theirs, and the middle 95 % of the same over samples drawn again from both."""
    rng = random.Random(1)
    drawn = sorted(
        of(rng.choices(ours, k=len(ours))) / of(rng.choices(theirs, k=len(theirs))) for _ in range(RESAMPLES)
    )
    return of(ours) / of(theirs), drawn[round(0.025 * RESAMPLES)], drawn[round(0.975 * RESAMPLES) - 1]


def table(scenario: Scenario, measured: dict[str, list[Measured]]) -> list[str]:
    lines = []
    ours = measured["learned"]
    for name, theirs in measured.items():
        firsts, wholes = [each.first_seconds for each in theirs], [each.seconds for each in theirs]
        told = f"| {scenario.name} | {name} | {statistics.median(firsts):.2f} | {statistics.mean(wholes):.2f} |"
        if name != "learned":
            first = ratio_with_interval([each.first_seconds for each in ours], firsts, statistics.median)
            whole = ratio_with_interval([each.seconds for each in ours], wholes, statistics.mean)
            told += " {:.2f} ({:.2f} to {:.2f}) | {:.2f} ({:.2f} to {:.2f}) |".format(*first, *whole)
        else:
            told += f" | {scenario.expectation} |"
        lines.append(told)
    return lines


async def measure(scenario: Scenario, both: list[Engine], rounds: int) -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {name: [] for name, _ in POLICIES}
    for number in range(rounds):
        shift = number % len(POLICIES)
        for name, make in (*POLICIES[shift:], *POLICIES[:shift]):
            seen = await Run(scenario, make(2, time.monotonic), both, f"{scenario.name} {number} {name}")()
            found[name] += seen
            split = Counter(each.replica for each in seen)
            print(f"  {scenario.name}: {number + 1} of {rounds}, {name}: {split[0]} and {split[1]}", file=sys.stderr)
    return found


async def main(rounds: int, only: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder, Platform(Path(folder)) as platform:
        both = engines(platform)
        for each in both:
            await each.warm_up()
        print("| scenario | policy | TTFT p50 s | mean s | learned / it: TTFT p50 (95 %) | learned / it: mean (95 %) |")
        print("|---|---|---|---|---|---|")
        for scenario in [each for each in SCENARIOS if only in {None, each.name}]:
            print("\n".join(table(scenario, await measure(scenario, both, rounds))), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[each.name for each in SCENARIOS])
    given = parser.parse_args()
    asyncio.run(main(given.rounds, given.only))
