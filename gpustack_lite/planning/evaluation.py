"""Does it fit? Where, with which context, how much memory for what, and what would help if not."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from backends.base import Estimate
from gpustack_lite.domain import Claim, Memory, Placement, PlacementWish, Reason, Remedy, Sentence, Unplaceable
from gpustack_lite.errors import Refusal
from gpustack_lite.planning.cautions import cautions
from gpustack_lite.planning.numbers import numbers_of, with_numbers
from gpustack_lite.planning.subject import CONTEXT_OPTIONS, Subject
from gpustack_lite.planning.variants import variants
from scheduler import About, Explanation, Holding, Node, Question, answer, explain, granted, least_demanding, offered

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`estimate` is the one that was placed, or the one that the reasons speak of."""

    subject: Subject
    question: Question
    estimate: Estimate | None
    answer: Placement | Unplaceable
    remedies: tuple[Remedy, ...]
    warnings: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The workers without anything of ours, and what is held on them."""

    bare: tuple[Node, ...]
    holdings: tuple[Holding, ...] = ()
    known: tuple[Node, ...] = ()
    about: About | None = None


def evaluate(
    subject: Subject,
    around: Surroundings,
    wish: PlacementWish,
    others: Sequence[Subject] = (),
    name: str | None = None,
) -> Evaluation:
    """An engine that refuses is an answer like any other: it does not fit, and why. `name` is the model's."""
    estimates, refusal = tried(subject)
    claims = tuple(each.claim for each in estimates)
    about = around.about or about_of(subject, estimates, name)
    question = Question(around.bare, claims, wish, subject.name, around.holdings, about, around.known)
    found = answer(question) if refusal is None else _refused(refusal)
    warnings = cautions(subject, _devices(question, found), _workers(question, found))
    if isinstance(found, Placement):
        return Evaluation(subject, question, _estimate_of(estimates, found.claim, wish), found, (), warnings)
    found = with_numbers(subject, question, found)
    remedies = offered(question, found, variants(subject, question, found, estimates, others))
    chosen = _estimate_of(estimates, least_demanding(claims, wish), wish) if claims else None
    return Evaluation(subject, question, chosen, found, remedies, warnings)


def about_of(subject: Subject, estimates: Sequence[Estimate], name: str | None = None) -> About:
    heads = None if subject.facts is None else subject.facts.head_count
    return About(name, subject.source, heads, numbers_of(estimates))


def tried(subject: Subject) -> tuple[tuple[Estimate, ...], Refusal | None]:
    try:
        return subject.estimates(), None
    except Refusal as refusal:
        return (), refusal


def _refused(refusal: Refusal) -> Unplaceable:
    return Unplaceable((Reason(None, "model", refusal.code, refusal.params),))


def _estimate_of(estimates: Sequence[Estimate], claim: Claim, wish: PlacementWish) -> Estimate | None:
    """By the claim as it stands or as the wish makes it."""
    return next((each for each in estimates if claim in (each.claim, granted(each.claim, wish))), None)


def _devices(question: Question, found: Placement | Unplaceable) -> list[Any]:
    everywhere = [device for node in question.bare for device in node.devices]
    if not isinstance(found, Placement):
        return everywhere
    taken = set(found.addresses)
    return [device for node in question.bare for device in node.devices if f"{node.name}:{device.index}" in taken]


def _workers(question: Question, found: Placement | Unplaceable) -> tuple[Node, ...]:
    if not isinstance(found, Placement):
        return question.nodes
    return tuple(node for part in found.parts if (node := question.node(part.worker)) is not None)


def document(found: Evaluation) -> Document:
    """As the API answers; sentences are codes with params still."""
    placement = found.answer if isinstance(found.answer, Placement) else None
    why = None if isinstance(found.answer, Placement) else explain(found.answer, found.remedies)
    return {
        "fits": placement is not None,
        "source": found.subject.source,
        "backend": found.subject.name,
        "context_length": None if found.estimate is None else found.estimate.context_length,
        "context_reason": _spoken(_context_reason(found)),
        "offload": _offload(found.estimate),
        "parallel": {} if found.estimate is None else dict(found.estimate.parallel),
        "memory": None if found.estimate is None else memory_document(found.estimate),
        "placement": None if placement is None else placement_document(placement),
        "reasons": [] if why is None else [{**asdict(each), "params": dict(each.params)} for each in why.reasons],
        "reason_counts": {} if why is None else dict(why.reason_counts),
        "remedies": [remedy_document(each) for each in found.remedies],
        "warnings": [_spoken(each) for each in found.warnings],
        **_files_document(found),
    }


