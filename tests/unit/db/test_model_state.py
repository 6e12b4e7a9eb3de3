"""What a model's instances say about the model."""

import pytest

from gpustack_lite.db import model_state
from gpustack_lite.db.tables import Model, ModelInstance
from tests.fakes.rows import a_model, an_instance

GAVE_UP = an_instance(9, "failed", gave_up=True, said={"code": "engine_exited", "params": {}})


def some(*states: str) -> list[ModelInstance]:
    return [an_instance(number, state) for number, state in enumerate(states, 1)]


@pytest.mark.parametrize(
    ("model", "instances", "state"),
    [
        pytest.param(a_model(), [], "pending", id="nothing yet"),
        pytest.param(a_model(), some("pending"), "pending", id="nowhere yet"),
        pytest.param(a_model(), some("preparing"), "starting", id="on its way"),
        pytest.param(a_model(), some("failed"), "starting", id="failed and tried again"),
        pytest.param(a_model(), [GAVE_UP], "failed", id="gave up"),
        pytest.param(a_model(replicas=2), [GAVE_UP, *some("ready")], "partly_ready", id="one serves"),
        pytest.param(a_model(replicas=2), some("ready", "ready"), "ready", id="all serve"),
        pytest.param(a_model(), some("ready", "stopping"), "ready", id="one that ends does not matter"),
        pytest.param(a_model(), some("lost"), "pending", id="nor does a lost one"),
        pytest.param(a_model(stopped=True), some("ready"), "stopped", id="stopped by a person"),
        pytest.param(a_model(replicas=0), [], "stopped", id="none wanted"),
    ],
)
def test_the_state_follows_from_the_instances(model: Model, instances: list[ModelInstance], state: str) -> None:
    assert model_state.state_of(model, instances) == state


def test_the_instance_that_gave_up_says_why() -> None:
    waiting = an_instance(1, "pending", said={"code": "no_workers", "params": {}})
    assert model_state.why_not_ready(a_model(replicas=2), [waiting, GAVE_UP]) == GAVE_UP.said


def test_a_ready_model_needs_no_excuse() -> None:
    assert model_state.why_not_ready(a_model(), [*some("ready"), GAVE_UP]) is None
