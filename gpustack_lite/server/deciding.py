"""Decides a round of placements on a snapshot, without reading or writing anything."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from backends import registry
from backends.base import Backend, Estimate
from backends.compatibility import JUDGED
from gpustack_lite.db.members import devices_on, holders
from gpustack_lite.db.nodes import distinct, nodes, runnable
from gpustack_lite.db.queries.model_files import FilesWish
from gpustack_lite.db.queries.placing import Ask, Explain, Place, PlaceMember, Snapshot, claim_of, is_written
from gpustack_lite.db.tables import Model, ModelInstance, Worker
from gpustack_lite.domain import (
    Claim,
    ModelFacts,
    Part,
    Placement,
    PlacementWish,
    Reason,
    Remedy,
    Unplaceable,
)
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import sources
from gpustack_lite.planning.numbers import numbers_of, with_numbers
from gpustack_lite.planning.subject import Subject, extent
from gpustack_lite.planning.variants import variants
from gpustack_lite.server.facts import Known, known
from gpustack_lite.server.preflight import Hosts, seen_of, unfit
from gpustack_lite.server.rollout import SERVING
from gpustack_lite.server.room import full
from gpustack_lite.server.versions import build_kinds, builds_of, kinds_of, lacks_version, pick_version
from scheduler import About, Holding, Memo, Node, Question, explain, granted, offered, place, reserve

_ROOM = frozenset({"memory", "whole_chip", "unified", "ram", "apart"})
"""Checks that fail for want of room: ending an older replica may help, nothing else would."""

MOST_QUESTIONS = 20
QUESTIONED_WORKERS = 2000
"""Remedies are looked for so often in one round, and on so many workers in all; as often again where none are yet."""


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
    placed: list[tuple[Placement, About]] = field(default_factory=list)
    newly_held: list[Holding] = field(default_factory=list)
    bare: tuple[Node, ...] = ()
    """The workers without anything of ours, once somebody needs to know."""
    told: dict[object, tuple[Unplaceable, tuple[Remedy, ...]]] = field(default_factory=dict)
    """By question: the reasons with their numbers, and what would help."""
    memo: Memo = field(default_factory=Memo)
    of_models: "dict[int, OfModel]" = field(default_factory=dict)
    hosts: Hosts = field(default_factory=dict)

    @property
    def most_questions(self) -> int:
        return max(1, min(MOST_QUESTIONS, QUESTIONED_WORKERS // max(1, len(self.left))))

    def take(self, placement: Placement, asked: "Asked") -> None:
        about, id_ = asked.of_model.about, asked.instance.id or 0
        self.placed.append((placement, about))
        self.left = reserve(self.left, placement, about)
        called = _called(asked.model.name, id_)
        for part in placement.parts:
            self.newly_held.append(Holding(id_, called, *_of(part), placement.claim, asked.model.name))

    def of_model(self, model: Model) -> "OfModel":
        """Worked out once in a round, however many replicas wait."""
        found = self.of_models.get(model.id or 0)
        return found or self.of_models.setdefault(model.id or 0, _of_model(self.snapshot, model, self.now, self.hosts))

    def question(self, asked: "Asked") -> Question:
        """What is asked for one instance, in whole: another answer to it would be the answer to a change."""
        if not self.bare:
            self.bare = nodes(self.snapshot, self.now, frozenset(each.id or 0 for each in self.snapshot.holding))
        bare, known = _with_refusals(self.bare, asked.refusals), _with_refusals(self.left, asked.refusals)
        held, about = (*_holdings(self.snapshot), *self.newly_held), asked.of_model.about
        return Question(bare, tuple(asked.claims), asked.of_model.wish, asked.name, held, about, known)

    def asked(self, instance: ModelInstance, model: Model) -> "Asked | None":
        """None while nobody has told about the source and the backend cannot do without.

        Raises:
            Refusal: no such backend, or none for these files. What an engine refuses comes as no estimates.
        """
        found = _of_model(self.snapshot, model, self.now, self.hosts)
        if found.subject is None and found.refused is not None:
            raise found.refused
        if found.subject is None:
            return None
        return Asked(instance, found, found.subject.backend, found.subject.name, found.estimates or ())

    def if_gone(self, instance_ids: frozenset[int]) -> tuple[Node, ...]:
        """What would be free without these instances."""
        found = nodes(self.snapshot, self.now, instance_ids)
        for placement, about in self.placed:
            found = reserve(found, placement, about)
        return found


@dataclass(slots=True)
class OfModel:
    """What holds for every replica of a model in a round. `answer` is the last refusal, and after how many placements.

    `estimates` is None while nobody has told about the source and the backend cannot do without.
    """

    model: Model
    known: Known
    wish: PlacementWish
    about: About
    backend: Backend | None = None
    name: str | None = None
    subject: Subject | None = None
    estimates: tuple[Estimate, ...] | None = None
    refusals: Mapping[str, Reason] = field(default_factory=dict)
    hosts: Hosts = field(default_factory=dict)
    fixes: dict[str, Remedy] = field(default_factory=dict)
    """By worker: what would make its host fit."""
    refused: Refusal | None = None
    answer: tuple[int, Unplaceable] | None = None
    nodes: dict[str, tuple[Node, Node]] = field(default_factory=dict)

    def able(self, found: tuple[Node, ...]) -> tuple[Node, ...]:
        """The workers with what stands against the model there: the same object again for one that did not change."""
        return tuple([self._refusing(node) if node.name in self.refusals else node for node in found])

    def _refusing(self, node: Node) -> Node:
        kept = self.nodes.get(node.name)
        if kept is None or kept[0] is not node:
            kept = self.nodes[node.name] = (node, replace(node, refusal=self.refusals[node.name]))
        return kept[1]


@dataclass(frozen=True, slots=True)
class Asked:
    """What one instance needs: the backend, its estimates, and what is known of the source."""

    instance: ModelInstance
    of_model: OfModel
    backend: Backend
    name: str
    estimates: tuple[Estimate, ...]

    @property
    def model(self) -> Model:
        return self.of_model.model

    @property
    def claims(self) -> list[Claim]:
        return [each.claim for each in self.estimates]

    @property
    def refusals(self) -> Mapping[str, Reason]:
        return self.of_model.refusals


def decide(snapshot: Snapshot, now: datetime) -> list[Decision]:
    """The higher priority first, and then the older instance; each sees what the ones before it took."""
    this_round = Round(snapshot, now, nodes(snapshot, now))
    return [decision for each in in_order(snapshot) for decision in decide_one(this_round, each)]


def in_order(snapshot: Snapshot) -> list[ModelInstance]:
    """Nothing that runs is ended for a priority: it says who is asked first."""
    models = snapshot.models
    priority = {id_: int(model.placement.get("priority") or 0) for id_, model in models.items()}
    return sorted(snapshot.pending, key=lambda each: (-priority.get(each.model_id, 0), each.id or 0))


def news(snapshot: Snapshot, decisions: Sequence[Decision]) -> list[Decision]:
    """Without the explanations that the rows hold already: a waiting instance costs no write."""
    rows = {each.id: each for each in snapshot.pending}
    return [each for each in decisions if not (isinstance(each, Explain) and is_written(rows[each.instance_id], each))]


def decide_one(this_round: Round, instance: ModelInstance) -> Iterator[Decision]:
    model = this_round.snapshot.models.get(instance.model_id)
    if model is None or not this_round.snapshot.workers:
        yield from [] if model is None else [_explained(instance, _unplaceable("workers", "no_workers", {}))]
        return
    of_model = this_round.of_model(model)
    if of_model.refused is not None:
        yield _refused(this_round, instance, of_model, of_model.refused)
        return
    yield from asks(of_model)
    if of_model.backend is None or of_model.name is None or of_model.estimates is None:
        yield _still_unknown(this_round, instance, of_model)
        return
    yield from _try(this_round, Asked(instance, of_model, of_model.backend, of_model.name, of_model.estimates))


def asks(of_model: OfModel) -> Iterator[Ask]:
    """What the workers that never told about its files, or refused long ago, are to be asked."""
    due = of_model.known.due
    if due and (of_model.backend is None or of_model.backend.needs_facts):
        yield Ask(of_model.model.files_source, due)


def asked_of(this_round: Round, instance: ModelInstance) -> Asked | None:
    """None while nobody knows what it needs, or where an engine refuses it."""
    model = this_round.snapshot.models.get(instance.model_id)
    of_model = None if model is None else this_round.of_model(model)
    if of_model is None or of_model.refused is not None or not of_model.estimates:
        return None
    if of_model.backend is None or of_model.name is None:
        return None
    return Asked(instance, of_model, of_model.backend, of_model.name, of_model.estimates)


def fits(this_round: Round, instance: ModelInstance, candidates: tuple[Node, ...]) -> bool:
    """Whether one that waits would get a place among these workers; False while nobody knows what it needs."""
    asked = asked_of(this_round, instance)
    return asked is not None and isinstance(_place(candidates, None, asked), Placement)


def _refused(this_round: Round, instance: ModelInstance, of_model: OfModel, refusal: Refusal) -> Explain:
    """Other options may help where an engine has refused."""
    answer = _unplaceable("model", refusal.code, dict(refusal.params))
    if of_model.subject is None:
        return _explained(instance, answer)
    asked = Asked(instance, of_model, of_model.subject.backend, of_model.subject.name, ())
    return _explain(this_round, asked, answer)


def _of_model(snapshot: Snapshot, model: Model, now: datetime, hosts: Hosts) -> OfModel:
    facts = known(snapshot, model.files_source, now)
    found = OfModel(model, facts, wish_of(model), About(model.name, model.source), hosts=hosts)
    found.refusals = _by_name(snapshot, facts.refusals)
    try:
        _estimate(snapshot, found)
    except Refusal as refusal:
        found.refused = refusal
    return found


def _estimate(snapshot: Snapshot, found: OfModel) -> None:
    """Raises:
    Refusal: no such backend, or it cannot say what the model needs.
    """
    model, largest = found.model, found.known.largest
    found.backend = backend = _named_backend(snapshot, model.backend)
    if largest is None and (backend is None or backend.needs_facts):
        return
    devices = distinct(each for rows in snapshot.devices.values() for each in rows)
    backend = backend or registry.choose(largest, model.source, devices, runnable(snapshot.workers))
    picked = len(model.placement.get("devices") or ()) or None
    found.backend, found.name = backend, model.backend or backend.name
    builds = builds_of(snapshot.workers, found.name, model.backend_version, backend.device_kinds)
    kinds = build_kinds(snapshot.workers, snapshot.devices, found.name)
    there = extent([each.kind for each in rows] for rows in snapshot.devices.values())
    found.subject = Subject(
        model.source,
        largest,
        backend,
        found.name,
        model.options,
        devices,
        picked,
        builds,
        snapshot.lessons,
        kinds,
        there,
        model.trust_remote_code,
        model.allow_pickle,
    )
    found.refusals = _by_name(snapshot, _refusals(snapshot, found))
    found.estimates = _fewest_workers_first(found.subject.estimates())
    heads = None if largest is None else largest.head_count
    found.about = About(model.name, model.source, heads, numbers_of(found.estimates))


def _fewest_workers_first(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """A network between the devices of a replica is slower than any link inside a machine."""
    return tuple(sorted(estimates, key=lambda each: each.claim.worker_count))


def _named_backend(snapshot: Snapshot, name: str | None) -> Backend | None:
    if name is None:
        return None
    custom = snapshot.custom_backends.get(name)
    return registry.find(name) if custom is None else registry.with_custom(custom)


def _still_unknown(this_round: Round, instance: ModelInstance, of_model: OfModel) -> Decision:
    """Every worker's reason, in the scheduler's own order: silent, labels, and then what it said of the files."""
    able, backend = of_model.able(this_round.left), of_model.model.backend
    answer = place(able, [Claim()], of_model.wish, backend=backend, about=of_model.about, memo=this_round.memo)
    return _explained(instance, answer if isinstance(answer, Unplaceable) else _unplaceable("model", "no_facts", {}))


def _try(this_round: Round, asked: Asked) -> Iterator[Decision]:
    answer = _answer(this_round, asked)
    if isinstance(answer, Placement):
        this_round.take(answer, asked)
        yield placed(this_round.snapshot, asked, answer)
        return
    yield _explain(this_round, asked, answer)
    if (victim := _whose_end_makes_room(this_round, asked, answer)) is not None:
        yield MakeRoom(victim)


def _answer(this_round: Round, asked: Asked) -> Placement | Unplaceable:
    """A refusal holds as long as nothing else was placed: thousands of replicas may wait for the same."""
    of_model, count = asked.of_model, len(this_round.placed)
    if of_model.answer is not None and of_model.answer[0] == count:
        return of_model.answer[1]
    answer = _place(this_round.left, this_round.memo, asked)
    of_model.answer = (count, answer) if isinstance(answer, Unplaceable) else None
    return answer


def _place(candidates: tuple[Node, ...], memo: Memo | None, asked: Asked) -> Placement | Unplaceable:
    of_model = asked.of_model
    able = of_model.able(candidates)
    return place(able, asked.claims, of_model.wish, backend=asked.name, about=of_model.about, memo=memo)


def _refusals(snapshot: Snapshot, found: OfModel) -> Mapping[int, Reason]:
    """What the workers say of the files, which of them lack the wanted version, and which have no room."""
    refusals = dict(found.known.refusals) if found.backend and found.backend.needs_facts else {}
    for worker in snapshot.workers:
        if (lacking := lacks_version(worker, found.name or "", found.model.backend_version)) is not None:
            refusals.setdefault(worker.id or 0, lacking)
    return {**_without_room(snapshot, found), **_unfit_hosts(snapshot, found), **refusals}


def _without_room(snapshot: Snapshot, found: OfModel) -> Mapping[int, Reason]:
    if found.backend is None or not found.backend.needs_files:
        return {}
    return full(snapshot.workers, found.model, found.known.largest, snapshot.files)


def _unfit_hosts(snapshot: Snapshot, found: OfModel) -> dict[int, Reason]:
    """Driver, CANN or chip of these workers are documented not to go together with the engine's build."""
    if found.backend is None or found.backend.name not in JUDGED:
        return {}
    reasons = {}
    for worker in snapshot.workers:
        seen = seen_of(worker, snapshot.devices.get(worker.id or 0, ()), found.hosts)
        told = unfit(worker, seen, found.backend.name, found.model.backend_version, found.backend.device_kinds)
        if told is not None:
            reasons[worker.id or 0] = told.reason
            found.fixes |= {} if told.remedy is None else {worker.name: told.remedy}
    return reasons