def _files_document(found: Evaluation) -> Document:
    """Of what lies on a hub: what would be fetched. The room is that of the worker, or of the one that has most."""
    facts = found.subject.facts
    rooms = [room for node in _workers(found.question, found.answer) if (room := node.room_on_disk_bytes) is not None]
    return {
        "download_bytes": None if facts is None else facts.download_bytes,
        "disk_free_bytes": max(rooms, default=None),
        "revision": None if facts is None else facts.revision,
        "files": [] if facts is None else list(facts.files),
    }


def unknown_document(source: str, backend: str | None, why: Explanation) -> Document:
    """Where nobody could tell what the model needs."""
    return {
        "fits": False,
        "source": source,
        "backend": backend,
        "context_length": None,
        "context_reason": _spoken(Sentence("context_unknown")),
        "offload": None,
        "parallel": {},
        "memory": None,
        "placement": None,
        "reasons": [{**asdict(each), "params": dict(each.params)} for each in why.reasons],
        "reason_counts": dict(why.reason_counts),
        "remedies": [],
        "warnings": [],
        "download_bytes": None,
        "disk_free_bytes": None,
        "revision": None,
        "files": [],
    }


def memory_document(estimate: Estimate) -> Document | None:
    """`terms` speak of the fullest device, the others of the whole replica."""
    memory, claim = estimate.memory, estimate.claim
    devices = {"per_device_bytes": claim.bytes_per_device, "device_count": claim.device_count * claim.worker_count}
    if memory is None:
        return None
    return {
        "weights_bytes": memory.weights_bytes,
        "kv_bytes_per_token": memory.kv_bytes_per_token,
        "kv_bytes": memory.kv_bytes,
        "activation_bytes": memory.activation_bytes,
        "overhead_bytes": memory.overhead_bytes,
        "total_bytes": memory.total_bytes,
        **devices,
        "ram_bytes": claim.ram_bytes,
        "is_measured": memory.is_measured,
        "measured_on": memory.measured_on,
        "measured_at": memory.measured_at,
        "figures": _spoken(_figures(memory)),
        "terms": [
            {"code": each.code, "size_bytes": each.size_bytes, "params": dict(each.params)} for each in memory.terms
        ],
    }


def answer_document(question: Question) -> Document:
    """What a question alone answers, without the engine: remedies that need other estimates are not among them."""
    found = answer(question)
    if isinstance(found, Placement):
        return {"placement": placement_document(found), "reasons": [], "reason_counts": {}, "remedies": []}
    why = explain(found, offered(question, found))
    return {
        "placement": None,
        "reasons": [{**asdict(each), "params": dict(each.params)} for each in why.reasons],
        "reason_counts": dict(why.reason_counts),
        "remedies": [remedy_document(each) for each in why.remedies],
    }


def placement_document(placement: Placement) -> Document:
    return {
        "worker": placement.leader.worker,
        "devices": list(placement.addresses),
        "parts": [{"worker": part.worker, "devices": list(part.devices)} for part in placement.parts],
    }


def remedy_document(remedy: Remedy) -> Document:
    return {"code": remedy.code, "params": dict(remedy.params), "change": dict(remedy.change)}


def _spoken(sentence: Sentence) -> Document:
    return {"code": sentence.code, "params": dict(sentence.params)}


def _offload(estimate: Estimate | None) -> Document | None:
    """How many layers lie on the device, of an engine that splits them between it and RAM."""
    terms = () if estimate is None or estimate.memory is None else estimate.memory.terms
    params = next((each.params for each in terms if "of_layers" in each.params), None)
    if params is None or estimate is None:
        return None
    sizes = {"device_bytes": estimate.claim.bytes_per_device, "ram_bytes": estimate.claim.ram_bytes}
    return _spoken(Sentence("layers_on_device", {**params, **sizes}))


def _figures(memory: Memory) -> Sentence:
    """Whether they were computed or measured, and in which load."""
    if not memory.is_measured:
        return Sentence("memory_estimated")
    return Sentence("memory_measured", {"worker": memory.measured_on, "at": memory.measured_at})


def _context_reason(found: Evaluation) -> Sentence:
    context = None if found.estimate is None else found.estimate.context_length
    trained = found.subject.facts.trained_context_length if found.subject.facts else None
    if context is None:
        return Sentence("context_unknown")
    if found.subject.given(CONTEXT_OPTIONS):
        return Sentence("context_asked", {"context_length": context})
    if trained is not None and context >= trained:
        return Sentence("context_trained", {"context_length": context})
    return Sentence("context_shortened", {"context_length": context, "trained_length": trained})
