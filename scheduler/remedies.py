"""What a person could change so that a claim fits; each change is placed before it is offered."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpustack_lite.domain import Claim, Device, Placement, PlacementWish, Reason, Remedy, Unplaceable
from scheduler.ending import fewest_to_end
from scheduler.nearness import missing_bytes
from scheduler.node import SOUND, Node
from scheduler.place import place
from scheduler.question import Question
from scheduler.rank import NETWORK

NEAREST_WORKERS = 4
"""On so many workers per kind of reason a change is tried; the nearest that helps is offered."""
RANKS: tuple[str, ...] = (
    *("choose_other_devices", "use_more_devices", "share_chips", "shorten_context", "use_variant"),
    *("allow_workers", "allow_chips", "allow_together", "resume_worker", "wait_for_reading"),
    *(
        "uncordon",
        "change_labels",
        "label_worker",
        "label_network",
        "stop_instances",
        "free_device_memory",
        "free_ram",
        "free_disk",
    ),
    *("start_worker", "bring_backend", "mend_devices", "ask_doctor"),
    *(
        "use_more_devices_elsewhere",
        "join_worker_with_devices",
        "join_worker_with_ram",
        "join_worker",
        "join_labelled_worker",
    ),
)
"""Nearest first: a change of the model, then of a worker, then the end of something else, then new hardware."""
_IMAGINED_BYTES = 1024**5


class Trial(NamedTuple):
    """A remedy, and the question as it would be once somebody did what it says."""

    remedy: Remedy
    nodes: Sequence[Node]
    claims: Sequence[Claim]
    wish: PlacementWish

    def helps(self, question: Question) -> bool:
        answer = place(self.nodes, self.claims, self.wish, backend=question.backend, about=question.about)
        return isinstance(answer, Placement)


def offered(question: Question, refused: Unplaceable, tried: Iterable[Remedy] = ()) -> tuple[Remedy, ...]:
    """At most one remedy per code; `tried` are those that only the caller can think of, such as other options."""
    helping = (trial.remedy for trial in _of_the_wish(question) if trial.helps(question))
    of_workers = (*_of_workers(question, refused), *fewest_to_end(question, refused), *_of_new_workers(question))
    found: dict[str, Remedy] = {}
    for remedy in (*tried, *helping, *of_workers):
        found.setdefault(remedy.code, remedy)
    return tuple(sorted(found.values(), key=_rank))


def _rank(remedy: Remedy) -> int:
    return RANKS.index(remedy.code) if remedy.code in RANKS else 0


def _of_the_wish(question: Question) -> Iterator[Trial]:
    nodes, claims, wish = question.nodes, question.claims, question.wish
    if wish.devices:
        elsewhere = Remedy("choose_other_devices", {"devices": ", ".join(wish.devices)}, {"placement": {"devices": []}})
        yield Trial(elsewhere, nodes, claims, replace(wish, devices=()))
    if wish.workers:
        anywhere = Remedy("allow_workers", {"workers": ", ".join(wish.workers)}, {"placement": {"workers": []}})
        yield Trial(anywhere, nodes, claims, replace(wish, workers=()))
    if wish.chips:
        any_chip = Remedy("allow_chips", {"chips": ", ".join(wish.chips)}, {"placement": {"chips": []}})
        yield Trial(any_chip, nodes, claims, replace(wish, chips=()))
    if wish.apart:
        together = Remedy("allow_together", {}, {"placement": {"apart": False}})
        yield Trial(together, nodes, claims, replace(wish, apart=False))
    if not wish.share_chips and any(claim.may_share for claim in claims):
        sharing = Remedy("share_chips", {}, {"placement": {"share_chips": True}})
        yield Trial(sharing, nodes, claims, replace(wish, share_chips=True))
    if any(claim.worker_count > 1 for claim in claims) and len({node.labels.get(NETWORK) for node in nodes}) > 1:
        joined = [replace(node, labels={**node.labels, NETWORK: ""}) for node in nodes]
        yield Trial(Remedy("label_network", {"label": NETWORK}), joined, claims, wish)


def _of_workers(question: Question, refused: Unplaceable) -> Iterator[Remedy]:
    for code, reasons in _by_code(refused.reasons).items():
        for change in _CHANGES.get(code, ()):
            tried = (change(question, node, reason) for reason, node in _nearest(question, reasons))
            if (remedy := next((each for each in tried if each is not None), None)) is not None:
                yield remedy


def _by_code(reasons: Sequence[Reason]) -> Mapping[str, list[Reason]]:
    found: dict[str, list[Reason]] = {}
    for reason in reasons:
        found.setdefault(reason.code, []).append(reason)
    return found


def _nearest(question: Question, reasons: Sequence[Reason]) -> Iterator[tuple[Reason, Node]]:
    for reason in reasons[:NEAREST_WORKERS]:
        if (node := question.node(reason.worker)) is not None:
            yield reason, node


def _if(question: Question, node: Node, wish: PlacementWish | None = None) -> Placement | None:
    """Where it would go if this worker were like that; the others refuse already, unless a replica needs several."""
    nodes, wish = _with(question, node), wish or question.wish
    answer = place(nodes, question.claims, wish, backend=question.backend, about=question.about)
    return answer if isinstance(answer, Placement) else None


def _with(question: Question, node: Node) -> Sequence[Node]:
    if all(claim.worker_count == 1 for claim in question.claims):
        return (node,)
    return [node if each.name == node.name else each for each in question.nodes]


def _start(question: Question, node: Node, reason: Reason) -> Remedy | None:
    helps = _if(question, replace(node, alive=True))
    return Remedy("start_worker", {"worker": node.name}) if helps else None


def _label(question: Question, node: Node, reason: Reason) -> Remedy | None:
    wanted = question.wish.worker_labels
    helps = _if(question, replace(node, labels={**node.labels, **wanted}))
    missing = ", ".join(f"{key}={value}" for key, value in sorted(wanted.items()) if node.labels.get(key) != value)
    return Remedy("label_worker", {"worker": node.name, "labels": missing}) if helps else None


def _ask_without_labels(question: Question, node: Node, reason: Reason) -> Remedy | None:
    """The patch drops the labels that the worker lacks; null removes a key in a merge patch."""
    wanted = question.wish.worker_labels
    kept = {key: value for key, value in wanted.items() if node.labels.get(key) == value}
    if _if(question, node, replace(question.wish, worker_labels=kept)) is None:
        return None
    dropped = sorted(wanted.keys() - kept.keys())
    change = {"placement": {"worker_labels": dict.fromkeys(dropped)}}
    shown = ", ".join(f"{key}={wanted[key]}" for key in dropped)
    return Remedy("change_labels", {"worker": node.name, "labels": shown}, change)


def _bring(question: Question, node: Node, reason: Reason) -> Remedy | None:
    backend = question.backend or ""
    helps = _if(question, replace(node, backends=node.backends | {backend}))
    return Remedy("bring_backend", {"worker": node.name, "backend": backend}) if helps else None


def _uncordon(question: Question, node: Node, reason: Reason) -> Remedy | None:
    used = _used_of(question, node, [each for each in node.devices if not each.schedulable], schedulable=True)
    return Remedy("uncordon", {"devices": used}) if used else None


def _mend(question: Question, node: Node, reason: Reason) -> Remedy | None:
    used = _used_of(question, node, [each for each in node.devices if each.health not in SOUND], health="ok")
    return Remedy("mend_devices", {"worker": node.name, "devices": used}) if used else None


def _used_of(question: Question, node: Node, changed: Sequence[Device], **change: object) -> str:
    """Which of these a replica would take if each were like that; empty where it would not help."""
    indices = {each.index for each in changed}
    better = tuple(replace(each, **change) if each.index in indices else each for each in node.devices)  # type: ignore[arg-type]
    found = _if(question, replace(node, devices=better))
    ours = [part.devices for part in found.parts if part.worker == node.name] if found else []
    return ", ".join(f"{node.name}:{index}" for devices in ours for index in devices if index in indices)


def _free_foreign(question: Question, node: Node, reason: Reason) -> Remedy | None:
    missing = missing_bytes(reason)
    used = {index: node.foreign_bytes(index) for index in (each.index for each in node.devices)}
    less = {index: max(0, each - missing) for index, each in used.items() if each is not None}
    if _if(question, replace(node, foreign={**node.foreign, **less})) is None:
        return None
    count = reason.params["needed_count"]
    return Remedy("free_device_memory", {"worker": node.name, "missing_bytes": missing, "device_count": count})


def _free_ram(question: Question, node: Node, reason: Reason) -> Remedy | None:
    missing, used = missing_bytes(reason), node.ram_foreign_bytes or 0
    if missing > used or _if(question, replace(node, ram_foreign_bytes=used - missing)) is None:
        return None
    return Remedy("free_ram", {"worker": node.name, "missing_bytes": missing})


def _resume(question: Question, node: Node, reason: Reason) -> Remedy | None:
    helps = _if(question, replace(node, drained=False))
    return Remedy("resume_worker", {"worker": node.name}) if helps else None


def _wait(question: Question, node: Node, reason: Reason) -> Remedy | None:
    """True where others use no more than they did."""
    helps = _if(question, replace(node, reading_age_seconds=0.0))
    return Remedy("wait_for_reading", {"worker": node.name}) if helps else None


def _free_disk(question: Question, node: Node, reason: Reason) -> Remedy | None:
    missing = missing_bytes(reason)
    helps = _if(question, replace(node, disk_free_bytes=(node.disk_free_bytes or 0) + missing))
    return Remedy("free_disk", {"worker": node.name, "missing_bytes": missing}) if helps else None


def _ask_doctor(question: Question, node: Node, reason: Reason) -> Remedy | None:
    """True where the readings that are missing turn out to be good."""
    return Remedy("ask_doctor", {"worker": node.name}) if _if(question, with_good_readings(node)) else None


def with_good_readings(node: Node) -> Node:
    silent = {each.index: 0 for each in node.devices if node.foreign_bytes(each.index) is None}
    devices = tuple(
        replace(each, memory_total_bytes=_IMAGINED_BYTES) if each.memory_total_bytes is None else each
        for each in node.devices
    )
    return replace(
        node,
        devices=devices,
        foreign={**node.foreign, **silent},
        ram_total_bytes=_IMAGINED_BYTES if node.ram_total_bytes is None else node.ram_total_bytes,
        ram_foreign_bytes=node.ram_foreign_bytes or 0,
        disk_free_bytes=_IMAGINED_BYTES if node.disk_free_bytes is None else node.disk_free_bytes,
    )


def _of_new_workers(question: Question) -> Iterator[Remedy]:
    """A worker made for the least demanding claim, if that would be taken."""
    if not question.claims:
        return
    claim, labels = min(question.claims, key=_size), question.wish.worker_labels
    if _if(question, new_worker(claim, question.backend, labels)) is None:
        return
    if not question.bare:
        yield Remedy("join_worker")
    elif labels:
        yield Remedy("join_labelled_worker", {"labels": ", ".join(f"{key}={labels[key]}" for key in sorted(labels))})
    elif claim.device_count == 0:
        yield Remedy("join_worker_with_ram", {"needed_bytes": claim.ram_bytes})
    else:
        chips = ", ".join(sorted(claim.chips or claim.device_kinds))
        numbers = {"needed_count": claim.device_count, "needed_bytes": claim.bytes_per_device}
        yield Remedy("join_worker_with_devices", {"chips": chips, **numbers})


def _size(claim: Claim) -> tuple[int, int]:
    return claim.device_count * claim.bytes_per_device + claim.ram_bytes, claim.device_count


def new_worker(claim: Claim, backend: str | None, labels: Mapping[str, str]) -> Node:
    """One that is empty and as big as the claim asks."""
    name, kind = "\N{REPLACEMENT CHARACTER}", sorted(claim.device_kinds)[0]
    chip = next(iter(sorted(claim.chips)), "new")
    devices = tuple(
        Device(name, index, kind, chip, claim.bytes_per_device, memory_used_bytes=0, health="ok")
        for index in range(claim.device_count)
    )
    return Node(
        name,
        labels=labels,
        devices=devices,
        device_reserve_bytes=0,
        ram_total_bytes=claim.ram_bytes,
        disk_free_bytes=claim.disk_bytes,
        backends=frozenset({backend} if backend else ()),
    )


_Change = Callable[[Question, Node, Reason], Remedy | None]
_CHANGES: Mapping[str, tuple[_Change, ...]] = {
    "worker_silent": (_start,),
    "labels_differ": (_ask_without_labels, _label),
    "backend_missing": (_bring,),
    "devices_not_usable": (_uncordon, _mend),
    "devices_cordoned": (_uncordon, _mend),
    "devices_isolated": (_uncordon, _mend),
    "device_memory_unknown": (_ask_doctor,),
    "ram_unknown": (_ask_doctor,),
    "not_enough_device_memory": (_free_foreign, _uncordon),
    "not_enough_memory_for_terms": (_free_foreign, _uncordon),
    "not_enough_memory_as_measured": (_free_foreign, _uncordon),
    "foreign_memory": (_free_foreign, _uncordon),
    "drained": (_resume,),
    "reading_stale": (_wait,),
    "not_enough_disk": (_free_disk,),
    "disk_unknown": (_ask_doctor,),
    "chips_taken": (_uncordon,),
    "not_enough_ram": (_free_ram,),
    "not_enough_ram_as_measured": (_free_ram,),
}
"""By the code of the reason. A refusal of the caller says itself what to do."""
