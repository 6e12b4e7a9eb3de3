"""Devices that may serve one replica together, with what the checks ask of them counted once; and which to take."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from gpustack_lite.domain import DeviceKind


class Space(NamedTuple):
    """What one device offers. `capacity_bytes` is total less reserve; sizes are None where a reading is missing.

    `is_taken`: a claim that wants it whole may not enter. `is_closed`: nor may one that shares.
    """

    device: int
    kind: DeviceKind
    chip: str
    group: str
    is_usable: bool
    is_taken: bool
    is_closed: bool
    capacity_bytes: int | None
    foreign_bytes: int | None
    free_bytes: int | None


class Room(NamedTuple):
    """A device that a claim may enter, and what it finds there. `mates` are the rooms of its group, itself included."""

    free_bytes: int
    mates: int
    device: int
    group: str


Rooms = tuple[Room, ...]
"""The emptiest first; of equals that of the group with fewest left, so that whole groups stay whole."""


class Pool(NamedTuple):
    """Devices of one kind and one chip.

    `known_free_bytes` falls, over usable devices with a reading. `rooms` are open to claims that want a device to
    themselves where its kind is given whole, `shared_rooms` to those that share. `ram_bytes` is what is free of the one
    pool from which unified memory takes both; None where devices have memory of their own.
    """

    kind: DeviceKind
    chip: str
    spaces: tuple[Space, ...]
    usable_count: int
    known_free_bytes: tuple[int, ...]
    rooms: Rooms
    shared_rooms: Rooms
    group_count: int
    room_bytes: int
    capacity_bytes: int
    ram_bytes: int | None

    def open_to(self, shares: bool) -> Rooms:
        return self.shared_rooms if shares else self.rooms


def pool_of(spaces: Sequence[Space], ram_bytes: int | None = None) -> Pool:
    """At least one space, all of one kind."""
    known = [space for space in spaces if space.is_usable and space.free_bytes is not None]
    whole = [space for space in known if not space.is_taken]
    open_ = [space for space in known if not space.is_closed]
    groups = {space.group for space in spaces}
    rooms = _rooms(whole, len(groups))
    first = spaces[0]
    return Pool(
        first.kind,
        first.chip,
        tuple(spaces),
        sum([space.is_usable for space in spaces]),
        tuple(sorted([space.free_bytes or 0 for space in known], reverse=True)),
        rooms,
        rooms if len(whole) == len(open_) else _rooms(open_, len(groups)),
        len(groups),
        sum([room.free_bytes for room in rooms]),
        sum([space.capacity_bytes or 0 for space in spaces]),
        ram_bytes,
    )


def _rooms(spaces: Sequence[Space], group_count: int) -> Rooms:
    """Sorted twice, because sorting keeps the order of equals: by index, which they come in, within mates and bytes."""
    mates = Counter([space.group for space in spaces])
    rooms = [
        Room(free, mates[space.group], space.device, space.group)
        for space in spaces
        if (free := space.free_bytes) is not None and free >= 0
    ]
    if group_count > 1:
        rooms.sort(key=_mates)
    rooms.sort(key=_free_bytes, reverse=True)
    return tuple(rooms)


_mates, _free_bytes = itemgetter(1), itemgetter(0)


def fitting(rooms: Rooms, needed_bytes: int) -> Rooms:
    """Those with room enough: they are at the front."""
    return rooms[: bisect_right(rooms, -needed_bytes, key=lambda room: -room.free_bytes)]


class Picked(NamedTuple):
    """Rooms for one replica on one worker, and over how many groups they are spread."""

    rooms: Rooms
    group_count: int

    @property
    def free_bytes(self) -> int:
        return sum([room.free_bytes for room in self.rooms])


def pick(rooms: Rooms, count: int, is_tight: bool) -> Picked:
    """`count` of these rooms, of which there are at least so many: out of one group where that suffices, else of few.

    Tight takes the fullest, else the emptiest; ties go to the smaller group, then to the lowest index.
    """
    if count == 1:
        return Picked((min(rooms) if is_tight else rooms[0],), 1)
    groups = _by_group(rooms)
    sufficing = [group for group in groups if len(group) >= count]
    if sufficing:
        return Picked(_best_group(sufficing, count, is_tight), 1)
    return _over_groups(groups, count, is_tight)


def _by_group(rooms: Rooms) -> list[Rooms]:
    groups: dict[str, list[Room]] = {}
    for room in rooms:
        groups.setdefault(room.group, []).append(room)
    return [tuple(group) for group in groups.values()]


def _best_group(groups: Sequence[Rooms], count: int, is_tight: bool) -> Rooms:
    taken = [_taken(group, count, is_tight) for group in groups]
    return min(taken, key=lambda rooms: (_bytes(rooms) if is_tight else -_bytes(rooms), rooms[0].mates, _first(rooms)))


def _over_groups(groups: Sequence[Rooms], count: int, is_tight: bool) -> Picked:
    """The largest groups whole, so that they are few; the rest from the smallest group that has enough."""
    taken: list[Room] = []
    left = sorted(groups, key=lambda group: (-len(group), -_bytes(group), _first(group)))
    used = 0
    while (missing := count - len(taken)) > 0:
        sufficing = [group for group in left if len(group) >= missing]
        chosen = sufficing[-1] if sufficing else left[0]
        left.remove(chosen)
        taken += _taken(chosen, min(missing, len(chosen)), is_tight)
        used += 1
    return Picked(tuple(taken), used)


def _taken(group: Rooms, count: int, is_tight: bool) -> Rooms:
    return tuple(sorted(group)[:count]) if is_tight else group[:count]


def _bytes(rooms: Sequence[Room]) -> int:
    return sum([room.free_bytes for room in rooms])


def _first(rooms: Sequence[Room]) -> int:
    return min([room.device for room in rooms])
