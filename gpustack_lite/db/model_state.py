"""The state of a model, derived from its instances; pure."""

from collections.abc import Sequence

from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.lifecycle import ENDING, ModelState, State


def living(instances: Sequence[ModelInstance]) -> list[ModelInstance]:
    """Those that count: neither ending nor lost."""
    return [each for each in instances if State(each.state) not in ENDING]


def ready_count(instances: Sequence[ModelInstance]) -> int:
    return sum(each.state == State.READY for each in instances)


def state_of(model: Model, instances: Sequence[ModelInstance]) -> ModelState:
    if model.stopped or model.replicas == 0:
        return ModelState.STOPPED
    if model.asleep:
        return ModelState.SLEEPING
    alive, ready = living(instances), ready_count(instances)
    if ready >= model.replicas:
        return ModelState.READY
    if ready > 0:
        return ModelState.PARTLY_READY
    if any(each.gave_up for each in alive):
        return ModelState.FAILED
    if any(each.state != State.PENDING for each in alive):
        return ModelState.STARTING
    return ModelState.PENDING


def why_not_ready(model: Model, instances: Sequence[ModelInstance]) -> dict[str, object] | None:
    """The sentence of the instance that says most about it: one that gave up, else the furthest that has a word."""
    if model.stopped or model.asleep or model.replicas == 0 or ready_count(instances) >= model.replicas:
        return None
    said = [each for each in living(instances) if each.said and each.state != State.READY]
    said.sort(key=lambda each: (not each.gave_up, each.state == State.PENDING, each.id or 0))
    return said[0].said if said else None
