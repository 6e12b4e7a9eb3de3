"""In simulated time, the direction of what benchmarks/routing measures: where learning gains and where it is even."""

from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest

from benchmarks.routing.policies import POLICIES
from benchmarks.routing.scenarios import SCENARIOS, Scenario
from benchmarks.routing.simulated import Measured, first_p50, mean_seconds, run

BY_NAME = {each.name: each for each in SCENARIOS}
SEEDS = tuple(f"seed {number}" for number in range(9))


def ratio(scenario: Scenario, against: str, measure: Callable[[list[Measured]], float], wavering: float = 0.0) -> float:
    """Ours by theirs, the median over the seeds."""
    policies = dict(POLICIES)
    ours = [measure(run(scenario, policies["learned"], seed, wavering)) for seed in SEEDS]
    theirs = [measure(run(scenario, policies[against], seed, wavering)) for seed in SEEDS]
    return median(one / other for one, other in zip(ours, theirs, strict=True))


OTHERS = pytest.mark.parametrize("against", ["least in flight", "round robin"])


@OTHERS
def test_shared_prefixes_begin_in_six_tenths_of_the_time(against: str) -> None:
    assert ratio(BY_NAME["long shared prefixes"], against, first_p50) <= 0.6


@OTHERS
@pytest.mark.parametrize("name", ["short prompts", "equal speeds"])
def test_where_nothing_can_be_gained_nothing_is_lost(name: str, against: str) -> None:
    assert ratio(BY_NAME[name], against, mean_seconds) <= 1.05


@OTHERS
@pytest.mark.parametrize("name", ["short prompts", "equal speeds"])
def test_on_a_machine_whose_speed_wavers_hardly_anything_is_lost(name: str, against: str) -> None:
    longer = replace(BY_NAME[name], rounds=40)
    assert ratio(longer, against, mean_seconds, wavering=0.5) <= 1.1


@OTHERS
def test_a_slow_replica_gets_less(against: str) -> None:
    assert ratio(BY_NAME["one replica at a third"], against, mean_seconds) <= 0.9


@OTHERS
def test_speeds_that_swap_are_learned_again(against: str) -> None:
    swapping = replace(BY_NAME["speeds that swap"], rounds=40)
    assert ratio(swapping, against, mean_seconds) <= 0.95
    late = swapping.count * 3 // 4
    assert ratio(swapping, against, lambda measured: mean_seconds(measured, late)) <= 0.9


@OTHERS
def test_shared_prefixes_on_unequal_replicas_do_not_lose(against: str) -> None:
    unequal = replace(BY_NAME["long shared prefixes"], slow=1 / 3)
    assert ratio(unequal, against, mean_seconds) <= 0.95


def test_nobody_starves_behind_a_popular_prefix() -> None:
    """Everybody asks of one document: both replicas work."""
    popular = replace(BY_NAME["long shared prefixes"], users=1, rounds=1)
    bodies = [run(replace(popular, users=users, rounds=6), dict(POLICIES)["learned"], "one") for users in (8, 16)]
    for measured in bodies:
        served = [each.replica for each in measured]
        assert min(served.count(0), served.count(1)) >= len(served) / 4