def _by_name(snapshot: Snapshot, refusals: Mapping[int, Reason]) -> Mapping[str, Reason]:
    return {each.name: refusals[each.id or 0] for each in snapshot.workers if (each.id or 0) in refusals}


def _explain(this_round: Round, asked: Asked, answer: Unplaceable) -> Explain:
    """Once per question, however many instances ask it. Beyond what one round can bear, a row keeps its remedies."""
    key = (*asked.claims, repr(asked.of_model.wish), asked.name, asked.model.files_source, len(this_round.placed))
    before = asked.instance.remedies
    if key not in this_round.told and len(this_round.told) >= this_round.most_questions * (1 if before else 2):
        kept = tuple(Remedy(each["code"], each["params"], each["change"]) for each in before)
        return _explained(asked.instance, answer, kept)
    if key not in this_round.told:
        this_round.told[key] = _tell(this_round.question(asked), asked, answer)
    return _explained(asked.instance, *this_round.told[key])


def _tell(question: Question, asked: Asked, answer: Unplaceable) -> tuple[Unplaceable, tuple[Remedy, ...]]:
    subject = asked.of_model.subject
    if subject is None:
        return answer, offered(question, answer)
    told = with_numbers(subject, question, answer)
    fixes = [asked.of_model.fixes[each.worker] for each in told.reasons if each.worker in asked.of_model.fixes]
    return told, offered(question, told, [*variants(subject, question, told, asked.estimates), *fixes])


