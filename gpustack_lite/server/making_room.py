"""Which moves would make room for a model that waits, as values; pure."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gpustack_lite.db.nodes import nodes
from gpustack_lite.db.queries.placing import Ask, Place, Snapshot
from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.domain import Placement, Unplaceable
from gpustack_lite.errors import Refusal
from gpustack_lite.lifecycle import State
from gpustack_lite.server.deciding import Asked, Round, asked_of, asks, decide_one, in_order, placed
from scheduler import Holding, Movable, Moves, answer, moves_for, place
from scheduler.moving import MOST_MOVES


@dataclass(frozen=True, slots=True)
class Plan:
    """For the first waiting model for which there are moves."""

    model: Model
    found: Moves


def plan(snapshot: Snapshot, name: str | None, now: datetime) -> Plan:
    """The snapshot is a whole one.

    Raises:
        Refusal: `nothing_waits`, or `no_moves_help` naming the models for which there are none.
    """
    this_round = Round(snapshot, now, nodes(snapshot, now))
    waiting = _waiting(this_round, name)
    if not waiting:
        raise Refusal("nothing_waits" if name is None else "model_does_not_wait", status=409, param="model", name=name)
    for asked in waiting:
        found = _moves(this_round, asked)
        if found is not None:
            return Plan(asked.model, found)
    names = ", ".join(each.model.name for each in waiting)
    raise Refusal("no_moves_help", status=409, param="model", names=names, most=MOST_MOVES)


def unasked(snapshot: Snapshot, now: datetime) -> list[Ask]:
    """A worker that came after a model was placed never told about its files, and might take them.

    The snapshot is a whole one.
    """
    this_round = Round(snapshot, now)
    return [ask for model in snapshot.models.values() for ask in asks(this_round.of_model(model))]


def _waiting(this_round: Round, name: str | None) -> list[Asked]:
    """Of each model the first instance that the round leaves without a place; what gets one needs no moves."""
    found: dict[int, Asked] = {}
    for each in in_order(this_round.snapshot):
        if any(isinstance(decision, Place) for decision in decide_one(this_round, each)):
            continue
        asked = asked_of(this_round, each)
        if asked is not None and name in {None, asked.model.name}:
            found.setdefault(each.model_id, asked)
    return list(found.values())


def _moves(this_round: Round, asked: Asked) -> Moves | None:
    question = this_round.question(asked)
    if isinstance(answer(question), Placement):
        return None
    able = {each.id: each for each in question.holdings}
    movables = [_movable(this_round, each, able, asked) for each in this_round.snapshot.holding]
    return moves_for(question, {each.holding.id: each for each in movables if each is not None})


def _movable(this_round: Round, each: ModelInstance, holdings: dict[int, Holding], asked: Asked) -> Movable | None:
    """One that serves as its model is now, of a model that is no more important than the one that waits."""
    model, holding = this_round.snapshot.models.get(each.model_id), holdings.get(each.id or 0)
    if each.state != State.READY or holding is None or model is None or each.generation < model.launch_generation:
        return None
    if each.members:
        return None
    own = asked_of(this_round, each)
    if own is None or _priority(model) > _priority(asked.model):
        return None
    return Movable(holding, tuple(own.claims), own.of_model.wish, own.name, own.of_model.about, own.refusals)


def _priority(model: Model) -> int:
    return int(model.placement.get("priority") or 0)


def place_at(snapshot: Snapshot, model: Model, worker: str, devices: list[int], now: datetime) -> Place | None:
    """Exactly there, if it is free now; None if it is not. The instance has no id yet."""
    this_round = Round(snapshot, now, nodes(snapshot, now))
    fresh = ModelInstance(
        id=0,
        model_id=model.id or 0,
        model_name=model.name,
        generation=model.launch_generation,
        created_at=now,
        state_since=now,
    )
    asked = asked_of(this_round, fresh)
    if asked is None:
        return None
    of_model = asked.of_model
    addresses = tuple([f"{worker}:{index}" for index in devices])
    wish = replace(of_model.wish, workers=(worker,), devices=addresses)
    able = of_model.able(this_round.left)
    found = place(able, asked.claims, wish, backend=asked.name, about=of_model.about)
    return None if isinstance(found, Unplaceable) else placed(snapshot, asked, found)


def document(found: Plan) -> dict[str, Any]:
    """The columns of a Rebalance."""
    moves = [
        {
            "instance": each.holding.id,
            "model": each.holding.model,
            "from": {"worker": each.holding.worker, "devices": list(each.holding.devices)},
            "to": {"worker": each.target.leader.worker, "devices": list(each.target.leader.devices)},
            "stops_first": each.stops_first,
            "begun": False,
            "replacement": None,
        }
        for each in found.found.moves
    ]
    target = found.found.placement
    place = list(target.addresses) or [target.leader.worker]
    return {"model_id": found.model.id, "model_name": found.model.name, "moves": moves, "place": place}
