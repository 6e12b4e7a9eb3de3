"""How many instances are made and ended."""

import pytest

from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.server.rollout import Action, Create, Retire, replica_actions
from tests.fakes.rows import a_model, an_instance

NEW = a_model(launch_generation=2, generation=2)


def of(generation: int, **states: str) -> list[ModelInstance]:
    """`i3="ready"` is instance 3 in that state."""
    return [an_instance(int(key[1:]), state, generation=generation) for key, state in states.items()]


def moving(old: str, new: str, **given: bool) -> list[ModelInstance]:
    """2 was made to replace 1."""
    return [an_instance(1, old), an_instance(2, new, replaces=1, **given)]


@pytest.mark.parametrize(
    ("model", "instances", "expected"),
    [
        pytest.param(a_model(replicas=2), [], [Create(), Create()], id="as many as wanted are made"),
        pytest.param(a_model(), of(1, i1="ready"), [], id="enough is enough"),
        pytest.param(a_model(), of(1, i1="lost"), [Create()], id="a lost one is replaced"),
        pytest.param(a_model(), of(1, i1="stopping"), [Create()], id="one that stops does not count"),
        pytest.param(a_model(stopped=True), of(1, i1="ready"), [Retire(1)], id="a stopped model has none"),
        pytest.param(a_model(asleep=True), of(1, i1="ready"), [Retire(1)], id="nor has one that sleeps"),
        pytest.param(a_model(replicas=0), of(1, i1="pending"), [Retire(1)], id="nor has one that wants none"),
        pytest.param(None, of(1, i1="ready", i2="lost"), [Retire(1)], id="a deleted model's living ones end"),
        pytest.param(
            a_model(replicas=2),
            of(1, i1="ready", i2="starting", i3="ready"),
            [Retire(2)],
            id="scaling down takes what is not ready first",
        ),
        pytest.param(a_model(), of(1, i1="ready", i2="ready"), [Retire(2)], id="then the youngest"),
        pytest.param(NEW, of(1, i1="ready"), [Create()], id="a new generation comes first"),
        pytest.param(NEW, of(1, i1="ready") + of(2, i2="starting"), [], id="the old one serves until the new one does"),
        pytest.param(NEW, of(1, i1="ready") + of(2, i2="ready"), [Retire(1)], id="and goes when it does"),
        pytest.param(NEW, of(1, i1="pending"), [Retire(1), Create()], id="an old one that does not serve goes at once"),
        pytest.param(
            a_model(replicas=2, launch_generation=2),
            of(1, i1="ready", i2="ready") + of(2, i3="ready", i4="starting"),
            [Retire(2)],
            id="one for one",
        ),
        pytest.param(a_model(), moving("ready", "starting"), [], id="one and its successor count as one"),
        pytest.param(a_model(), moving("ready", "ready"), [Retire(1)], id="the successor is ready, the old one goes"),
        pytest.param(a_model(), moving("stopping", "ready"), [], id="and the successor is the replica"),
        pytest.param(a_model(), moving("lost", "starting"), [], id="even before it is ready, if the old one is lost"),
        pytest.param(a_model(), moving("ready", "failed", gave_up=True), [Retire(2)], id="one that gave up goes"),
        pytest.param(
            a_model(stopped=True),
            moving("ready", "starting"),
            [Retire(2), Retire(1)],
            id="a stopped one keeps neither",
        ),
        pytest.param(
            a_model(launch_generation=2), of(2, i5="ready") + of(1, i1="lost"), [], id="an old lost one is no more work"
        ),
    ],
)
def test_the_instances_become_what_the_model_wants(
    model: Model | None, instances: list[ModelInstance], expected: list[Action]
) -> None:
    assert replica_actions(model, instances) == expected


def test_one_that_gave_up_is_not_replaced_without_a_person() -> None:
    assert replica_actions(a_model(), [an_instance(1, "failed", gave_up=True)]) == []


def test_one_that_gave_up_goes_first_when_there_are_too_many() -> None:
    instances = [*of(1, i1="pending"), an_instance(2, "failed", gave_up=True)]
    assert replica_actions(a_model(), instances) == [Retire(2)]
