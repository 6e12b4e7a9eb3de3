"""Which replica is missed least: the one whose end frees the most useful room; pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpustack_lite.db.nodes import nodes
from gpustack_lite.db.queries.placing import Snapshot, claim_of
from gpustack_lite.db.tables import ModelInstance
from gpustack_lite.server.deciding import Round, fits, in_order
from scheduler import Node
from scheduler.node import vacated

MOST_ASKED = 8
"""Waiting models that are asked whether an end would help them."""
MOST_CHOSEN = 32
"""Ends that are chosen one after the other, each with those before it gone; the rest is ranked as they leave it."""


@dataclass
class _Room:
    """The workers by name, as they are with those gone that were chosen."""

    this_round: Round
    waiting: list[ModelInstance]
    left: dict[str, Node]
    workers: dict[int, str] = field(default_factory=dict)


def least_missed(snapshot: Snapshot, candidates: Collection[int], now: datetime) -> list[int]:
    """Ids of placed instances, the first to end first: one that makes room for a waiting model (by its priority),
    else one whose devices are emptiest afterwards, else the youngest.
    """
    room = _room(snapshot, now)
    left = [each for each in snapshot.holding if each.id in candidates]
    chosen: list[int] = []
    while left:
        ranked = sorted(left, key=lambda each: _rank(room, each))
        taken = ranked[:1] if len(chosen) < MOST_CHOSEN else ranked
        for each in taken:
            left.remove(each)
            chosen.append(each.id or 0)
            _end(room, each)
    return chosen


def _room(snapshot: Snapshot, now: datetime) -> _Room:
    there = nodes(snapshot, now)
    this_round = Round(snapshot, now, there)
    waiting = list({each.model_id: each for each in reversed(in_order(snapshot))}.values())[::-1]
    names = {each.id or 0: each.name for each in snapshot.workers}
    return _Room(this_round, waiting[:MOST_ASKED], {node.name: node for node in there}, names)


def _rank(room: _Room, each: ModelInstance) -> tuple[int, float, int]:
    node = _without(room, each)
    if node is None:
        return len(room.waiting), 0.0, -(each.id or 0)
    helped = [place for place, waits in enumerate(room.waiting) if fits(room.this_round, waits, (node,))]
    return min(helped, default=len(room.waiting)), -_emptiness(node, each.device_indices), -(each.id or 0)


def _without(room: _Room, each: ModelInstance) -> Node | None:
    node = room.left.get(room.workers.get(each.worker_id or 0, ""))
    return None if node is None else vacated(node, each.device_indices, claim_of(each.claim), model=each.model_name)


def _end(room: _Room, each: ModelInstance) -> None:
    node = _without(room, each)
    if node is not None:
        room.left[node.name] = node


def _emptiness(node: Node, indices: Sequence[int]) -> float:
    """0 to 1, of the devices that the replica has; of the RAM where it has none."""
    spaces = [space for pool in node.pools for space in pool.spaces if space.device in indices]
    if not spaces:
        return (node.free_ram_bytes or 0) / max(1, node.ram_total_bytes or 0)
    return sum([each.free_bytes or 0 for each in spaces]) / max(1, sum([each.capacity_bytes or 0 for each in spaces]))
