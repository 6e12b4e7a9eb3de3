"""The states of a model instance and the moves that are allowed between them."""

from enum import StrEnum

from gpustack_lite.errors import Refusal


class State(StrEnum):
    PENDING = "pending"
    SCHEDULED = "scheduled"
    PREPARING = "preparing"
    STARTING = "starting"
    READY = "ready"
    UNHEALTHY = "unhealthy"
    FAILED = "failed"
    LOST = "lost"
    STOPPING = "stopping"


class ModelState(StrEnum):
    READY = "ready"
    PARTLY_READY = "partly_ready"
    PENDING = "pending"
    STARTING = "starting"
    STOPPED = "stopped"
    SLEEPING = "sleeping"
    FAILED = "failed"


_ENDS = frozenset({State.STOPPING, State.LOST})
MOVES: dict[State, frozenset[State]] = {
    State.PENDING: frozenset({State.SCHEDULED, State.STOPPING}),
    State.SCHEDULED: _ENDS | {State.PENDING, State.PREPARING, State.STARTING, State.READY, State.FAILED},
    State.PREPARING: _ENDS | {State.STARTING, State.READY, State.FAILED},
    State.STARTING: _ENDS | {State.PREPARING, State.READY, State.FAILED},
    State.READY: _ENDS | {State.PREPARING, State.STARTING, State.UNHEALTHY, State.FAILED},
    State.UNHEALTHY: _ENDS | {State.PREPARING, State.STARTING, State.READY, State.FAILED},
    State.FAILED: _ENDS | {State.PREPARING, State.STARTING, State.READY},
    State.LOST: frozenset({State.STOPPING}),
    State.STOPPING: frozenset({State.LOST}),
}

PLACED = frozenset(State) - {State.PENDING}
"""States in which a process may exist, so that the placement counts (a FAILED one that gave up has none any more)."""
SETTLING = frozenset({State.PENDING, State.SCHEDULED, State.PREPARING, State.STARTING})
ENDING = frozenset({State.STOPPING, State.LOST})


def is_allowed(current: State, target: State) -> bool:
    return target in MOVES[current]


def move(current: State, target: State) -> State:
    """The only way to change a state.

    Raises:
        Refusal: `move_not_allowed`, when the table does not know the edge.
    """
    if not is_allowed(current, target):
        raise Refusal("move_not_allowed", status=409, current=str(current), target=str(target))
    return target


def path(current: State, target: State) -> tuple[State, ...] | None:
    """The fewest allowed moves from one state to another without ending in between; None where there are none.

    Reports are levels, not edges: what a worker went through between two of them has to be filled in.
    """
    ways: list[tuple[State, ...]] = [()]
    seen = {current}
    while ways:
        way = ways.pop(0)
        here = way[-1] if way else current
        if here == target:
            return way
        nexts = [state for state in State if is_allowed(here, state) and state not in seen]
        seen.update(nexts)
        ways += [(*way, state) for state in nexts if state == target or state not in ENDING]
    return None
