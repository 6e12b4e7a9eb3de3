"""Why not: one small question per fact, asked in order; the first that answers is the worker's reason."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gpustack_lite.domain import Claim, Params, PlacementWish, Reason
from scheduler.node import Node, Pool, pool_of


class Ask(NamedTuple):
    """What is being placed. `chosen` are the hand-picked device indices by worker, None where nothing was picked."""

    claim: Claim
    wish: PlacementWish
    backend: str | None = None
    chosen: Mapping[str, tuple[int, ...]] | None = None


class View(NamedTuple):
    """One worker as one claim sees it. `pools` hold the devices that may serve it together, of the right kind."""

    node: Node
    ask: Ask
    pools: tuple[Pool, ...]


def split_address(address: str) -> tuple[str, int]:
    """Worker and device index of "w1:0"; what is no index becomes -1, which no device has."""
    worker, _, index = address.rpartition(":")
    return worker, int(index) if index.isdecimal() and len(index) < 10 else -1


def view(node: Node, ask: Ask) -> View:
    if ask.claim.device_count == 0:
        return View(node, ask, ())
    if ask.chosen is not None:
        return View(node, ask, _chosen_pools(node, ask))
    kinds = ask.claim.device_kinds
    return View(node, ask, tuple([pool for pool in node.pools if pool.kind in kinds]))


def _chosen_pools(node: Node, ask: Ask) -> tuple[Pool, ...]:
    """Who picks by hand may mix chips, never kinds."""
    chosen = (ask.chosen or {}).get(node.name, ())
    spaces = [space for pool in node.pools for space in pool.spaces if space.device in chosen]
    kinds = sorted({space.kind for space in spaces} & ask.claim.device_kinds)
    return tuple(pool_of([space for space in spaces if space.kind == kind]) for kind in kinds)


def is_alive(seen: View) -> Reason | None:
    if seen.node.alive:
        return None
    return Reason(seen.node.name, "alive", "worker_silent", {"worker": seen.node.name})


def has_the_labels(seen: View) -> Reason | None:
    wanted, labels = seen.ask.wish.worker_labels, seen.node.labels
    missing = [f"{key}={value}" for key, value in sorted(wanted.items()) if labels.get(key) != value]
    if not missing:
        return None
    return Reason(seen.node.name, "labels", "labels_differ", {"worker": seen.node.name, "labels": ", ".join(missing)})


def has_the_backend(seen: View) -> Reason | None:
    backend = seen.ask.backend
    if backend is None or backend in seen.node.backends:
        return None
    return Reason(seen.node.name, "backend", "backend_missing", {"worker": seen.node.name, "backend": backend})


def accepts_the_model(seen: View) -> Reason | None:
    return seen.node.refusal


def has_the_chosen(seen: View) -> Reason | None:
    if seen.ask.chosen is None:
        return None
    chosen, there = seen.ask.chosen[seen.node.name], {device.index for device in seen.node.devices}
    name, count = seen.node.name, seen.ask.claim.device_count
    for address in seen.ask.wish.devices:
        if split_address(address)[1] not in there:
            return Reason(name, "chosen", "chosen_device_unknown", {"worker": name, "device": address})
    if len(chosen) != count:
        return Reason(name, "chosen", "chosen_count_differs", {"chosen_count": len(chosen), "needed_count": count})
    return None


def has_the_kind(seen: View) -> Reason | None:
    if seen.pools or seen.ask.claim.device_count == 0:
        return None
    kinds = ", ".join(sorted(seen.ask.claim.device_kinds))
    return Reason(seen.node.name, "kind", "kind_missing", {"worker": seen.node.name, "kinds": kinds})


def has_enough_devices(seen: View) -> Reason | None:
    needed, there = seen.ask.claim.device_count, max([len(pool.spaces) for pool in seen.pools], default=0)
    if there >= needed:
        return None
    params: Params = {"worker": seen.node.name, "needed_count": needed, "device_count": there}
    return Reason(seen.node.name, "count", "too_few_devices", params)


def has_enough_usable(seen: View) -> Reason | None:
    needed, usable = seen.ask.claim.device_count, max([pool.usable_count for pool in seen.pools], default=0)
    if usable >= needed:
        return None
    params: Params = {"worker": seen.node.name, "needed_count": needed, "usable_count": usable}
    return Reason(seen.node.name, "health", "devices_not_usable", params)


def has_enough_readings(seen: View) -> Reason | None:
    needed, known = seen.ask.claim.device_count, max([len(pool.known_free_bytes) for pool in seen.pools], default=0)
    if known >= needed:
        return None
    params: Params = {"worker": seen.node.name, "needed_count": needed, "known_count": known}
    return Reason(seen.node.name, "reading", "device_memory_unknown", params)


def has_enough_memory(seen: View) -> Reason | None:
    """The free bytes it tells are those of the N-th freest device: what a claim on N devices finds on each."""
    count, needed = seen.ask.claim.device_count, seen.ask.claim.bytes_per_device
    if count == 0:
        return None
    free = max(pool.known_free_bytes[count - 1] for pool in seen.pools if len(pool.known_free_bytes) >= count)
    if free >= needed:
        return None
    free = max(0, free)
    params: Params = {
        "worker": seen.node.name,
        "needed_count": count,
        "needed_bytes": needed,
        "free_bytes": free,
    }
    return Reason(seen.node.name, "memory", "not_enough_device_memory", params, needed, free)


def has_enough_untaken(seen: View) -> Reason | None:
    claim = seen.ask.claim
    untaken = max([fitting_count(pool, claim) for pool in seen.pools], default=0)
    if untaken >= claim.device_count:
        return None
    params: Params = {"worker": seen.node.name, "needed_count": claim.device_count, "untaken_count": untaken}
    return Reason(seen.node.name, "whole_chip", "chips_taken", params)


def has_enough_ram(seen: View) -> Reason | None:
    needed, free, name = seen.ask.claim.ram_bytes, seen.node.free_ram_bytes, seen.node.name
    if needed == 0:
        return None
    if free is None:
        return Reason(name, "ram", "ram_unknown", {"worker": name, "needed_bytes": needed}, needed)
    if free >= needed:
        return None
    free = max(0, free)
    params: Params = {"worker": name, "needed_bytes": needed, "free_bytes": free}
    return Reason(name, "ram", "not_enough_ram", params, needed, free)


def fitting_count(pool: Pool, claim: Claim) -> int:
    """How many devices pass every check of a single device: those at the front of `rooms`."""
    return bisect_right(pool.rooms, -claim.bytes_per_device, key=lambda room: -room.free_bytes)


def takes(pool: Pool, claim: Claim) -> bool:
    """The short way through the checks of devices: what fits has passed each of them."""
    rooms, count = pool.rooms, claim.device_count
    return len(rooms) >= count and (count == 0 or rooms[count - 1].free_bytes >= claim.bytes_per_device)


Check = Callable[[View], Reason | None]
OF_WORKERS: tuple[Check, ...] = (is_alive, has_the_labels, has_the_backend, accepts_the_model, has_the_chosen)
OF_DEVICES: tuple[Check, ...] = (
    has_the_kind,
    has_enough_devices,
    has_enough_usable,
    has_enough_readings,
    has_enough_memory,
    has_enough_untaken,
)
ORDER: tuple[str, ...] = (
    *("alive", "labels", "backend", "model", "chosen", "kind"),
    *("count", "health", "reading", "memory", "whole_chip", "ram"),
)
"""The names of the checks in their order; a refusal of the caller may carry a name of its own and counts as `model`."""


def why_not(seen: View) -> Reason | None:
    """The first check that fails."""
    for check in OF_WORKERS:
        if (reason := check(seen)) is not None:
            return reason
    claim = seen.ask.claim
    if claim.device_count > 0 and not any([takes(pool, claim) for pool in seen.pools]):
        for check in OF_DEVICES:
            if (reason := check(seen)) is not None:
                return reason
    return has_enough_ram(seen)
