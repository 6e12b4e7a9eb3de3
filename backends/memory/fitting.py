"""Which parallel shapes and contexts of a model fit on which devices: one search for every engine that reserves."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from backends import parallel
from backends.base import Estimate, Want
from backends.memory.ranks import Ranks
from gpustack_lite.domain import Claim, Device, DeviceKind, Memory, ModelFacts
from gpustack_lite.errors import Refusal

MOST_DEVICES = 16
"""Of one worker: an Atlas A3 box shows 16 dies, no other box has more."""
DEFAULT_LONGEST = 4096
"""Of a model that does not say for how many tokens it was trained."""
LEAST_CONTEXT = 4096
"""A default context shorter than this is no reason to take fewer devices."""
STEP = 256
WORKER_COUNTS = (2, 3, 4, 6, 8)
"""Over which a replica is spread where the user says no number of stages."""


class Room(NamedTuple):
    """One sort of device that is there."""

    kind: DeviceKind
    chip: str
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user's options fix; None and 1 leave it to us."""

    tensor: int | None = None
    pipeline: int = 1
    data: int = 1
    expert: bool = False
    context: int | None = None
    stretches: bool = False
    """Whether an option stretches the model beyond its trained context (RoPE scaling)."""

    def ranks(self, tensor: int) -> Ranks:
        return Ranks(tensor, self.pipeline, self.data, self.expert)


class Arithmetic(Protocol):
    """One engine's memory under one set of options."""

    @property
    def kinds(self) -> frozenset[DeviceKind]: ...

    def memory(self, facts: ModelFacts, ranks: Ranks, room_bytes: int, context: int) -> Memory:
        """Raises:
        Refusal: `cannot_estimate`.
        """

    def budget_bytes(self, room_bytes: int) -> int:
        """What the terms of `memory` must fit into on one device."""

    def pool_bytes(self, room_bytes: int) -> int | None:
        """The most that the cache may take of one device, where an option fixes it."""

    def claim_bytes(self, room_bytes: int, found: Memory) -> int:
        """What the engine takes of one device once it runs."""

    def share_bytes(self, room_bytes: int, found: Memory) -> int | None:
        """A smaller claim that does for the same, where a device may be shared and the engine can be told so."""


def estimates(
    facts: ModelFacts, want: Want, asked: Asked, arithmetic: Arithmetic, *, spans: bool = False
) -> tuple[Estimate, ...]:
    """Fewest devices first, on the smallest devices that do; with the wanted context, else the largest that fits.

    `spans`: the engine can put one pipeline stage on each of several workers. Such ways come last, and where the model
    fits on one worker only if the user asks for stages or picks devices.

    Where no device of the engine's kinds is there, one estimate says what the smallest shape needs by itself.

    Raises:
        Refusal: `heads_not_divisible` and its like, `context_beyond_training`, `cannot_estimate`, `does_not_fit`.
    """
    shapes = _shapes(facts, want, asked)
    search = _Search(facts, asked, _longest(facts, asked), arithmetic)
    rooms = rooms_of(want.devices, arithmetic.kinds)
    if not rooms:
        return (search.anywhere(shapes[0]),)
    found = tuple(estimate for ranks in shapes for room in rooms for estimate in search.on(ranks, room))
    wide = tuple(_over_workers(search, want, rooms, found)) if spans else ()
    if not found and not wide:
        raise search.does_not_fit(shapes[-1], rooms[-1])
    return (*found, *wide)


def _over_workers(
    search: "_Search", want: Want, rooms: Sequence[Room], found: Sequence[Estimate]
) -> Iterator[Estimate]:
    """Few workers first; the devices of one share each layer, since no link between workers is as fast as theirs."""
    asked, extent = search.asked, want.extent
    fits_on_one = any(extent.devices is None or each.claim.device_count <= extent.devices for each in found)
    if asked.data > 1 or (fits_on_one and asked.pipeline == 1 and not want.device_count):
        return
    for count in [asked.pipeline] if asked.pipeline > 1 else WORKER_COUNTS:
        if count <= min(extent.workers, search.facts.layer_count or count):
            for tensor in _tensors(search, want, count):
                yield from (
                    _spread(each, tensor, count) for room in rooms for each in search.on(Ranks(tensor, count), room)
                )


def _tensors(search: "_Search", want: Want, workers: int) -> tuple[int, ...]:
    """Sizes that the model allows and a worker has devices for."""
    wanted = search.asked.tensor
    if want.device_count:
        wanted = want.device_count // workers if want.device_count % workers == 0 else 0
    sizes = parallel.tensor_sizes(search.facts, want.extent.devices or MOST_DEVICES)
    return tuple(size for size in sizes if wanted in {None, size})


def _spread(found: Estimate, tensor: int, workers: int) -> Estimate:
    return replace(found, claim=replace(found.claim, device_count=tensor, worker_count=workers))


