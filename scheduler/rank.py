"""Which of the workers that can take a claim is the best, and which of its devices; and which go together."""

from collections.abc import Iterable
from typing import NamedTuple

from scheduler.checks import Ask, View, takes
from scheduler.node import Node
from scheduler.pools import Picked, Pool, fitting, pick

NETWORK = "network"
"""The worker label by which workers say that they reach each other fast enough to serve one replica together."""
_NOTHING = Picked((), 0)


class Candidate(NamedTuple):
    """A worker that passed every check, with the devices of one chip that it would give; lowest `key` wins."""

    key: tuple[float, ...]
    worker: str
    devices: tuple[int, ...]
    chip: str
    network: str


def candidates(seen: View) -> list[Candidate]:
    """One for each chip that the worker has enough of, the best first."""
    if seen.ask.claim.device_count == 0:
        return [_candidate(seen, None)]
    return sorted([_candidate(seen, pool) for pool in seen.pools if takes(pool, seen.ask)])


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


def _candidate(seen: View, pool: Pool | None) -> Candidate:
    picked, node, ask = _NOTHING if pool is None else _pick(pool, seen.ask), seen.node, seen.ask
    devices = tuple(sorted([room.device for room in picked.rooms]))
    chip = "" if pool is None else pool.chip
    return Candidate(
        _key(node, ask, picked, _share_after(seen)), node.name, devices, chip, node.labels.get(NETWORK, "")
    )


def _key(node: Node, ask: Ask, picked: Picked, share: float) -> tuple[float, ...]:
    """Few groups before all else; then how the strategy likes it, and whether the files and the engine are there.

    Spread counts the replicas of the model before it looks for its files, or it would heap them up where they are.
    """
    about = ask.about
    lacks = (not node.has_weights(about.source)) * 2 + (not node.has_engine(ask.backend))
    left = _left_bytes(node, ask, picked)
    if ask.wish.strategy == "binpack":
        return picked.group_count, lacks, left, share
    replicas = node.models.get(about.model, 0) if about.model is not None else 0
    return picked.group_count, replicas, lacks, -share, -left


def _pick(pool: Pool, ask: Ask) -> Picked:
    rooms, count, is_tight = pool.open_to(ask.shares), ask.claim.device_count, ask.wish.strategy == "binpack"
    if not is_tight and (count == 1 or pool.group_count == 1):
        return Picked(rooms[:count], 1)
    return pick(fitting(rooms, ask.claim.bytes_per_device), count, is_tight)


def _left_bytes(node: Node, ask: Ask, picked: Picked) -> int:
    """What stays free on the devices that the claim takes; of the RAM where it takes none."""
    if not picked.rooms:
        return (node.free_ram_bytes or 0) - ask.claim.ram_bytes
    return picked.free_bytes - ask.claim.device_count * ask.claim.bytes_per_device


def _share_after(seen: View) -> float:
    """0 to 1: how empty the worker is afterwards, over its devices of the kind, or over its RAM."""
    claim, pools = seen.ask.claim, seen.pools
    if not pools:
        return ((seen.node.free_ram_bytes or 0) - claim.ram_bytes) / max(1, seen.node.ram_total_bytes or 0)
    room = sum([pool.room_bytes for pool in pools]) - claim.device_count * claim.bytes_per_device
    return room / max(1, sum([pool.capacity_bytes for pool in pools]))
