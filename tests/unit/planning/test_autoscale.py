"""How many replicas follow a load, told second by second."""

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from gpustack_lite.planning.autoscale import Load, Look, Watched, bounded, carried, look, needed
from gpustack_lite.wire import Autoscale, Serving

RULE = Autoscale(min=1, max=4)
Change = tuple[float, int]


def followed(
    loads: Sequence[int], rule: Autoscale = RULE, *, each: float = 4, replicas: int = 1, may_grow: bool = True
) -> list[Change]:
    """A look a second; the changes with their times."""
    watched, changes = Watched(0.0), []
    for second, load in enumerate(loads):
        now = Look(float(second), Load(load, 0))
        watched, decision = look(watched, rule, replicas, each, now, may_grow=may_grow)
        if decision is not None:
            replicas = decision.replicas
            changes.append((now.at, replicas))
    return changes


@pytest.mark.parametrize(
    ("loads", "replicas", "expected"),
    [
        pytest.param([4] * 1000, 1, [], id="what one carries needs one"),
        pytest.param([5] * 1000, 1, [(30, 2)], id="more than one carries, for 30 s"),
        pytest.param([15] * 1000, 1, [(30, 4)], id="as many as the load needs, at once"),
        pytest.param([100] * 1000, 1, [(30, 4)], id="never more than the most"),
        pytest.param([0] * 1000, 4, [(300, 1)], id="never fewer than the least"),
        pytest.param([7] * 1000, 3, [], id="two would do, but not with a fifth to spare"),
        pytest.param([6] * 1000, 3, [(300, 2)], id="two do with a fifth to spare"),
        pytest.param([2] * 40 + [100] * 5 + [2] * 500, 1, [], id="a peak of five seconds is none"),
        pytest.param([9, 1, 1] * 300, 1, [], id="high for a third of the time is not high"),
        pytest.param(([0] * 270 + [12] * 60) * 3, 3, [], id="low, but never for 300 s"),
        pytest.param([0] * 150 + [6] * 1000, 3, [(300, 2)], id="the most that was needed meanwhile counts"),
    ],
)
def test_the_replicas_follow_what_lasts(loads: list[int], replicas: int, expected: list[Change]) -> None:
    assert followed(loads, replicas=replicas) == expected


def test_without_room_there_are_no_more_that_wait_for_it() -> None:
    assert followed([15] * 100, may_grow=False) == []


def test_a_decision_says_the_load_that_lasted_and_for_how_long() -> None:
    watched, decision = Watched(0.0), None
    for second in range(31):
        queued = 300 if second == 7 else 3
        watched, decision = look(watched, RULE, 2, 5, Look(float(second), Load(10, queued)))
    assert decision is not None
    assert (decision.replicas, decision.load, decision.seconds) == (3, Load(10, 3), 30)


def test_a_replica_carries_what_was_wished_else_its_engines_slots() -> None:
    wished = Autoscale(min=1, max=2, in_flight_per_replica=2.5)
    assert carried(wished, Serving(in_flight_per_replica=9), 4) == 2.5
    assert carried(RULE, Serving(in_flight_per_replica=9), 4) == 9
    assert carried(RULE, Serving(), 4) == 4
    assert carried(RULE, Serving(), None) == 8


def test_a_long_window_keeps_a_bounded_number_of_looks() -> None:
    rule, watched = Autoscale(min=1, max=4, up_seconds=3600), Watched(0.0)
    for second in range(3600):
        watched, _ = look(watched, rule, 1, 4, Look(float(second), Load(1, 0)))
    assert len(watched.looks) <= 61


def random_rule(chance: random.Random) -> Autoscale:
    least = chance.randint(1, 5)
    up = float(chance.choice([1, 5, 30, 90]))
    return Autoscale(min=least, max=least + chance.randint(0, 8), up_seconds=up, down_seconds=up * chance.randint(1, 6))


CURVES: tuple[Callable[[random.Random, int], list[int]], ...] = (
    lambda chance, count: [chance.randint(0, 60) for _ in range(count)],
    lambda chance, count: [60 if (second // chance.randint(1, 90)) % 2 else 0 for second in range(count)],
    lambda chance, count: [second * 80 // count for second in range(count)],
    lambda chance, count: [max(0, int(chance.gauss(25, 12))) for _ in range(count)],
)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_load_does_the_replicas_stay_in_bounds_and_do_not_flap(seed: int) -> None:
    chance = random.Random(seed)
    rule = random_rule(chance)
    start = bounded(rule, chance.randint(0, 20))
    curve = CURVES[seed % len(CURVES)](chance, 1500)
    changes = [(0.0, start), *followed(curve, rule, each=chance.uniform(0.5, 9), replicas=start)]
    assert all(rule.min <= count <= rule.max for _, count in changes)
    for (before, old), (after, new) in pairwise(changes):
        assert new != old
        assert after - before >= (rule.up_seconds if new > old else rule.down_seconds)


@pytest.mark.parametrize("seed", range(40))
def test_a_steady_load_is_answered_once_and_then_nothing_changes(seed: int) -> None:
    chance = random.Random(seed)
    rule, load, each = random_rule(chance), chance.randint(0, 70), chance.uniform(0.5, 9)
    start = bounded(rule, chance.randint(0, 20))
    changes = followed([load] * 2500, rule, each=each, replicas=start)
    assert len(changes) <= 1
    assert (changes[-1][1] if changes else start) >= needed(rule, Load(load, 0), each)
