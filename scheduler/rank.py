"""Which of the workers that can take a claim is the best, and which of its devices; and which go together."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpustack_lite.domain import Claim
from scheduler.checks import Ask, View
from scheduler.node import Node
from scheduler.pools import Picked, Pool, Rooms, fitting, pick

NETWORK = "network"
"""The worker label by which workers say that they reach each other fast enough to serve one replica together."""
_NOTHING = Picked((), 0)


class Candidate(NamedTuple):
    """A worker that passed every check, with the rooms of one chip that it would give; lowest `key` wins."""

    key: tuple[float, ...]
    worker: str
    chip: str
    network: str
    rooms: Rooms

    @property
    def devices(self) -> tuple[int, ...]:
        return tuple(sorted([room.device for room in self.rooms]))


def candidates(seen: View, able: Sequence[Pool]) -> list[Candidate]:
    """One for each chip that the worker has enough of, of a worker that passed every check."""
    if seen.ask.claim.device_count == 0:
        return [_candidate(seen, "", _NOTHING, _ram_share_after(seen))]
    share = _share_after(seen)
    return [_candidate(seen, pool.chip, _pick(pool, seen.ask), share) for pool in able]


def best(found: Iterable[Candidate]) -> Candidate:
    """Names break ties, so the order of the snapshot does not matter."""
    return min(found)


def best_team(found: Iterable[Candidate], count: int) -> tuple[Candidate, ...] | int:
    """So many workers with the same chip in one network, the leader first; else how many the largest team has."""
    teams: dict[tuple[str, str], list[Candidate]] = {}
    for each in found:
        teams.setdefault((each.network, each.chip), []).append(each)
    whole = [tuple(sorted(team)[:count]) for team in teams.values() if len(team) >= count]
    return min(whole, key=_worst_first) if whole else max(map(len, teams.values()), default=0)


def _worst_first(team: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """A team is as good as its worst member."""
    return team[::-1]


def _candidate(seen: View, chip: str, picked: Picked, share: float) -> Candidate:
    node = seen.node
    network = node.labels.get(NETWORK, "") if node.labels else ""
    return Candidate(_key(node, seen.ask, picked, share), node.name, chip, network, picked.rooms)


def _key(node: Node, ask: Ask, picked: Picked, share: float) -> tuple[float, ...]:
    """Few groups before all else; then how the strategy likes it, and whether the files and the engine are there.

    Spread counts the replicas of the model before it looks for its files, or it would heap them up where they are.
    """
    about = ask.about
    lacks = 2 * (about.source not in node.sources) + (ask.backend not in node.engines)
    left = _bytes_left(node, ask.claim, picked.rooms)
    if ask.wish.strategy == "binpack":
        return picked.group_count, lacks, left, share
    return picked.group_count, node.models.get(about.model or "", 0), lacks, -share, -left


def _bytes_left(node: Node, claim: Claim, rooms: Rooms) -> int:
    """On the devices that it would get, or in the RAM where it gets none."""
    if len(rooms) == 1:
        return rooms[0].free_bytes - claim.bytes_per_device
    if not rooms:
        return (node.free_ram_bytes or 0) - claim.ram_bytes
    return sum([room.free_bytes for room in rooms]) - claim.device_count * claim.bytes_per_device


def _pick(pool: Pool, ask: Ask) -> Picked:
    rooms, count = pool.shared_rooms if ask.shares else pool.rooms, ask.claim.device_count
    is_tight = ask.wish.strategy == "binpack"
    if not is_tight and (count == 1 or pool.group_count == 1):
        return Picked(rooms[:count], 1)
    return pick(fitting(rooms, ask.claim.bytes_per_device), count, is_tight)


def _share_after(seen: View) -> float:
    """0 to 1: how empty the worker is afterwards, over its devices of the kind."""
    claim, room, capacity = seen.ask.claim, 0, 0
    for pool in seen.pools:
        room += pool.room_bytes
        capacity += pool.capacity_bytes
    return (room - claim.device_count * claim.bytes_per_device) / (capacity or 1)


def _ram_share_after(seen: View) -> float:
    node = seen.node
    return ((node.free_ram_bytes or 0) - seen.ask.claim.ram_bytes) / max(1, node.ram_total_bytes or 0)
