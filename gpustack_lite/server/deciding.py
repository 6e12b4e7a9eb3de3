"""Decides a round of placements on a snapshot, without reading or writing anything."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from backends import registry
from backends.base import Backend, Estimate, Want
from gpustack_lite.db.nodes import distinct, nodes, runnable
from gpustack_lite.db.queries.placing import Ask, Explain, Place, Snapshot, claim_of, is_written
from gpustack_lite.db.tables import Model, ModelInstance, Worker
from gpustack_lite.domain import Claim, ModelFacts, Part, Placement, PlacementWish, Reason, Remedy, Unplaceable
from gpustack_lite.errors import Refusal
from gpustack_lite.server.facts import Known, known
from gpustack_lite.server.rollout import SERVING
from gpustack_lite.server.versions import kinds_of, lacks_version, pick_version
from scheduler import Holding, Node, Question, explain, offered, place, reserve

_ROOM = frozenset({"memory", "whole_chip", "ram"})
"""Checks that fail for want of room: ending an older replica may help, nothing else would."""

MOST_QUESTIONS = 20
"""Remedies are looked for so often in one round, and as often again for instances that have none yet."""


@dataclass(frozen=True, slots=True)
class MakeRoom:
    """End this older replica, because its successor fits only in its place."""

    instance_id: int


Decision = Place | Explain | Ask | MakeRoom


@dataclass(slots=True)
class Round:
    """The snapshot, and what the round has placed on it so far."""

    snapshot: Snapshot
    now: datetime
    left: tuple[Node, ...] = ()
    """The workers with what is still free on them."""
    placed: list[Placement] = field(default_factory=list)
    newly_held: list[Holding] = field(default_factory=list)
    bare: tuple[Node, ...] = ()
    """The workers without anything of ours, once somebody needs to know."""
    found_remedies: dict[object, tuple[Remedy, ...]] = field(default_factory=dict)

    def take(self, placement: Placement, instance_id: int, model: str) -> None:
        self.placed.append(placement)
        self.left = reserve(self.left, placement)
        for part in placement.parts:
            self.newly_held.append(Holding(instance_id, _called(model, instance_id), *_of(part), placement.claim))

    def question(self, asked: "Asked") -> Question:
        """What is asked for one instance, in whole: another answer to it would be the answer to a change."""
        if not self.bare:
            self.bare = nodes(self.snapshot, frozenset(each.id or 0 for each in self.snapshot.holding))
        refusals = _refusals(self.snapshot, asked)
        bare, known = (_with_refusals(each, self.snapshot.workers, refusals) for each in (self.bare, self.left))
        held = (*_holdings(self.snapshot), *self.newly_held)
        return Question(bare, tuple(asked.claims), _wish(asked.model), asked.name, held, known)

    def if_gone(self, instance_ids: frozenset[int]) -> tuple[Node, ...]:
        """What would be free without these instances."""
        found = nodes(self.snapshot, instance_ids)
        for placement in self.placed:
            found = reserve(found, placement)
        return found


@dataclass(frozen=True, slots=True)
class Asked:
    """What one instance needs: the backend, its estimates, and what is known of the source."""

    instance: ModelInstance
    model: Model
    backend: Backend
    name: str
    estimates: tuple[Estimate, ...]
    known: Known

    @property
    def claims(self) -> list[Claim]:
        return [each.claim for each in self.estimates]


def decide(snapshot: Snapshot, now: datetime) -> list[Decision]:
    """Older instances first; each sees what the ones before it took."""
    this_round = Round(snapshot, now, nodes(snapshot))
    return [decision for each in snapshot.pending for decision in _decide_one(this_round, each)]


def news(snapshot: Snapshot, decisions: Sequence[Decision]) -> list[Decision]:
    """Without the explanations that the rows hold already: a waiting instance costs no write."""
    rows = {each.id: each for each in snapshot.pending}
    return [each for each in decisions if not (isinstance(each, Explain) and is_written(rows[each.instance_id], each))]


def _decide_one(this_round: Round, instance: ModelInstance) -> Iterator[Decision]:
    model = this_round.snapshot.models.get(instance.model_id)
    if model is None or not this_round.snapshot.workers:
        yield from [] if model is None else [_explained(instance, _unplaceable("workers", "no_workers", {}))]
        return
    facts = known(this_round.snapshot, model.source, this_round.now)
    try:
        asked = _asked(this_round.snapshot, instance, model, facts)
    except Refusal as refusal:
        yield _explained(instance, _unplaceable("model", refusal.code, dict(refusal.params)))
        return
    if (asked is None or asked.backend.needs_facts) and facts.due:
        yield Ask(model.source, facts.due)
    yield from [_still_unknown(this_round, instance, model, facts)] if asked is None else _try(this_round, asked)


def _asked(snapshot: Snapshot, instance: ModelInstance, model: Model, facts: Known) -> Asked | None:
    """None while nobody has told about the source and the backend cannot do without.

    Raises:
        Refusal: no such backend, or it cannot say what the model needs.
    """
    backend = _named_backend(snapshot, model.backend)
    if facts.largest is None and (backend is None or backend.needs_facts):
        return None
    devices = distinct(each for rows in snapshot.devices.values() for each in rows)
    backend = backend or registry.choose(facts.largest, model.source, devices, runnable(snapshot.workers))
    picked = len(model.placement.get("devices") or ()) or None
    estimates = backend.estimates(facts.largest, Want(model.options, devices, picked))
    return Asked(instance, model, backend, model.backend or backend.name, estimates, facts)


def _named_backend(snapshot: Snapshot, name: str | None) -> Backend | None:
    if name is None:
        return None
    custom = snapshot.custom_backends.get(name)
    return registry.find(name) if custom is None else registry.with_custom(custom)


def _still_unknown(this_round: Round, instance: ModelInstance, model: Model, facts: Known) -> Decision:
    """Every worker's reason, in the scheduler's own order: silent, labels, and then what it said of the files."""
    refusing = _with_refusals(this_round.left, this_round.snapshot.workers, facts.refusals)
    answer = place(refusing, [Claim()], _wish(model), backend=model.backend)
    return _explained(instance, answer if isinstance(answer, Unplaceable) else _unplaceable("model", "no_facts", {}))


def _try(this_round: Round, asked: Asked) -> Iterator[Decision]:
    answer = _place(this_round.left, this_round, asked)
    if isinstance(answer, Placement):
        this_round.take(answer, asked.instance.id or 0, asked.model.name)
        yield _placed(this_round.snapshot, asked, answer)
        return
    yield _explained(asked.instance, answer, _remedies(this_round, asked, answer))
    if (victim := _whose_end_makes_room(this_round, asked, answer)) is not None:
        yield MakeRoom(victim)


def _place(candidates: tuple[Node, ...], this_round: Round, asked: Asked) -> Placement | Unplaceable:
    able = _with_refusals(candidates, this_round.snapshot.workers, _refusals(this_round.snapshot, asked))
    return place(able, asked.claims, _wish(asked.model), backend=asked.name)


def _refusals(snapshot: Snapshot, asked: Asked) -> Mapping[int, Reason]:
    """What the workers say of the files, and which of them lack the wanted version."""
    refusals = dict(asked.known.refusals) if asked.backend.needs_facts else {}
    for worker in snapshot.workers:
        if (lacking := lacks_version(worker, asked.name, asked.model.backend_version)) is not None:
            refusals.setdefault(worker.id or 0, lacking)
    return refusals


def _remedies(this_round: Round, asked: Asked, answer: Unplaceable) -> tuple[Remedy, ...]:
    """Once per question, however many instances ask it. Beyond what one round can bear, a row keeps what it has."""
    key = (*asked.claims, repr(_wish(asked.model)), asked.name, asked.model.source, len(this_round.placed))
    if key in this_round.found_remedies:
        return this_round.found_remedies[key]
    before = asked.instance.remedies
    if len(this_round.found_remedies) >= MOST_QUESTIONS * (1 if before else 2):
        return tuple(Remedy(each["code"], each["params"], each["change"]) for each in before)
    return this_round.found_remedies.setdefault(key, offered(this_round.question(asked), answer))


def _holdings(snapshot: Snapshot) -> Iterator[Holding]:
    names = {each.id: each.name for each in snapshot.workers}
    for each in snapshot.holding:
        if each.worker_id in names:
            called = _called(str((each.assigned or {}).get("model", "")), each.id or 0)
            devices = tuple(each.device_indices)
            yield Holding(each.id or 0, called, names[each.worker_id], devices, claim_of(each.claim))


def _called(model: str, instance_id: int) -> str:
    return f"{instance_id} ({model})" if model else str(instance_id)


def _of(part: Part) -> tuple[str, tuple[int, ...]]:
    return part.worker, part.devices


def _with_refusals(found: tuple[Node, ...], workers: Any, refusals: Mapping[int, Reason]) -> tuple[Node, ...]:
    by_name = {worker.name: refusals.get(worker.id or 0) for worker in workers}
    return tuple(replace(node, refusal=by_name[node.name]) if by_name.get(node.name) else node for node in found)


def _whose_end_makes_room(this_round: Round, asked: Asked, answer: Unplaceable) -> int | None:
    """An older serving replica of the model, if the new one fits once all of them are gone; one at a time."""
    if not any(reason.check in _ROOM for reason in answer.reasons):
        return None
    generation, model_id = asked.instance.generation, asked.model.id
    older = [e for e in this_round.snapshot.holding if e.model_id == model_id and e.generation < generation]
    serving = [each for each in older if each.state in SERVING]
    if not serving or len(serving) != len(older):
        return None
    without = frozenset(each.id or 0 for each in older)
    would_fit = isinstance(_place(this_round.if_gone(without), this_round, asked), Placement)
    return max(without) if would_fit else None


def _placed(snapshot: Snapshot, asked: Asked, placement: Placement) -> Place:
    worker = next(each for each in snapshot.workers if each.name == placement.leader.worker)
    estimate = next(each for each in asked.estimates if each.claim == placement.claim)
    claim = claim_document(placement.claim)
    devices = placement.leader.devices
    assigned = {
        "id": asked.instance.id,
        "model": asked.model.name,
        "generation": asked.instance.generation,
        "source": _source(asked, worker),
        "backend": asked.name,
        "backend_version": pick_version(worker, asked.name, asked.model.backend_version, kinds_of(placement.claim)),
        "backend_spec": snapshot.custom_backends.get(asked.name),
        "options": asked.model.options,
        "env": asked.model.env,
        "devices": list(devices),
        "claim": claim,
        "context_length": estimate.context_length,
        "restart_limit": asked.model.restart_limit,
    }
    memory = (
        None if estimate.memory is None else {**asdict(estimate.memory), "total_bytes": estimate.memory.total_bytes}
    )
    return Place(asked.instance.id or 0, worker.id or 0, devices, claim, memory, estimate.context_length, assigned)


def _source(asked: Asked, worker: Worker) -> str:
    """The path on that worker where one is known; what the user wrote where the backend does without."""
    facts: ModelFacts | None = asked.known.facts.get(worker.id or 0)
    return facts.path if facts is not None and facts.path else asked.model.source


def claim_document(claim: Claim) -> dict[str, Any]:
    return {
        "device_count": claim.device_count,
        "bytes_per_device": claim.bytes_per_device,
        "ram_bytes": claim.ram_bytes,
        "device_kinds": sorted(claim.device_kinds),
        "worker_count": claim.worker_count,
        "chips": sorted(claim.chips),
        "disk_bytes": claim.disk_bytes,
        "may_share": claim.may_share,
    }


def _wish(model: Model) -> PlacementWish:
    wish = model.placement
    return PlacementWish(
        strategy=wish.get("strategy", "spread"),
        worker_labels=wish.get("worker_labels") or {},
        devices=tuple(wish.get("devices") or ()),
    )


def _unplaceable(check: str, code: str, params: dict[str, Any]) -> Unplaceable:
    return Unplaceable((Reason(None, check, code, params),))


def _explained(instance: ModelInstance, answer: Unplaceable, remedies: tuple[Remedy, ...] = ()) -> Explain:
    shown = explain(answer, remedies)
    return Explain(
        instance_id=instance.id or 0,
        said={"code": shown.said.code, "params": dict(shown.said.params)},
        reasons=[{**asdict(reason), "params": dict(reason.params)} for reason in shown.reasons],
        reason_counts=dict(shown.reason_counts),
        remedies=[
            {"code": each.code, "params": dict(each.params), "change": dict(each.change)} for each in shown.remedies
        ],
    )
