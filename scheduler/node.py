"""One worker as the scheduler sees it, and the arithmetic of what is free on it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from gpustack_lite.domain import Claim, Device, DeviceKind, Health, Reason

WHOLE_CHIP_KINDS: frozenset[DeviceKind] = frozenset({"ascend"})
"""Kinds of which a claim takes whole devices: one davinci node belongs to one container."""
SOUND: frozenset[Health] = frozenset({"ok", "warning", "unknown"})
"""Unknown health is usable: many drivers tell none. An alarm is not."""
RESERVE_DIVISOR = 50
"""2 % of a device stays free unless the node says otherwise: drivers and contexts need it."""


class Space(NamedTuple):
    """What one device offers. `capacity_bytes` is total less reserve; sizes are None where a reading is missing."""

    device: int
    kind: DeviceKind
    chip: str
    is_usable: bool
    is_taken: bool
    capacity_bytes: int | None
    free_bytes: int | None

    @property
    def room_bytes(self) -> int | None:
        """What a further claim could use; None on a device that may not or cannot be used at all."""
        return self.free_bytes if self.is_usable and not self.is_taken else None


class Room(NamedTuple):
    """A device that a claim may enter, and what it finds there."""

    free_bytes: int
    device: int


class Pool(NamedTuple):
    """Devices that may serve one replica together, with what the checks ask of them counted once.

    `known_free_bytes` falls, over usable devices with a reading; `rooms` are the emptiest first.
    """

    kind: DeviceKind
    spaces: tuple[Space, ...]
    usable_count: int
    known_free_bytes: tuple[int, ...]
    rooms: tuple[Room, ...]
    room_bytes: int
    capacity_bytes: int


def pool_of(spaces: Sequence[Space]) -> Pool:
    """At least one space, all of one kind."""
    known = [space.free_bytes for space in spaces if space.is_usable and space.free_bytes is not None]
    rooms = [Room(free, space.device) for space in spaces if (free := space.room_bytes) is not None and free >= 0]
    return Pool(
        kind=spaces[0].kind,
        spaces=tuple(spaces),
        usable_count=sum(space.is_usable for space in spaces),
        known_free_bytes=tuple(sorted(known, reverse=True)),
        rooms=tuple(sorted(rooms, key=lambda room: (-room.free_bytes, room.device))),
        room_bytes=sum(room.free_bytes for room in rooms),
        capacity_bytes=sum(space.capacity_bytes or 0 for space in spaces),
    )


@dataclass(frozen=True)
class Node:
    """A worker in a snapshot.

    `claimed` is what living or unconfirmed placements hold, `foreign` what others use, both in bytes by device index.
    Where `foreign` is silent it is taken from the live reading as used - claimed, which is right once our engines have
    filled their claims. `exclusive` are devices that nobody else may enter. `backends` are those that run here or that
    our installer can bring. `refusal` is a fact about this worker and this model, such as a file that is not there.
    """

    name: str
    alive: bool = True
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
    backends: frozenset[str] = frozenset()
    refusal: Reason | None = None

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """By kind and chip; computed once per node of a snapshot, which serves many placements."""
        by_chip: dict[tuple[str, str], list[Space]] = {}
        for device in sorted(self.devices, key=lambda each: each.index):
            by_chip.setdefault((device.kind, device.chip), []).append(self._space(device))
        return tuple(pool_of(by_chip[chip]) for chip in sorted(by_chip))

    @cached_property
    def free_ram_bytes(self) -> int | None:
        if self.ram_total_bytes is None or self.ram_foreign_bytes is None:
            return None
        return self.ram_total_bytes - self.ram_reserve_bytes - self.ram_claimed_bytes - self.ram_foreign_bytes

    def foreign_bytes(self, index: int) -> int | None:
        """What others use on that device; None where nobody can tell."""
        device = next(each for each in self.devices if each.index == index)
        return self._foreign(device, self.claimed.get(index, 0))

    def _space(self, device: Device) -> Space:
        capacity, claimed = self._capacity(device), self.claimed.get(device.index, 0)
        foreign = self._foreign(device, claimed)
        return Space(
            device=device.index,
            kind=device.kind,
            chip=device.chip,
            is_usable=device.schedulable and device.health in SOUND,
            is_taken=device.index in self.exclusive or (device.kind in WHOLE_CHIP_KINDS and claimed > 0),
            capacity_bytes=capacity,
            free_bytes=None if capacity is None or foreign is None else capacity - claimed - foreign,
        )

    def _capacity(self, device: Device) -> int | None:
        total = device.memory_total_bytes
        if total is None:
            return None
        reserve = total // RESERVE_DIVISOR if self.device_reserve_bytes is None else self.device_reserve_bytes
        return total - reserve

    def _foreign(self, device: Device, claimed: int) -> int | None:
        if device.index in self.foreign:
            return self.foreign[device.index]
        used = device.memory_used_bytes
        return None if used is None else max(0, used - claimed)


def occupied(node: Node, holdings: Iterable[tuple[Sequence[int], Claim]]) -> Node:
    """The node with each (device indices, claim) held on it: how a snapshot is made from the rows that hold claims."""
    claimed, exclusive, ram = dict(node.claimed), set(node.exclusive), node.ram_claimed_bytes
    whole = {device.index for device in node.devices if device.kind in WHOLE_CHIP_KINDS}
    for indices, claim in holdings:
        ram += claim.ram_bytes
        exclusive |= whole.intersection(indices)
        for index in indices:
            claimed[index] = claimed.get(index, 0) + claim.bytes_per_device
    return replace(node, claimed=claimed, exclusive=frozenset(exclusive), ram_claimed_bytes=ram)
