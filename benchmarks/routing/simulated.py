"""The scenarios in a time that passes at once: two engines that work on one request after the other."""

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean, median

from benchmarks.routing.policies import Asked, Policy
from benchmarks.routing.scenarios import Scenario, questions
from gpustack_lite.gateway.balance import Observation

PROMPT_TOKENS_PER_SECOND = 400.0
TOKENS_PER_SECOND = 60.0
BYTES_PER_TOKEN = 4.5
CACHED_PROMPTS = 4
"""The slots of a llama.cpp server: it keeps the prompts that it read last."""


@dataclass
class Engine:
    free_at: float = 0.0
    kept: list[bytes] = field(default_factory=list)

    def cached_bytes(self, body: bytes) -> int:
        return max((_common(body, each) for each in self.kept), default=0)

    def keep(self, body: bytes) -> None:
        self.kept = [*self.kept[-(CACHED_PROMPTS - 1) :], body]


@dataclass(frozen=True)
class Measured:
    first_seconds: float
    seconds: float
    number: int
    replica: int


def _common(one: bytes, other: bytes) -> int:
    """How many bytes they begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def run(
    scenario: Scenario, make: Callable[[int, Callable[[], float]], Policy], seed: str, wavering: float = 0.0
) -> list[Measured]:
    now = 0.0
    engines = [Engine(), Engine()]
    policy = make(2, lambda: now)
    waiting = [iter(each) for each in questions(scenario, seed)]
    events: list[tuple[float, int, Callable[[], None]]] = []
    measured: list[Measured] = []
    order, thinks, noise = 0, random.Random(seed), random.Random(f"{seed} noise")

    def wavers() -> float:
        """A machine that others use too: now and then everything takes twice as long."""
        return math.exp(noise.gauss(0.0, wavering)) if wavering else 1.0

    def ask(user: int) -> None:
        asked = next(waiting[user], None)
        if asked is None:
            return
        replica, flight = policy.begin(asked)
        seen, ended_at = _serve(engines[replica], asked, scenario.speed(replica, len(measured)) * wavers(), now)

        def end() -> None:
            policy.end(replica, flight, seen)
            measured.append(Measured(seen.first_seconds or 0.0, seen.seconds, len(measured), replica))
            push(now + thinks.uniform(0.0, 2.0) * scenario.think_seconds, lambda: ask(user))

        push(ended_at, end)

    def push(at: float, then: Callable[[], None]) -> None:
        nonlocal order
        order += 1
        heapq.heappush(events, (at, order, then))

    for user in range(scenario.users):
        ask(user)
    while events:
        now, _, then = heapq.heappop(events)
        then()
    return measured


def _serve(engine: Engine, asked: Asked, speed: float, now: float) -> tuple[Observation, float]:
    begins = max(now, engine.free_at)
    cached = engine.cached_bytes(asked.body)
    engine.keep(asked.body)
    prompt, kept = round(asked.prompt_bytes / BYTES_PER_TOKEN), round(cached / BYTES_PER_TOKEN)
    first = begins + max(1, prompt - kept) / (PROMPT_TOKENS_PER_SECOND * speed)
    answer = asked.most_tokens or 1
    engine.free_at = first + answer / (TOKENS_PER_SECOND * speed)
    return Observation(engine.free_at - now, first - now, prompt, kept, answer), engine.free_at


def first_p50(measured: list[Measured]) -> float:
    return median(each.first_seconds for each in measured)


def mean_seconds(measured: list[Measured], after: int = 0) -> float:
    """Of whole requests, from the request of this number on."""
    return mean(each.seconds for each in measured if each.number >= after)
