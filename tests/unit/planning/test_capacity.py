"""What fits on workers that are only described, in what order, and what is left."""

from dataclasses import replace

import pytest

from gpustack_lite.chips import GIB
from gpustack_lite.domain import PlacementWish
from gpustack_lite.planning.capacity import Traffic, Wanted, plan
from tests.unit.planning.test_evaluation import subject, worker

BOX = worker("4x910B3-64G")


def wanted(name: str, model: str = "Qwen3-14B", **more: object) -> Wanted:
    return replace(Wanted(name, subject(model, BOX)), **more)  # type: ignore[arg-type]


def test_replicas_take_one_device_after_another_and_what_is_left_is_told() -> None:
    found = plan([BOX], [wanted("a", replicas=3)])
    assert found["fits"]
    assert [each["devices"] for each in found["models"][0]["placements"]] == [["w1:0"], ["w1:1"], ["w1:2"]]
    free = [each["free_bytes"] for each in found["left"][0]["devices"]]
    assert free[:3] == [0, 0, 0]
    assert free[3] > 60 * GIB


def test_who_does_not_fit_hears_why_and_what_would_help() -> None:
    found = plan([BOX], [wanted("a", replicas=3), wanted("b", model="Qwen3-32B", replicas=2)])
    model = found["models"][1]
    assert (found["fits"], found["waiting_count"], model["waiting_count"]) == (False, 2, 2)
    assert model["reasons"][0]["worker"] == "w1"
    assert "a#1" in {each["params"].get("instances") for each in model["remedies"]}


def test_the_higher_priority_goes_first() -> None:
    crowd, first = wanted("crowd", replicas=4), wanted("first", wish=PlacementWish(priority=5))
    models = {each["name"]: each["waiting_count"] for each in plan([BOX], [crowd, first])["models"]}
    assert models == {"first": 0, "crowd": 1}


def test_replicas_apart_need_a_worker_each() -> None:
    found = plan([BOX], [wanted("a", replicas=2, wish=PlacementWish(apart=True))])
    assert found["models"][0]["waiting_count"] == 1


@pytest.mark.parametrize(
    ("traffic", "needed"),
    [
        (Traffic(2, 800, 300, None, 6000, 450), 2),
        (Traffic(2, 9000, 300, None, 6000, 450), 3),
        (Traffic(0.1, 10, 10, None, 6000, 450), 1),
        (Traffic(2, 800, 300, None, 6000, None), None),
        (Traffic(2, 800, 300), None),
    ],
)
def test_traffic_is_turned_into_replicas_only_where_rates_were_measured(traffic: Traffic, needed: int | None) -> None:
    assert traffic.replicas == needed
    found = plan([BOX], [wanted("a", traffic=traffic)])["models"][0]
    assert found["replicas"] == (needed or 1)
    assert found["traffic"]["replicas_needed"] == needed


def test_fewer_replicas_than_the_traffic_needs_are_said_to_be_too_few() -> None:
    found = plan([BOX], [wanted("a", replicas=1, traffic=Traffic(2, 800, 300, 1, 6000, 450))])["models"][0]
    assert found["traffic"]["is_enough"] is False
    assert found["traffic"]["is_first_token_in_time"] is True
