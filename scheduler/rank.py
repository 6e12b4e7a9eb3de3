"""Which of the workers that can take a claim is the best, and which of its devices."""

from collections.abc import Sequence
from typing import NamedTuple

from scheduler.checks import View, fitting_count, takes
from scheduler.node import Room


class Candidate(NamedTuple):
    """A worker that passed every check, with the devices it would give; lowest `key` wins."""

    key: tuple[float, float, str]
    worker: str
    devices: tuple[int, ...]


def candidate(seen: View) -> Candidate:
    rooms = _best_rooms(seen)
    left, share = _left_bytes(seen, rooms), _free_share_after(seen)
    key = (left, share, seen.node.name) if _is_tight(seen) else (-share, -left, seen.node.name)
    return Candidate(key, seen.node.name, tuple(sorted([room.device for room in rooms])))


def best(candidates: Sequence[Candidate]) -> Candidate:
    """Names break ties, so the order of the snapshot does not matter."""
    return min(candidates)


def _is_tight(seen: View) -> bool:
    return seen.ask.wish.strategy == "binpack"


def _best_rooms(seen: View) -> Sequence[Room]:
    """Binpack takes the fullest devices that fit, spread the emptiest; ties go to the lowest index."""
    claim, count = seen.ask.claim, seen.ask.claim.device_count
    if count == 0:
        return ()
    pools = [pool for pool in seen.pools if takes(pool, claim)]
    if _is_tight(seen):
        return min([sorted(pool.rooms[: fitting_count(pool, claim)])[:count] for pool in pools], key=_total_bytes)
    return max([pool.rooms[:count] for pool in pools], key=_total_bytes)


def _total_bytes(rooms: Sequence[Room]) -> int:
    return sum([room.free_bytes for room in rooms])


def _left_bytes(seen: View, rooms: Sequence[Room]) -> int:
    """What stays free on the devices that the claim takes; of the RAM where it takes none."""
    claim = seen.ask.claim
    if not rooms:
        return (seen.node.free_ram_bytes or 0) - claim.ram_bytes
    return _total_bytes(rooms) - claim.device_count * claim.bytes_per_device


def _free_share_after(seen: View) -> float:
    """0 to 1: how empty the worker is afterwards, over its devices of the kind, or over its RAM."""
    claim, pools = seen.ask.claim, seen.pools
    if not pools:
        return ((seen.node.free_ram_bytes or 0) - claim.ram_bytes) / max(1, seen.node.ram_total_bytes or 0)
    room = sum([pool.room_bytes for pool in pools]) - claim.device_count * claim.bytes_per_device
    return room / max(1, sum([pool.capacity_bytes for pool in pools]))
