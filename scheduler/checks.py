"""Why not: one small question per fact, asked in order; the first that answers is the worker's reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gpustack_lite.domain import Claim, Params, PlacementWish, Reason
from scheduler.node import Node
from scheduler.pools import Pool, fitting, pool_of

READING_TRUSTED_SECONDS = 90.0
"""Nine heartbeats. What others use may be anything by then: a server that was away starts with old readings."""


@dataclass(frozen=True)
class About:
    """For whom something is placed: facts of the model that decide where it may go and what a refusal tells.

    `numbers` by claim go into a refusal for want of memory; with `terms`, such as "27.51 + 0.63 + 1.8 GiB", they say
    what the bytes are made of.
    """

    model: str | None = None
    source: str | None = None
    head_count: int | None = None
    numbers: Mapping[Claim, Params] = field(default_factory=dict)


NOBODY = About()


class Ask(NamedTuple):
    """What is being placed. `chosen` are the hand-picked device indices by worker, None where nothing was picked.

    `shares`: it may enter a chip that others of us share; `chips` are those allowed by claim and wish, None for any.
    `counts` are the numbers of devices on which some claim of the question runs.
    """

    claim: Claim
    wish: PlacementWish
    backend: str | None = None
    about: About = NOBODY
    chosen: Mapping[str, tuple[int, ...]] | None = None
    shares: bool = False
    chips: frozenset[str] | None = None
    counts: tuple[int, ...] = ()


class View(NamedTuple):
    """One worker as one claim sees it. `pools` hold the devices that may serve it together, of the right kind."""

    node: Node
    ask: Ask
    pools: tuple[Pool, ...]


def granted(claim: Claim, wish: PlacementWish) -> Claim:
    """The claim as it is held: a chip is shared where the engine can and the user wants it."""
    if claim.may_share == wish.share_chips or not claim.may_share:
        return claim
    return replace(claim, may_share=False)


def allowed_chips(claim: Claim, wish: PlacementWish) -> frozenset[str] | None:
    """In small letters; None where neither the engine nor the user names any."""
    of_claim, of_wish = (frozenset({chip.casefold() for chip in chips}) for chips in (claim.chips, wish.chips))
    return of_claim & of_wish if of_claim and of_wish else of_claim or of_wish or None


def split_address(address: str) -> tuple[str, int]:
    """Worker and device index of "w1:0"; what is no index becomes -1, which no device has."""
    worker, _, index = address.rpartition(":")
    return worker, int(index) if index.isdecimal() and len(index) < 10 else -1


def view(node: Node, ask: Ask) -> View:
    if ask.claim.device_count == 0:
        return View(node, ask, ())
    if ask.chosen is not None:
        return View(node, ask, _chosen_pools(node, ask))
    kinds, chips, every = ask.claim.device_kinds, ask.chips, node.pools
    if chips is None and len(every) == 1 and every[0].kind in kinds:
        return View(node, ask, every)
    pools = [pool for pool in every if pool.kind in kinds]
    return View(node, ask, tuple(pools if chips is None else [p for p in pools if p.chip.casefold() in chips]))


def _chosen_pools(node: Node, ask: Ask) -> tuple[Pool, ...]:
    """Who picks by hand may mix chips, never kinds, nor memory of their own with memory that is the machine's."""
    chosen, chips = (ask.chosen or {}).get(node.name, ()), ask.chips
    found = {
        (pool.kind, pool.ram_bytes): [
            space
            for other in node.pools
            if (other.kind, other.ram_bytes) == (pool.kind, pool.ram_bytes)
            and (chips is None or other.chip.casefold() in chips)
            for space in other.spaces
            if space.device in chosen
        ]
        for pool in node.pools
        if pool.kind in ask.claim.device_kinds
    }
    return tuple([pool_of(spaces, ram) for (_, ram), spaces in found.items() if spaces])


def is_alive(seen: View) -> Reason | None:
    if seen.node.alive:
        return None
    return Reason(seen.node.name, "alive", "worker_silent", {"worker": seen.node.name})


def is_in_service(seen: View) -> Reason | None:
    if not seen.node.drained:
        return None
    return Reason(seen.node.name, "drained", "drained", {"worker": seen.node.name})


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


def is_apart(seen: View) -> Reason | None:
    """`apart`: no second replica of the model beside one that is here."""
    model = seen.ask.about.model
    if not seen.ask.wish.apart or model is None or not seen.node.models.get(model):
        return None
    return Reason(seen.node.name, "apart", "replica_is_here", {"worker": seen.node.name, "model": model})


def is_fresh(seen: View) -> Reason | None:
    age = seen.node.reading_age_seconds
    if age is None or age <= READING_TRUSTED_SECONDS:
        return None
    params: Params = {"worker": seen.node.name, "age_seconds": round(age), "limit_seconds": READING_TRUSTED_SECONDS}
    return Reason(seen.node.name, "fresh", "reading_stale", params)


