"""What the next round would decide about a model that is not there, and on what a pending instance was decided."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from gpustack_lite.db.documents import iso
from gpustack_lite.db.nodes import nodes
from gpustack_lite.db.queries.placing import Ask, Snapshot
from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.domain import Reason, Unplaceable
from gpustack_lite.errors import Refusal
from gpustack_lite.lifecycle import State
from gpustack_lite.planning import evaluation
from gpustack_lite.server import making_room
from gpustack_lite.server.deciding import Asked, Round, decide_one, in_order
from gpustack_lite.server.facts import known
from scheduler import Question, explain, replay


def evaluate(snapshot: Snapshot, model: Model, variants: tuple[str, ...], now: datetime) -> dict[str, Any]:
    """`model` is no row of the database. The snapshot holds what workers said of its source and of the variants.

    Raises:
        Refusal: no such backend, or none for these files.
    """
    this_round = Round(snapshot, now, nodes(snapshot, now))
    asked = _asked(this_round, model)
    if asked is None or asked.of_model.subject is None:
        return _nobody_knows(this_round, model)
    others = [_asked(this_round, _other(model, each)) for each in variants]
    subjects = tuple(each.of_model.subject for each in others if each is not None and each.of_model.subject is not None)
    question = this_round.question(asked)
    around = evaluation.Surroundings(question.bare, question.holdings, question.known, question.about)
    return evaluation.document(evaluation.evaluate(asked.of_model.subject, around, question.wish, subjects))


def decision(snapshot: Snapshot, instance: ModelInstance, model: Model, now: datetime) -> dict[str, Any]:
    """On what the next round would decide about an instance, and the answer, as JSON that can be replayed.

    One that waits is asked about after those before it; one that holds a place as if it had none.

    Raises:
        Refusal: nobody has told about the files yet, or no backend is for them.
    """
    this_round = Round(snapshot, now, nodes(snapshot, now))
    for each in in_order(snapshot) if instance.state == State.PENDING else ():
        if each.id == instance.id:
            break
        list(decide_one(this_round, each))
    asked = this_round.asked(instance, model)
    if asked is None:
        raise Refusal("decision_without_facts", status=409, source=model.source)
    question = without(this_round.question(asked), instance.id or 0)
    about = {"instance": instance.id, "model": model.name, "revision": snapshot.revision, "decided_at": iso(now)}
    return {**about, "question": replay.document(question), "answer": evaluation.answer_document(question)}


def moves(snapshot: Snapshot, name: str | None, now: datetime) -> dict[str, Any]:
    """What makes room for that model, or for the first that it helps, in the columns of a Rebalance.

    Raises:
        Refusal: nothing waits, or no moves help.
    """
    return making_room.document(making_room.plan(snapshot, name, now))


def unasked(snapshot: Snapshot, now: datetime) -> list[Ask]:
    """Workers that are to tell about the files of what may move, before moves are looked for."""
    return making_room.unasked(snapshot, now)


def without(question: Question, instance_id: int) -> Question:
    holdings = tuple(each for each in question.holdings if each.id != instance_id)
    return question if len(holdings) == len(question.holdings) else replace(question, holdings=holdings, known=())


def _asked(this_round: Round, model: Model) -> Asked | None:
    return this_round.asked(_instance(model, this_round.now), model)


def _instance(model: Model, now: datetime) -> ModelInstance:
    return ModelInstance(id=0, model_id=0, model_name=model.name, generation=0, created_at=now, state_since=now)


def _other(model: Model, source: str) -> Model:
    return Model(**{**model.model_dump(), "source": source, "source_revision": None, "include": []})


def _nobody_knows(this_round: Round, model: Model) -> dict[str, Any]:
    """The workers' reasons: silent, or still to answer about the files."""
    said = known(this_round.snapshot, model.files_source, this_round.now).refusals.values()
    reasons = tuple(said) or (Reason(None, "workers", "no_workers"),)
    return evaluation.unknown_document(model.source, model.backend, explain(Unplaceable(reasons)))
