"""How many replicas a load needs. What lasts decides, not what peaks: one more soon, one fewer late."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from gpustack_lite.wire import Autoscale, Serving

LOOKS = 60
"""Of one window; more are not kept."""
HEADROOM = 0.8
"""Fewer replicas must carry the load with a fifth to spare, so that the end of one is no reason for its return."""
FALLBACK_LOAD = 8.0
"""Requests that a replica carries where neither a wish nor the engine says."""


class Load(NamedTuple):
    """Requests of one model at one moment, at all gateways."""

    in_flight: int
    queued: int

    @property
    def total(self) -> int:
        return self.in_flight + self.queued


class Look(NamedTuple):
    at: float
    load: Load


@dataclass(frozen=True, slots=True)
class Watched:
    """What was seen of a model since its replicas last changed in number, or since somebody could not be heard."""

    since: float
    looks: tuple[Look, ...] = ()
    low_since: float | None = None
    """From when on fewer replicas would have done."""
    low_most: int = 0
    """The most that were needed meanwhile."""


class Decision(NamedTuple):
    """`load` is the typical one of the window, `seconds` how long it lasted."""

    replicas: int
    load: Load
    seconds: float


def carried(rule: Autoscale, serving: Serving, slots: int | None) -> float:
    """How many requests one replica should have: what was wished, else the engine's slots."""
    return rule.in_flight_per_replica or float(serving.in_flight_per_replica or slots or FALLBACK_LOAD)


def bounded(rule: Autoscale, replicas: int) -> int:
    return max(rule.min, min(rule.max, replicas))


def needed(rule: Autoscale, load: Load, each: float) -> int:
    return bounded(rule, math.ceil(load.total / each))


def look(
    watched: Watched, rule: Autoscale, replicas: int, each: float, now: Look, *, may_grow: bool = True
) -> tuple[Watched, Decision | None]:
    """`each` is what one replica carries; after a decision the windows begin anew. `may_grow` is False without room."""
    seen = _remembered(watched, rule, now)
    typical = _typical(seen.looks)
    more = needed(rule, typical, each)
    if more > replicas and may_grow and now.at - seen.since >= rule.up_seconds:
        return Watched(now.at), Decision(more, typical, rule.up_seconds)
    seen = _lowered(seen, needed(rule, typical, each * HEADROOM), replicas, now.at)
    if seen.low_since is not None and now.at - seen.low_since >= rule.down_seconds:
        return Watched(now.at), Decision(seen.low_most, typical, rule.down_seconds)
    return seen, None


def _remembered(watched: Watched, rule: Autoscale, now: Look) -> Watched:
    """With the new look, unless the last one is too young for a window of so many looks."""
    kept = tuple([each for each in watched.looks if now.at - each.at <= rule.up_seconds])
    is_early = bool(kept) and now.at - kept[-1].at < rule.up_seconds / LOOKS
    looks = kept if is_early else (*kept, now)
    return Watched(watched.since, looks, watched.low_since, watched.low_most)


def _typical(looks: tuple[Look, ...]) -> Load:
    """The median: half of the looks saw at least so much, and a peak of a moment is none of them."""
    return sorted([each.load for each in looks], key=lambda load: load.total)[(len(looks) - 1) // 2]


def _lowered(seen: Watched, enough: int, replicas: int, at: float) -> Watched:
    if enough >= replicas:
        return Watched(seen.since, seen.looks)
    if seen.low_since is None:
        return Watched(seen.since, seen.looks, at, enough)
    return Watched(seen.since, seen.looks, seen.low_since, max(seen.low_most, enough))
