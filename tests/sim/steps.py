"""The steps of a run: a list made from a seed alone, so that any of them can be left out when a failure is shrunk."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ORDINARY: Mapping[str, int] = {
    "create_model": 5,
    "scale_model": 3,
    "edit_model": 1,
    "delete_model": 2,
    "tick": 14,
    "decide": 14,
    "replicas": 6,
    "propose": 8,
    "commit": 8,
    "liveness": 5,
    "release": 8,
    "sync": 16,
    "send_assignment": 10,
    "deliver": 24,
    "act": 12,
    "send_report": 10,
    "load_engine": 14,
    "end_engine": 8,
    "request": 8,
    "send_usage": 5,
    "start_agent": 4,
    "heal": 3,
}
STORY_CHANCE = 0.04
FAULTS: Mapping[str, int] = {
    "duplicate": 6,
    "drop": 4,
    "crash_engine": 8,
    "crash_agent": 2,
    "restart_agent": 6,
    "crash_host": 1,
    "cut": 2,
    "foreign": 3,
    "take_over": 2,
    "restart_server": 1,
    "long_tick": 3,
}


STORIES: tuple[tuple[str, ...], ...] = (
    ("create_model", "create_model", "replicas", "propose", "decide", "commit"),
    ("sync", "crash_engine", "crash_engine", "act", "long_tick", "sync", "restart_agent", "sync"),
    ("sync", "sync", "cut", "long_tick", "liveness", "decide", "decide", "heal", "act", "sync"),
    ("send_report", "decide", "sync", "act", "delete_model", "replicas", "release", "deliver", "sync"),
    ("sync", "load_engine", "delete_model", "replicas", "release", "sync", "create_model", "decide", "sync"),
    ("sync", "crash_agent", "tick", "start_agent", "sync"),
    ("sync", "load_engine", "sync", "request", "request", "send_usage", "drop", "request", "deliver"),
)
"""Short sequences on one worker or model, in which mistakes were seen to hide; chance alone meets them rarely."""


@dataclass(frozen=True, slots=True)
class Step:
    """What happens, and three numbers that choose where: each is taken modulo what there is to choose from."""

    kind: str
    a: int
    b: int
    c: int


def schedule(seed: int, count: int) -> list[Step]:
    """Every kind of fault is off in about half of the seeds, and weights differ: seeds are unlike each other."""
    rng = random.Random(f"steps {seed}")
    weights = {kind: weight * rng.uniform(0.3, 2.0) for kind, weight in ORDINARY.items()}
    weights |= {kind: weight * rng.uniform(0.3, 2.0) for kind, weight in FAULTS.items() if rng.random() < 0.5}
    stories = [story for story in STORIES if weights.keys() >= set(story)]
    kinds, chances = list(weights), list(weights.values())
    steps: list[Step] = []
    while len(steps) < count:
        is_story = stories and rng.random() < STORY_CHANCE
        steps += _story(rng, rng.choice(stories)) if is_story else _story(rng, rng.choices(kinds, chances))
    return steps[:count]


def _story(rng: random.Random, kinds: Sequence[str]) -> list[Step]:
    """All on the same worker; the other choices are free."""
    worker = rng.randrange(1 << 16)
    return [Step(kind, worker, rng.randrange(1 << 16), rng.randrange(1 << 16)) for kind in kinds]


@dataclass(frozen=True, slots=True)
class Setup:
    """The machines of a run: (chip, device count, GiB per device) of each worker."""

    machines: tuple[tuple[str, int, int], ...]


def setup(seed: int) -> Setup:
    rng = random.Random(f"setup {seed}")
    kinds = [("910B3", 64), ("910B4", 32), ("310P", 24), ("H100", 80), ("L4", 24)]
    few = rng.sample(kinds, rng.randint(1, 2))
    return Setup(tuple(_machine(rng, few) for _ in range(rng.randint(1, 4))))


def _machine(rng: random.Random, kinds: list[tuple[str, int]]) -> tuple[str, int, int]:
    chip, gib = rng.choice(kinds)
    return chip, rng.randint(1, 3), gib