def rooms_of(devices: Sequence[Device], kinds: frozenset[DeviceKind]) -> tuple[Room, ...]:
    """The smallest first: what fits there leaves the larger ones for what does not."""
    known = {
        Room(each.kind, each.chip, each.memory_total_bytes)
        for each in devices
        if each.kind in kinds and each.memory_total_bytes
    }
    return tuple(sorted(known, key=lambda room: (room.total_bytes, room.kind, room.chip)))


def _shapes(facts: ModelFacts, want: Want, asked: Asked) -> tuple[Ranks, ...]:
    others = asked.pipeline * asked.data
    if asked.tensor is None and want.device_count is not None and want.device_count % others:
        raise Refusal("devices_not_divisible", param="placement.devices", device_count=want.device_count, others=others)
    wanted = asked.tensor or (want.device_count // others if want.device_count else None)
    if wanted is not None:
        parallel.check_tensor_size(facts, wanted)
        return (asked.ranks(wanted),)
    sizes = parallel.tensor_sizes(facts, max(MOST_DEVICES // others, 1))
    return tuple(asked.ranks(size) for size in sizes)


def _longest(facts: ModelFacts, asked: Asked) -> int:
    trained = facts.trained_context_length
    if asked.context and trained and asked.context > trained and not asked.stretches:
        raise Refusal("context_beyond_training", param="options.max-model-len", wanted=asked.context, trained=trained)
    return asked.context or trained or DEFAULT_LONGEST


class _Search(NamedTuple):
    """One question of `estimates`."""

    facts: ModelFacts
    asked: Asked
    longest: int
    arithmetic: Arithmetic

    @property
    def least(self) -> int:
        return self.asked.context or min(self.longest, LEAST_CONTEXT)

    def on(self, ranks: Ranks, room: Room) -> tuple[Estimate, ...]:
        """None where not even the least context fits; the whole share of a device first, then as little as does."""
        budget = self.arithmetic.budget_bytes(room.total_bytes)
        pool = self.arithmetic.pool_bytes(room.total_bytes)

        def fits(context: int) -> bool:
            found = self.memory(ranks, room.total_bytes, context)
            return device_bytes(found) <= budget and (pool is None or term_bytes(found, "term_cache") <= pool)

        context = largest(fits, self.least, self.longest)
        if context is None:
            return ()
        found = self.memory(ranks, room.total_bytes, context)
        whole = self.arithmetic.claim_bytes(room.total_bytes, found)
        less = self.arithmetic.share_bytes(room.total_bytes, found)
        claims = [_claim(ranks, room, size) for size in (whole, less) if size is not None]
        return tuple(Estimate(claim, found, context, sizes(ranks), budget) for claim in claims)

    def memory(self, ranks: Ranks, room_bytes: int, context: int) -> Memory:
        return self.arithmetic.memory(self.facts, ranks, room_bytes, context)

    def anywhere(self, ranks: Ranks) -> Estimate:
        """What it needs by itself, where no device is there that could be asked for a share."""
        found = self.memory(ranks, 0, self.least)
        claim = Claim(ranks.devices, device_bytes(found), device_kinds=self.arithmetic.kinds)
        return Estimate(claim, found, self.least, sizes(ranks))

    def does_not_fit(self, ranks: Ranks, room: Room) -> Refusal:
        """With the numbers of the roomiest try: the largest device, the most ranks."""
        found = self.memory(ranks, room.total_bytes, self.least)
        weights, cache = term_bytes(found, "term_weights"), term_bytes(found, "term_cache")
        return Refusal(
            "does_not_fit",
            param="source",
            device_count=ranks.devices,
            chip=room.chip,
            weights_bytes=weights,
            cache_bytes=cache,
            context_length=self.least,
            rest_bytes=device_bytes(found) - weights - cache,
            budget_bytes=self.arithmetic.budget_bytes(room.total_bytes),
            total_bytes=room.total_bytes,
        )


def _claim(ranks: Ranks, room: Room, size_bytes: int) -> Claim:
    return Claim(
        device_count=ranks.devices,
        bytes_per_device=size_bytes,
        device_kinds=frozenset({room.kind}),
        chips=frozenset({room.chip}),
    )


def largest(fits: Callable[[int], bool], least: int, longest: int) -> int | None:
    """The largest context that fits, in whole steps unless it is the longest; None where not even the least does."""
    if fits(longest):
        return longest
    if longest == least or not fits(least):
        return None
    low, high = least // STEP, longest // STEP + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * STEP) else (low, middle)
    return max(low * STEP, least)


def sizes(ranks: Ranks) -> dict[str, int]:
    """The dimensions of which there is more than one rank."""
    named = {"tensor": ranks.tensor, "pipeline": ranks.pipeline, "data": ranks.data}
    return {name: size for name, size in named.items() if size > 1}


def device_bytes(found: Memory) -> int:
    """Of the fullest device: what must fit into its budget."""
    return sum(term.size_bytes for term in found.terms)


def term_bytes(found: Memory, code: str) -> int:
    return sum(term.size_bytes for term in found.terms if term.code == code)
