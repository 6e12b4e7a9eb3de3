"""What a person could change so that a claim fits: one remedy per kind of reason, from the worker that came nearest."""

from collections.abc import Callable, Mapping, Sequence

from gpustack_lite.domain import PlacementWish, Reason, Remedy
from scheduler.checks import ORDER

_PLACES = {check: place for place, check in enumerate(ORDER)}
_ELSEWHERE: Mapping[str, object] = {"placement": {"devices": []}}


def nearest_first(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Whoever failed the latest check, and there by the least bytes, is nearest; names break ties."""
    return tuple(sorted(reasons, key=_distance))


def _distance(reason: Reason) -> tuple[int, int, str]:
    place = _PLACES.get(reason.check, _PLACES["model"])
    return -place, _missing_bytes(reason), reason.worker or ""


def _missing_bytes(reason: Reason) -> int:
    return (reason.needed_bytes or 0) - (reason.free_bytes or 0)


def remedies(ordered: Sequence[Reason], wish: PlacementWish) -> tuple[Remedy, ...]:
    """`ordered` is nearest first, and so are the remedies."""
    nearest: dict[str, Reason] = {}
    for reason in ordered:
        nearest.setdefault(reason.code, reason)
    found = [_REMEDIES[code](reason, wish) for code, reason in nearest.items() if code in _REMEDIES]
    if wish.devices and all(remedy.change != _ELSEWHERE for remedy in found):
        found.append(_choose_other_devices(ordered[0], wish))
    return tuple(found)


def _free_device_memory(reason: Reason, wish: PlacementWish) -> Remedy:
    count = reason.params["needed_count"]
    missing = _missing_bytes(reason)
    return Remedy("free_device_memory", {"worker": reason.worker, "missing_bytes": missing, "device_count": count})


def _free_ram(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("free_ram", {"worker": reason.worker, "missing_bytes": _missing_bytes(reason)})


def _free_chips(reason: Reason, wish: PlacementWish) -> Remedy:
    needed, untaken = reason.params["needed_count"], reason.params["untaken_count"]
    missing = int(needed or 0) - int(untaken or 0)
    return Remedy("free_chips", {"worker": reason.worker, "missing_count": missing})


def _mend_devices(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("mend_devices", {"worker": reason.worker})


def _ask_doctor(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("ask_doctor", {"worker": reason.worker})


def _join_bigger_worker(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("join_bigger_worker", {"needed_count": reason.params["needed_count"]})


def _join_worker_with_kind(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("join_worker_with_kind", {"kinds": reason.params["kinds"]})


def _choose_other_devices(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("choose_other_devices", {"devices": ", ".join(wish.devices)}, _ELSEWHERE)


def _bring_backend(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("bring_backend", {"worker": reason.worker, "backend": reason.params["backend"]})


def _change_labels(reason: Reason, wish: PlacementWish) -> Remedy:
    """The patch drops the labels that the worker lacks; null removes a key in a merge patch."""
    keys = [each.partition("=")[0] for each in str(reason.params["labels"]).split(", ")]
    change = {"placement": {"worker_labels": dict.fromkeys(keys)}}
    return Remedy("change_labels", {"worker": reason.worker, "labels": reason.params["labels"]}, change)


def _start_worker(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("start_worker", {"worker": reason.worker})


def _join_worker(reason: Reason, wish: PlacementWish) -> Remedy:
    return Remedy("join_worker")


_REMEDIES: Mapping[str, Callable[[Reason, PlacementWish], Remedy]] = {
    "not_enough_ram": _free_ram,
    "ram_unknown": _ask_doctor,
    "chips_taken": _free_chips,
    "not_enough_device_memory": _free_device_memory,
    "device_memory_unknown": _ask_doctor,
    "devices_not_usable": _mend_devices,
    "too_few_devices": _join_bigger_worker,
    "kind_missing": _join_worker_with_kind,
    "chosen_device_unknown": _choose_other_devices,
    "chosen_count_differs": _choose_other_devices,
    "chosen_on_several_workers": _choose_other_devices,
    "chosen_worker_unknown": _choose_other_devices,
    "backend_missing": _bring_backend,
    "labels_differ": _change_labels,
    "worker_silent": _start_worker,
    "no_workers": _join_worker,
}
"""By the code of the reason. A refusal of the caller says itself what to do."""