def _holdings(snapshot: Snapshot) -> Iterator[Holding]:
    names = {each.id: each.name for each in snapshot.workers}
    for each in snapshot.holding:
        called = _called(str((each.assigned or {}).get("model", "")), each.id or 0)
        for worker_id in filter(names.__contains__, holders(each)):
            devices = tuple(devices_on(each, worker_id))
            yield Holding(each.id or 0, called, names[worker_id], devices, claim_of(each.claim), each.model_name)


def _called(model: str, instance_id: int) -> str:
    return f"{instance_id} ({model})" if model else str(instance_id)


def _of(part: Part) -> tuple[str, tuple[int, ...]]:
    return part.worker, part.devices


def _with_refusals(found: tuple[Node, ...], refusals: Mapping[str, Reason]) -> tuple[Node, ...]:
    return tuple(replace(node, refusal=refusals[node.name]) if node.name in refusals else node for node in found)


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
    would_fit = isinstance(_place(this_round.if_gone(without), None, asked), Placement)
    return max(without) if would_fit else None


def placed(snapshot: Snapshot, asked: Asked, placement: Placement) -> Place:
    shares = _shares(snapshot, asked, placement)
    leads = shares[0]
    estimate = next(e for e in asked.estimates if granted(e.claim, asked.of_model.wish) == placement.claim)
    claim = claim_document(placement.claim)
    devices = placement.leader.devices
    assigned = {
        "id": asked.instance.id,
        "model": asked.model.name,
        "generation": asked.instance.generation,
        "source_revision": asked.model.source_revision,
        "backend": asked.name,
        "backend_spec": snapshot.custom_backends.get(asked.name),
        "options": asked.model.options,
        "env": asked.model.env,
        "devices": list(devices),
        "claim": claim,
        "context_length": estimate.context_length,
        "device_layers": estimate.device_layers,
        "restart_limit": asked.model.restart_limit,
        "trust_remote_code": asked.model.trust_remote_code,
        "allow_pickle": asked.model.allow_pickle,
        **leads.assigned,
    }
    memory = (
        None if estimate.memory is None else {**asdict(estimate.memory), "total_bytes": estimate.memory.total_bytes}
    )
    return Place(
        asked.instance.id or 0,
        leads.worker_id,
        devices,
        claim,
        memory,
        estimate.context_length,
        assigned,
        _measurement_key(asked, estimate, str(assigned["backend_version"])),
        leads.files,
        shares if len(shares) > 1 else (),
    )