def has_the_chosen(seen: View) -> Reason | None:
    ask, name = seen.ask, seen.node.name
    if ask.chosen is None:
        return None
    there = {device.index for device in seen.node.devices}
    for address in ask.wish.devices:
        worker, index = split_address(address)
        if worker == name and index not in there:
            return Reason(name, "chosen", "chosen_device_unknown", {"worker": name, "device": address})
    chosen_count = len(ask.chosen[name])
    return None if chosen_count == ask.claim.device_count else _differing_count(seen, chosen_count)


def _differing_count(seen: View, chosen_count: int) -> Reason:
    """Where the heads of the model cannot be shared out over so many devices, they are named: that is the cause."""
    heads, counts = seen.ask.about.head_count, ", ".join(map(str, seen.ask.counts))
    params: Params = {"worker": seen.node.name, "chosen_count": chosen_count, "counts": counts}
    if heads and chosen_count and heads % chosen_count:
        return Reason(seen.node.name, "chosen", "heads_do_not_divide", {**params, "head_count": heads})
    return Reason(seen.node.name, "chosen", "chosen_count_differs", params)


def has_the_kind(seen: View) -> Reason | None:
    kinds = seen.ask.claim.device_kinds
    if seen.pools or any([pool.kind in kinds for pool in seen.node.pools]):
        return None
    params: Params = {"worker": seen.node.name, "kinds": ", ".join(sorted(kinds))}
    return Reason(seen.node.name, "kind", "kind_missing", params)


def has_the_chip(seen: View) -> Reason | None:
    if seen.pools:
        return None
    there = sorted({pool.chip for pool in seen.node.pools if pool.kind in seen.ask.claim.device_kinds})
    params: Params = {
        "worker": seen.node.name,
        "chips": ", ".join(sorted(seen.ask.claim.chips or seen.ask.wish.chips)),
        "there": ", ".join(there),
    }
    return Reason(seen.node.name, "chip", "chip_missing", params)


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
    code, who = _withheld(seen)
    return Reason(seen.node.name, "health", code, {**params, **who})


def _withheld(seen: View) -> tuple[str, Params]:
    """The first device that a person or its own fault keeps out of use; it may be one of several."""
    there = {space.device for pool in seen.pools for space in pool.spaces}
    for device in seen.node.devices:
        if device.index in there and (withheld := device.withheld) is not None:
            who: Params = {"device": device.address, "by": withheld.by, "note": withheld.note or "-"}
            return f"devices_{withheld.why}", who
    return "devices_not_usable", {}


def has_enough_readings(seen: View) -> Reason | None:
    needed, known = seen.ask.claim.device_count, max([len(pool.known_free_bytes) for pool in seen.pools], default=0)
    if known >= needed:
        return None
    params: Params = {"worker": seen.node.name, "needed_count": needed, "known_count": known}
    return Reason(seen.node.name, "reading", "device_memory_unknown", params)


def has_enough_memory(seen: View) -> Reason | None:
    """The bytes it tells are those of the N-th freest device: what a claim on N devices finds on each."""
    count, needed = seen.ask.claim.device_count, seen.ask.claim.bytes_per_device
    pool = max(
        [pool for pool in seen.pools if len(pool.known_free_bytes) >= count],
        key=lambda pool: pool.known_free_bytes[count - 1],
    )
    free = pool.known_free_bytes[count - 1]
    if free >= needed:
        return None
    params: Params = {
        "worker": seen.node.name,
        "chip": pool.chip,
        "needed_count": count,
        "needed_bytes": needed,
        "free_bytes": max(0, free),
        "usable_bytes": max([space.capacity_bytes or 0 for space in pool.spaces]),
        **seen.ask.about.numbers.get(seen.ask.claim, {}),
    }
    foreign = _foreign_in_the_way(pool, count, needed)
    code = _code_of(params)
    if foreign:
        code, params = "foreign_memory", {**params, "foreign_bytes": foreign}
    return Reason(seen.node.name, "memory", code, params, needed, max(0, free))


def _code_of(params: Params) -> str:
    """A refusal tells whether the bytes that it asks for were measured, or what they are made of."""
    if "measured_on" in params:
        return "not_enough_memory_as_measured"
    return "not_enough_memory_for_terms" if "terms" in params else "not_enough_device_memory"


def _foreign_in_the_way(pool: Pool, count: int, needed_bytes: int) -> int:
    """What others use on the devices that would do without them; 0 where too few would."""
    spaces = [space for space in pool.spaces if space.is_usable and space.free_bytes is not None]
    alone = sorted(
        [(-(space.free_bytes or 0) - (space.foreign_bytes or 0), space.foreign_bytes or 0) for space in spaces]
    )
    would_do = -alone[count - 1][0] >= needed_bytes
    return max([foreign for _, foreign in alone[:count]]) if would_do else 0


