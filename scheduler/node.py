"""One worker as the scheduler sees it, and the arithmetic of what is free on it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

from gpustack_lite.domain import Claim, Device, DeviceKind, Health, Reason
from scheduler.pools import Pool, Space, pool_of

WHOLE_CHIP_KINDS: frozenset[DeviceKind] = frozenset({"ascend"})
"""Kinds of which a claim takes whole devices: one davinci node belongs to one container."""
SOUND: frozenset[Health] = frozenset({"ok", "warning", "unknown"})
"""Unknown health is usable: many drivers tell none. An alarm is not."""
RESERVE_DIVISOR = 50
"""2 % of a device stays free unless the node says otherwise: drivers and contexts need it."""
Held = tuple[Sequence[int], Claim]
"""Device indices of one worker, and the claim that is held on each of them."""


@dataclass(frozen=True)
class Node:
    """A worker in a snapshot: facts about it, whatever is asked (but for `refusal`).

    `claimed` is what living or unconfirmed placements hold, `foreign` what others use, both in bytes by device index.
    Where `foreign` is silent it is taken from the live reading as used - claimed, which is right once our engines have
    filled their claims. `exclusive` are devices that nobody else may enter. `backends` are those that run here or that
    our installer can bring, `engines` those that are installed. `models` counts replicas by model, `sources` are the
    models whose files are here, `bringing` the bytes of those that placements are yet to bring.
    """

    name: str
    alive: bool = True
    drained: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    claimed: Mapping[int, int] = field(default_factory=dict)
    foreign: Mapping[int, int] = field(default_factory=dict)
    exclusive: frozenset[int] = frozenset()
    device_reserve_bytes: int | None = None
    ram_total_bytes: int | None = None
    ram_reserve_bytes: int = 0
    ram_claimed_bytes: int = 0
    ram_foreign_bytes: int | None = 0
    disk_free_bytes: int | None = None
    reading_age_seconds: float | None = None
    """How old the readings of memory are; None where nobody asks (a declared cluster)."""
    backends: frozenset[str] = frozenset()
    engines: frozenset[str] = frozenset()
    models: Mapping[str, int] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()
    bringing: Mapping[str, int] = field(default_factory=dict)
    refusal: Reason | None = None
    """A fact about this worker and the model in question, such as a file that is not there."""

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """By kind and chip; computed once per node of a snapshot, which serves many placements."""
        by_chip: dict[tuple[str, str, bool], list[Space]] = {}
        for device in sorted(self.devices, key=_index):
            by_chip.setdefault((device.kind, device.chip, device.unified_memory), []).append(self._space(device))
        return tuple([pool_of(by_chip[chip], self._shared_ram(chip[2])) for chip in sorted(by_chip)])

    @cached_property
    def free_ram_bytes(self) -> int | None:
        if self.ram_total_bytes is None or self.ram_foreign_bytes is None:
            return None
        return self.ram_total_bytes - self.ram_reserve_bytes - self.ram_claimed_bytes - self.ram_foreign_bytes

    def needed_disk_bytes(self, claim: Claim, source: str | None) -> int:
        """Nothing for files that are here or on their way."""
        is_here = source is not None and (source in self.sources or source in self.bringing)
        return 0 if is_here else claim.disk_bytes

    @cached_property
    def room_on_disk_bytes(self) -> int | None:
        return None if self.disk_free_bytes is None else self.disk_free_bytes - sum(self.bringing.values())

    def has_weights(self, source: str | None) -> bool:
        return source is not None and source in self.sources

    def has_engine(self, backend: str | None) -> bool:
        return backend is not None and backend in self.engines

    def foreign_bytes(self, index: int) -> int | None:
        """What others use on that device; None where nobody can tell."""
        device = next(each for each in self.devices if each.index == index)
        return self._foreign(device, self.claimed.get(index, 0))

    def _shared_ram(self, is_unified: bool) -> int | None:
        return (self.free_ram_bytes or 0) if is_unified else None

    def _space(self, device: Device) -> Space:
        index, total, kind = device.index, device.memory_total_bytes, device.kind
        claimed, is_closed = self.claimed.get(index, 0), index in self.exclusive
        foreign = self._foreign(device, claimed)
        reserve = self.device_reserve_bytes
        capacity = None if total is None else total - (total // RESERVE_DIVISOR if reserve is None else reserve)
        free = None if capacity is None or foreign is None else capacity - claimed - foreign
        if free is not None and device.unified_memory:
            free = None if self.free_ram_bytes is None else min(free, self.free_ram_bytes)
        is_usable = device.schedulable and device.health in SOUND
        is_taken = is_closed or (claimed > 0 and kind in WHOLE_CHIP_KINDS)
        group = _group(device)
        return Space(index, kind, device.chip, group, is_usable, is_taken, is_closed, capacity, foreign, free)

    def _foreign(self, device: Device, claimed: int) -> int | None:
        """Of unified memory the reading of the RAM has it."""
        if device.unified_memory:
            return 0
        if device.index in self.foreign:
            return self.foreign[device.index]
        used = device.memory_used_bytes
        return None if used is None else max(0, used - claimed)


_index = attrgetter("index")


def _group(device: Device) -> str:
    """Which devices are near each other: what the tools say, else the NUMA node; "" where nobody knows."""
    if device.group is not None:
        return device.group
    return "" if device.numa is None else f"numa:{device.numa}"


def occupied(node: Node, holdings: Iterable[Held], *, model: str | None = None, source: str | None = None) -> Node:
    """The node with each holding on it: how a snapshot is made from the rows that hold claims.

    `model` and `source` say of all the holdings whose they are.
    """
    claimed, exclusive, ram = dict(node.claimed), set(node.exclusive), node.ram_claimed_bytes
    models, bringing = dict(node.models), dict(node.bringing)
    whole = {device.index for device in node.devices if device.kind in WHOLE_CHIP_KINDS}
    for indices, claim in holdings:
        ram += claim.ram_bytes + claim.bytes_per_device * _unified_count(node, indices)
        exclusive |= set() if claim.may_share else whole.intersection(indices)
        for index in indices:
            claimed[index] = claimed.get(index, 0) + claim.bytes_per_device
        if model is not None:
            models[model] = models.get(model, 0) + 1
        if source is not None and (needed := node.needed_disk_bytes(claim, source)):
            bringing[source] = needed
    return replace(
        node,
        claimed=claimed,
        exclusive=frozenset(exclusive),
        ram_claimed_bytes=ram,
        models=models,
        bringing=bringing,
    )


def vacated(node: Node, indices: Sequence[int], claim: Claim, *, model: str | None = None) -> Node:
    """The node without a holding that is on it. What was brought to its disk stays there."""
    claimed = Counter(node.claimed)
    claimed.subtract(dict.fromkeys(indices, claim.bytes_per_device))
    models = Counter(node.models)
    models.subtract([] if model is None else [model])
    return replace(
        node,
        claimed={index: held for index, held in claimed.items() if held},
        exclusive=node.exclusive if claim.may_share else node.exclusive - set(indices),
        ram_claimed_bytes=node.ram_claimed_bytes
        - claim.ram_bytes
        - claim.bytes_per_device * _unified_count(node, indices),
        models={name: count for name, count in models.items() if count},
    )


def _unified_count(node: Node, indices: Sequence[int]) -> int:
    """How many of these devices take what they hold from the RAM."""
    return sum([device.unified_memory for device in node.devices if device.index in indices])
