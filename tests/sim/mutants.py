"""Mistakes that somebody could make, one each: the simulator must notice every one, or it is blind."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gpustack_lite.domain import Claim, Placement, PlacementWish, Unplaceable
from gpustack_lite.lifecycle import State
from scheduler import Node, place
from tests.sim.rules import Rules
from worker.plan import Stop

RIGHT = Rules()


def _blind_to_others(nodes: Sequence[Node], claims: Sequence[Claim], wish: PlacementWish) -> Placement | Unplaceable:
    return place([replace(node, foreign=dict.fromkeys(node.foreign, 0)) for node in nodes], claims, wish)


def _sharing_chips(nodes: Sequence[Node], claims: Sequence[Claim], wish: PlacementWish) -> Placement | Unplaceable:
    as_cuda = [
        replace(node, exclusive=frozenset(), devices=tuple(replace(each, kind="cuda") for each in node.devices))
        for node in nodes
    ]
    return place(as_cuda, claims, wish)


def _without_reserve(nodes: Sequence[Node], claims: Sequence[Claim], wish: PlacementWish) -> Placement | Unplaceable:
    return place([replace(node, device_reserve_bytes=0) for node in nodes], claims, wish)


def _lowest_free_id(last: int, living: Collection[int]) -> int:
    return next(id_ for id_ in range(1, len(living) + 2) if id_ not in living)


MUTANTS: Mapping[str, Rules] = {
    "place ignores foreign memory": replace(RIGHT, place=_blind_to_others),
    "place shares Ascend chips": replace(RIGHT, place=_sharing_chips),
    "place keeps no reserve": replace(RIGHT, place=_without_reserve),
    "a round does not see its own placements": replace(RIGHT, reserve=lambda nodes, placement: tuple(nodes)),
    "claim freed at stop request": replace(RIGHT, counts=lambda row: row.holds_claim and row.state != State.STOPPING),
    "claims of lost workers ignored": replace(RIGHT, counts=lambda row: row.holds_claim and row.state != State.LOST),
    "claim freed when its worker is lost": replace(RIGHT, frees_what_is_lost=True),
    "claim freed when an instance gives up": replace(RIGHT, frees_what_gave_up=True),
    "claim freed when one share has ended": replace(RIGHT, frees_all_with_one_share=True),
    "absence believed of any report": replace(RIGHT, knows_all=lambda report, worker: True),
    "move unchecked": replace(RIGHT, move=lambda before, after: after, hears=lambda row: True),
    "commit on a snapshot that moved": replace(RIGHT, is_unmoved=lambda seen, revision: True),
    "commit without the lease": replace(RIGHT, is_leader=lambda mine, epoch: True),
    "placement overwritten": replace(
        RIGHT,
        may_place=lambda row: row.state in {State.PENDING, State.SCHEDULED},
        is_unmoved=lambda seen, revision: True,
        move=lambda before, after: after if before == after else RIGHT.move(before, after),
    ),
    "instance ids used again": replace(RIGHT, next_id=_lowest_free_id),
    "event told by the worker's clock": replace(RIGHT, event_time=lambda now, sent_at: sent_at),
    "older assignment accepted": replace(RIGHT, accepts=lambda new, current: new != current),
    "worker stops nothing": replace(RIGHT, carries_out=lambda action: not isinstance(action, Stop)),
    "worker leaves out what is dying": replace(RIGHT, reports=lambda process: process.phase != "dying"),
    "worker forgets at the stop signal": replace(RIGHT, waits_for_the_end=False),
    "restarted worker adopts nothing": replace(RIGHT, adopts=False),
    "no idempotency key": replace(RIGHT, is_counted=lambda request_id, known: False),
    "gateway forgets usage when it is sent": replace(RIGHT, forgets_when_sent=True),
}