def has_enough_untaken(seen: View) -> Reason | None:
    claim = seen.ask.claim
    untaken = max([len(fitting(pool.open_to(seen.ask.shares), claim.bytes_per_device)) for pool in seen.pools])
    if untaken >= claim.device_count:
        return None
    params: Params = {"worker": seen.node.name, "needed_count": claim.device_count, "untaken_count": untaken}
    return Reason(seen.node.name, "whole_chip", "chips_taken", params)


def has_room_for_both(seen: View) -> Reason | None:
    """Of devices whose memory is the machine's, after every other check of them: takes what fits, and asks for both."""
    claim = seen.ask.claim
    free = max([pool.ram_bytes for pool in seen.pools if pool.ram_bytes is not None], default=0)
    needed = claim.device_count * claim.bytes_per_device + claim.ram_bytes
    params: Params = {"worker": seen.node.name, "needed_bytes": needed, "free_bytes": max(0, free)}
    return Reason(seen.node.name, "unified", "not_enough_unified_memory", params, needed, max(0, free))


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
    numbers = seen.ask.about.numbers.get(seen.ask.claim, {})
    if "measured_on" not in numbers:
        return Reason(name, "ram", "not_enough_ram", params, needed, free)
    return Reason(name, "ram", "not_enough_ram_as_measured", {**params, **numbers}, needed, free)


def has_enough_disk(seen: View) -> Reason | None:
    if seen.ask.claim.disk_bytes == 0:
        return None
    needed = seen.node.needed_disk_bytes(seen.ask.claim, seen.ask.about.source)
    free, name = seen.node.room_on_disk_bytes, seen.node.name
    if needed == 0:
        return None
    if free is None:
        return Reason(name, "disk", "disk_unknown", {"worker": name, "needed_bytes": needed}, needed)
    if free >= needed:
        return None
    params: Params = {"worker": name, "needed_bytes": needed, "free_bytes": max(0, free)}
    return Reason(name, "disk", "not_enough_disk", params, needed, max(0, free))


def takes(pool: Pool, ask: Ask) -> bool:
    """The short way through the checks of devices: what fits has passed each of them."""
    claim, rooms = ask.claim, pool.shared_rooms if ask.shares else pool.rooms
    count = claim.device_count
    if len(rooms) < count or rooms[count - 1].free_bytes < claim.bytes_per_device:
        return False
    return pool.ram_bytes is None or count * claim.bytes_per_device + claim.ram_bytes <= pool.ram_bytes


Check = Callable[[View], Reason | None]
OF_WORKERS: tuple[Check, ...] = (
    is_alive,
    is_in_service,
    has_the_labels,
    has_the_backend,
    accepts_the_model,
    is_apart,
    has_the_chosen,
    is_fresh,
)
OF_DEVICES: tuple[Check, ...] = (
    has_the_kind,
    has_the_chip,
    has_enough_devices,
    has_enough_usable,
    has_enough_readings,
    has_enough_memory,
    has_enough_untaken,
    has_room_for_both,
)
OF_MACHINES: tuple[Check, ...] = (has_enough_ram, has_enough_disk)
ORDER: tuple[str, ...] = (
    *("alive", "drained", "labels", "backend", "model", "apart", "chosen", "fresh"),
    *("kind", "chip", "count", "health", "reading", "memory", "whole_chip", "unified"),
    *("ram", "disk", "team"),
)
"""The names of the checks in their order; a refusal of the caller may carry a name of its own and counts as `model`."""


def able_pools(seen: View) -> list[Pool]:
    """The pools that can give what is asked, as far as the checks of devices go."""
    return [pool for pool in seen.pools if takes(pool, seen.ask)]


def why_not(seen: View, able: Sequence[Pool]) -> Reason | None:
    """The first check that fails. `able` are those of `able_pools`."""
    if not _is_welcome(seen) and (reason := _first(OF_WORKERS, seen)) is not None:
        return reason
    claim = seen.ask.claim
    if not able and claim.device_count > 0:
        return _first(OF_DEVICES, seen)
    if claim.disk_bytes == 0 and claim.ram_bytes <= (seen.node.free_ram_bytes or 0):
        return None
    return _first(OF_MACHINES, seen)


def _is_welcome(seen: View) -> bool:
    """The short way through the checks of workers: who is like that has passed each of them."""
    node, (_, wish, backend, _, chosen, *_) = seen.node, seen.ask
    return (
        node.alive
        and not (node.drained or wish.worker_labels or wish.apart or chosen is not None)
        and node.refusal is None
        and (backend is None or backend in node.backends)
        and (node.reading_age_seconds or 0) <= READING_TRUSTED_SECONDS
    )


def _first(checks: tuple[Check, ...], seen: View) -> Reason | None:
    for check in checks:
        if (reason := check(seen)) is not None:
            return reason
    return None
