"""Puts numbers to refusals: what the bytes are made of, and what too few devices would have to hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from backends.base import Estimate
from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, Memory, Params, Reason, Term, Unplaceable
from gpustack_lite.errors import Refusal
from gpustack_lite.planning.subject import Subject, examples
from scheduler import Node, Question

MOST_WORKERS = 20


def numbers_of(estimates: Iterable[Estimate]) -> Mapping[Claim, Params]:
    """What a refusal tells of the bytes on one device, where the backend says what they are made of."""
    known = {each.claim: each.memory for each in estimates if each.memory is not None and each.memory.terms}
    return {claim: _numbers(memory) for claim, memory in known.items()}


def _numbers(memory: Memory) -> Params:
    said: Params = {"terms": _sum_of(memory.terms)}
    if not memory.is_measured:
        return said
    return {**said, "measured_on": memory.measured_on, "measured_at": memory.measured_at}


def _sum_of(terms: Sequence[Term]) -> str:
    """Such as "27.51 + 0.63 + 1.8 GiB"."""
    return " + ".join([f"{each.size_bytes / GIB:.2f}".rstrip("0").rstrip(".") for each in terms]) + " GiB"


def with_numbers(subject: Subject, question: Question, refused: Unplaceable) -> Unplaceable:
    """The engine is asked once more for as many devices as the worker has, and its refusal has the numbers."""
    said: dict[object, Reason | None] = {}
    reasons = [_told(subject, question, each, said) for each in refused.reasons[:MOST_WORKERS]]
    return replace(refused, reasons=(*reasons, *refused.reasons[MOST_WORKERS:]))


def _told(subject: Subject, question: Question, reason: Reason, said: dict[object, Reason | None]) -> Reason:
    node, count = question.node(reason.worker), int(reason.params.get("device_count") or 0)
    if reason.code != "too_few_devices" or node is None or count == 0:
        return reason
    key = (count, examples([node]))
    if key not in said:
        said[key] = _too_small(subject, node, count)
    found = said[key]
    return reason if found is None else replace(found, worker=node.name, check=reason.check)


def _too_small(subject: Subject, node: Node, count: int) -> Reason | None:
    """Of the most devices that the engine can use there."""
    for fewer in range(count, 0, -1):
        try:
            replace(subject, devices=examples([node]), picked_count=fewer).estimates()
        except Refusal as refusal:
            if refusal.code == "does_not_fit":
                return _reason(refusal)
    return None


def _reason(refusal: Refusal) -> Reason:
    params = refusal.params
    needed = sum(int(params.get(name) or 0) for name in ("weights_bytes", "cache_bytes", "rest_bytes"))
    return Reason(None, "count", refusal.code, params, needed, int(params.get("budget_bytes") or 0))
