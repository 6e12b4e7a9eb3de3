"""Which instances would have to move so that a claim fits, and where to: the fewest, each to a place that was tried."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice

from gpustack_lite.domain import Claim, Placement, PlacementWish, Reason, Unplaceable
from scheduler.checks import NOBODY, About
from scheduler.ending import full_workers, smallest_first
from scheduler.node import Node, vacated
from scheduler.place import place
from scheduler.question import Holding, Question, answer
from scheduler.reserve import reserve

MOST_MOVES = 4
MOST_TRIALS = 400
"""Sets of instances of which is asked whether their end would make room."""
MOST_ROUTED = 40
"""Of those that would, for how many new places are looked for."""


@dataclass(frozen=True, slots=True)
class Movable:
    """One instance, and the question of its own by which it gets another place. `refusals` are by worker."""

    holding: Holding
    claims: tuple[Claim, ...]
    wish: PlacementWish = field(default_factory=PlacementWish)
    backend: str | None = None
    about: About = NOBODY
    refusals: Mapping[str, Reason] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Move:
    """`stops_first`: there is no room for both at once, so nobody is served by it meanwhile."""

    holding: Holding
    target: Placement
    stops_first: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """In this order; `placement` is where the claim fits afterwards."""

    moves: tuple[Move, ...]
    placement: Placement


def moves_for(question: Question, movables: Mapping[int, Movable]) -> Moves | None:
    """None where no move of at most four instances of one worker helps. One worker is enough for the claims asked.

    Moves that keep everybody served go before any that do not, then the fewer, then the smaller.
    """
    refused = answer(question)
    if isinstance(refused, Placement):
        return Moves((), refused)
    sets = list(islice(_sets_that_help(question, refused, movables), MOST_ROUTED))
    for stops_first in (False, True):
        for some, placement in sets:
            if (found := _routed(question, [movables[each.id] for each in some], placement, stops_first)) is not None:
                return Moves(found, placement)
    return None


def _sets_that_help(
    question: Question, refused: Unplaceable, movables: Mapping[int, Movable]
) -> Iterator[tuple[Sequence[Holding], Placement]]:
    """Every one of a set is needed: without it the rest would not make room."""
    workers, trials = full_workers(question, refused), 0
    found: list[frozenset[int]] = []
    for count in range(1, MOST_MOVES + 1):
        for worker in workers:
            able = [each for each in smallest_first(question.held_on(worker)) if each.id in movables]
            for some in combinations(able, count):
                ids = frozenset([each.id for each in some])
                if any(ids > smaller for smaller in found):
                    continue
                if (trials := trials + 1) > MOST_TRIALS:
                    return
                if (placement := _fits_without(question, worker, ids)) is not None:
                    found.append(ids)
                    yield some, placement


def _fits_without(question: Question, worker: str, ids: frozenset[int]) -> Placement | None:
    claims = [claim for claim in question.claims if claim.worker_count == 1]
    found = place(
        [question.without(worker, ids)], claims, question.wish, backend=question.backend, about=question.about
    )
    return found if isinstance(found, Placement) else None


def _routed(
    question: Question, movables: Sequence[Movable], placement: Placement, stops_first: bool
) -> tuple[Move, ...] | None:
    """The place that is made room for counts as taken from the start, so that nobody moves into it."""
    left: Mapping[str, Node] = {node.name: node for node in reserve(question.nodes, placement, question.about)}
    moves: list[Move] = []
    for each in movables:
        move = _move(left, each, stops_first=False) or (_move(left, each, stops_first=True) if stops_first else None)
        if move is None:
            return None
        moves.append(move)
        left = _after(left, each, move)
    return tuple(moves)


def _move(left: Mapping[str, Node], each: Movable, *, stops_first: bool) -> Move | None:
    there = _without(left, each) if stops_first else left
    nodes = [replace(node, refusal=each.refusals.get(node.name)) for node in there.values()]
    claims = [claim for claim in each.claims if claim.worker_count == 1]
    found = place(nodes, claims, each.wish, backend=each.backend, about=each.about)
    if isinstance(found, Unplaceable) or _is_where_it_was(each.holding, found):
        return None
    return Move(each.holding, found, stops_first)


def _is_where_it_was(holding: Holding, found: Placement) -> bool:
    return (found.leader.worker, found.leader.devices) == (holding.worker, holding.devices)


def _without(left: Mapping[str, Node], each: Movable) -> Mapping[str, Node]:
    held = each.holding
    return {**left, held.worker: vacated(left[held.worker], held.devices, held.claim, model=held.model)}


def _after(left: Mapping[str, Node], each: Movable, move: Move) -> Mapping[str, Node]:
    moved = reserve(tuple(_without(left, each).values()), move.target, each.about)
    return {node.name: node for node in moved}