def _shares(snapshot: Snapshot, asked: Asked, placement: Placement) -> tuple[PlaceMember, ...]:
    """In the order of the ranks; what is where differs from worker to worker."""
    workers = {each.name: each for each in snapshot.workers}
    kinds = kinds_of(placement.claim)
    return tuple([_share(asked, workers[part.worker], part, kinds) for part in placement.parts])


def _share(asked: Asked, worker: Worker, part: Part, kinds: frozenset[str]) -> PlaceMember:
    version = pick_version(worker, asked.name, asked.model.backend_version, kinds)
    assigned = {"source": _source(asked, worker), "backend_version": version}
    return PlaceMember(worker.id or 0, worker.name, part.devices, assigned, _files(asked, worker))


def _measurement_key(asked: Asked, estimate: Estimate, build: str) -> str | None:
    """None where nothing was estimated: a declared claim is the user's word."""
    subject = asked.of_model.subject
    return None if subject is None or estimate.memory is None else subject.key_of(estimate, build)


def _files(asked: Asked, worker: Worker) -> FilesWish | None:
    """A simulated worker holds none: the echo engine opens no file, and nobody wants its disk filled."""
    model, facts = asked.model, asked.of_model.known.facts.get(worker.id or 0)
    is_remote = sources.is_remote(model.source)
    if not is_remote or worker.simulated or not asked.backend.needs_files:
        return None
    form = facts.format if facts is not None and facts.format in {"gguf", "hf"} else None
    return FilesWish(model.source, model.source_revision, tuple(model.include), form)


def _source(asked: Asked, worker: Worker) -> str:
    """The path on that worker where one is known; what the user wrote where the backend does without."""
    if sources.is_remote(asked.model.source):
        return asked.model.files_source if worker.simulated else asked.model.source
    facts: ModelFacts | None = asked.of_model.known.facts.get(worker.id or 0)
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


def wish_of(model: Model) -> PlacementWish:
    wish = model.placement
    return PlacementWish(
        strategy=wish.get("strategy", "spread"),
        worker_labels=wish.get("worker_labels") or {},
        devices=tuple(wish.get("devices") or ()),
        workers=tuple(wish.get("workers") or ()),
        chips=tuple(wish.get("chips") or ()),
        apart=bool(wish.get("apart")),
        share_chips=bool(wish.get("share_chips")),
        priority=int(wish.get("priority") or 0),
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
