"""Other ways to run the same model that would fit: each is estimated and placed before it is offered."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from backends.base import Estimate
from gpustack_lite.domain import Claim, Params, Placement, Remedy, Unplaceable
from gpustack_lite.planning.subject import CONTEXT_OPTIONS, TENSOR_OPTIONS, Subject
from scheduler import Question, least_demanding, place
from scheduler.remedies import new_worker

STEP = 256
SHORTEST = 512
REFINEMENTS = 5
NEAREST_WORKERS = 32


def variants(
    subject: Subject,
    question: Question,
    refused: Unplaceable,
    estimates: Sequence[Estimate] = (),
    others: Sequence[Subject] = (),
) -> Iterator[Remedy]:
    """`estimates` are those that were refused; `others` the same model in other files, such as a quantised one."""
    yield from _shorter_context(subject, _nearest(question, refused), estimates)
    yield from _more_devices(subject, question)
    for other in others:
        yield from _other_source(other, question)


def _nearest(question: Question, refused: Unplaceable) -> Question:
    """Many contexts are tried, so on a thousand workers only the nearest are asked; one that fits there does fit."""
    found = [question.node(reason.worker) for reason in refused.reasons[:NEAREST_WORKERS]]
    nodes = tuple(node for node in found if node is not None)
    if not nodes or question.wish.devices or any(claim.worker_count > 1 for claim in question.claims):
        return question
    return replace(question, known=nodes)


def _shorter_context(subject: Subject, question: Question, estimates: Sequence[Estimate]) -> Iterator[Remedy]:
    """The longest that fits, found by halving and then closing in; contexts are whole steps."""
    option, at_most = subject.context_option, _asked_context(subject, estimates)
    if option is None or at_most is None:
        return
    context, placement, too_long = _halved(subject, question, at_most)
    for _ in range(REFINEMENTS):
        middle = (context + too_long) // 2 // STEP * STEP
        if placement is None or middle <= context or middle >= too_long:
            break
        better = _with_context(subject, question, middle)
        context, placement, too_long = (middle, better, too_long) if better else (context, placement, middle)
    if placement is not None:
        others = dict.fromkeys(name for name in subject.given(CONTEXT_OPTIONS) if name != option)
        params: Params = {"context_length": context, "worker": placement.leader.worker}
        yield Remedy("shorten_context", params, {"options": {**others, option: context}})


def _halved(subject: Subject, question: Question, at_most: int) -> tuple[int, Placement | None, int]:
    """The first half, quarter, ... that is placed, and the length above it that was not."""
    too_long, context = at_most, _step_below(at_most // 2 + 1)
    while context >= SHORTEST:
        if (placement := _with_context(subject, question, context)) is not None:
            return context, placement, too_long
        too_long, context = context, _step_below(context // 2 + 1)
    return 0, None, too_long


def _step_below(context: int) -> int:
    return context // STEP * STEP


def _asked_context(subject: Subject, estimates: Sequence[Estimate]) -> int | None:
    """The shortest that was tried and refused."""
    tried = [each.context_length for each in estimates if each.context_length]
    trained = subject.facts.trained_context_length if subject.facts else None
    given = [value for value in subject.given(CONTEXT_OPTIONS).values() if isinstance(value, int)]
    return min(tried, default=None) or next(iter(given), None) or trained


def _with_context(subject: Subject, question: Question, context: int) -> Placement | None:
    given = dict.fromkeys(subject.given(CONTEXT_OPTIONS))
    return _placed(question, subject.changed(**{**given, subject.context_option or "": context}).claims())


def _more_devices(subject: Subject, question: Question) -> Iterator[Remedy]:
    """Where a number of devices was asked for that is too few: the next that fits."""
    given, option = subject.given(TENSOR_OPTIONS), subject.tensor_option
    if option is None or not (given or subject.picked_count):
        return
    claims = replace(subject.changed(**dict.fromkeys(given)), picked_count=None).claims()
    free = replace(question, wish=replace(question.wish, devices=()), claims=claims)
    placement = _placed(free, claims)
    elsewhere = _on_a_new_worker(free) if placement is None and claims else None
    claim = placement.claim if placement else elsewhere
    if claim is None or claim.device_count < 2:
        return
    count = claim.device_count * claim.worker_count
    change: dict[str, object] = {"options": {**dict.fromkeys(given), option: count}}
    if question.wish.devices:
        change["placement"] = {"devices": []}
    if placement is not None:
        params: Params = {"device_count": count, "worker": placement.leader.worker}
        yield Remedy("use_more_devices", params, change)
    else:
        chips = ", ".join(sorted(claim.chips or claim.device_kinds))
        sizes: Params = {"device_count": count, "chips": chips, "needed_bytes": claim.bytes_per_device}
        yield Remedy("use_more_devices_elsewhere", sizes, change)


def _on_a_new_worker(question: Question) -> Claim | None:
    """The least demanding claim, where a worker made for it would take it."""
    claim = least_demanding(question.claims, question.wish)
    node = new_worker(claim, question.backend, question.wish.worker_labels)
    answer = place((node,), (claim,), question.wish, backend=question.backend, about=question.about)
    return claim if isinstance(answer, Placement) else None


def _other_source(other: Subject, question: Question) -> Iterator[Remedy]:
    placement = _placed(replace(question, backend=other.name), other.claims())
    if placement is not None:
        change = {"source": other.source, "backend": other.name}
        yield Remedy("use_variant", {"source": other.source, "worker": placement.leader.worker}, change)


def _placed(question: Question, claims: Sequence[Claim]) -> Placement | None:
    answer = place(question.nodes, claims, question.wish, backend=question.backend, about=question.about)
    return answer if isinstance(answer, Placement) else None
