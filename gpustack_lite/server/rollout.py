"""How a model's instances become what the model wants; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.lifecycle import ENDING, State

SERVING = frozenset({State.READY, State.UNHEALTHY})


@dataclass(frozen=True, slots=True)
class Create:
    """One more PENDING instance of the present generation."""


@dataclass(frozen=True, slots=True)
class Retire:
    instance_id: int


Action = Create | Retire


def replica_actions(
    model: Model | None, instances: Sequence[ModelInstance], least_missed: Sequence[int] = ()
) -> list[Action]:
    """New ones come first, and an old one that serves goes when a new one is READY; `model` is None once deleted.

    An instance that gave up still counts: it is for a person to have it tried again. LOST ones are replaced.
    `least_missed` says in which order those that serve alike may end; the youngest first where it is silent.
    """
    every = [each for each in instances if State(each.state) not in ENDING]
    moving = movers(every)
    living = [each for each in every if each.id not in moving]
    wanted = 0 if model is None or model.stopped or model.asleep else model.replicas
    generation = 0 if model is None else model.launch_generation
    current = [each for each in living if each.generation >= generation]
    older = [each for each in living if each.generation < generation]
    creates: list[Action] = [Create() for _ in range(wanted - len(current))]
    ends = [*_retire_older(wanted, current, older), *_retire_surplus(wanted, current, least_missed)]
    return [*_swap(moving, ends), *ends, *creates]


def movers(living: Sequence[ModelInstance]) -> dict[int, ModelInstance]:
    """By its id: a successor of one that lives still. The two count as one."""
    ids = {each.id for each in living}
    return {each.id or 0: each for each in living if each.replaces in ids}


def _swap(moving: Mapping[int, ModelInstance], ends: Sequence[Action]) -> list[Action]:
    """A successor that is READY lets the one before it go; one that gave up goes itself. Who is to end has none."""
    ending = {each.instance_id for each in ends if isinstance(each, Retire)}
    actions: list[Action] = []
    for id_, each in moving.items():
        if each.replaces in ending or each.gave_up:
            actions.append(Retire(id_))
        elif each.state == State.READY:
            actions.append(Retire(each.replaces or 0))
    return actions


def _retire_older(wanted: int, current: Sequence[ModelInstance], older: Sequence[ModelInstance]) -> list[Action]:
    """An older one that does not serve is of no use; as many that do are kept as the new ones still lack."""
    ready = sum(each.state == State.READY for each in current)
    serving = [each for each in older if each.state in SERVING]
    useless = [each for each in older if each.state not in SERVING]
    surplus = len(serving) - max(0, wanted - ready)
    return [Retire(each.id or 0) for each in useless + _least_worth(serving)[: max(0, surplus)]]


def surplus_that_serves(model: Model | None, instances: Sequence[ModelInstance]) -> list[int]:
    """Replicas among which somebody has to choose, because some of them but not all are to end."""
    actions = {each.instance_id for each in replica_actions(model, instances) if isinstance(each, Retire)}
    generation = 0 if model is None else model.launch_generation
    alike = [each for each in instances if each.state == State.READY and each.generation >= generation]
    ids = {each.id or 0 for each in alike}
    return sorted(ids) if ids & actions and ids - actions else []


def _retire_surplus(wanted: int, current: Sequence[ModelInstance], least_missed: Sequence[int]) -> list[Action]:
    surplus = max(0, len(current) - wanted)
    return [Retire(each.id or 0) for each in _least_worth(current, least_missed)[:surplus]]


_WORTH = {
    State.FAILED: 0,
    State.PENDING: 1,
    State.SCHEDULED: 2,
    State.PREPARING: 3,
    State.STARTING: 4,
    State.UNHEALTHY: 5,
    State.READY: 6,
}


def _least_worth(instances: Sequence[ModelInstance], least_missed: Sequence[int] = ()) -> list[ModelInstance]:
    """Those that gave up go first, then the furthest from READY, then who is missed least, then the youngest."""
    place = {id_: place for place, id_ in enumerate(least_missed)}

    def worth(each: ModelInstance) -> tuple[bool, int, int, int]:
        id_ = each.id or 0
        return not each.gave_up, _WORTH[State(each.state)], place.get(id_, len(place)), -id_

    return sorted(instances, key=worth)
