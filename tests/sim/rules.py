"""The decisions of a run, one name each. The defaults are the real ones; a mutant replaces a single one."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack_lite import lifecycle
from gpustack_lite.db.tables import ModelInstance, Worker
from gpustack_lite.domain import Claim, Placement, PlacementWish, Unplaceable
from gpustack_lite.lifecycle import ENDING, State
from gpustack_lite.wire import Assignment, StatusReport
from scheduler import Node, place, reserve
from worker.desired import is_newer
from worker.plan import Action


@dataclass(frozen=True)
class Rules:
    # scheduler
    place: Callable[[Sequence[Node], Sequence[Claim], PlacementWish], Placement | Unplaceable] = place
    reserve: Callable[[Sequence[Node], Placement], tuple[Node, ...]] = reserve
    # server
    counts: Callable[[ModelInstance], bool] = lambda row: row.holds_claim
    move: Callable[[State, State], State] = lifecycle.move
    hears: Callable[[ModelInstance], bool] = lambda row: State(row.state) not in ENDING and not row.gave_up
    is_present: Callable[[StatusReport, int], bool] = lambda report, epoch: report.epoch == epoch
    knows_all: Callable[[StatusReport, Worker], bool] = lambda report, worker: (
        report.revision >= worker.assignment_revision
    )
    is_unmoved: Callable[[int, int], bool] = lambda seen, revision: seen == revision
    is_leader: Callable[[int, int], bool] = lambda mine, epoch: mine == epoch
    may_place: Callable[[ModelInstance], bool] = lambda row: row.state == State.PENDING and not row.holds_claim
    frees_what_gave_up: bool = False
    frees_what_is_lost: bool = False
    frees_all_with_one_share: bool = False
    event_time: Callable[[int, int], int] = lambda now, sent_at: now
    next_id: Callable[[int, Collection[int]], int] = lambda last, living: last + 1
    is_counted: Callable[[str, Collection[str]], bool] = lambda request_id, known: request_id in known
    # worker
    accepts: Callable[[Assignment, Assignment], bool] = is_newer
    carries_out: Callable[[Action], bool] = lambda action: True
    reports: Callable[[Any], bool] = lambda process: True
    adopts: bool = True
    waits_for_the_end: bool = True
    # gateway
    forgets_when_sent: bool = False
