"""The table of states: what is allowed, and that nothing else is."""

from itertools import product

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.lifecycle import ENDING, MOVES, PLACED, State, is_allowed, move, path

REFUSED = [(a, b) for a, b in product(State, State) if b not in MOVES[a]]


@pytest.mark.parametrize(("current", "target"), REFUSED, ids=str)
def test_a_move_outside_the_table_is_refused_with_both_names(current: State, target: State) -> None:
    with pytest.raises(Refusal) as refused:
        move(current, target)
    assert refused.value.params == {"current": str(current), "target": str(target)}


def test_no_state_may_follow_itself_so_that_every_event_is_a_change() -> None:
    assert not [state for state in State if is_allowed(state, state)]


def test_what_is_ending_never_comes_back_to_life() -> None:
    alive = set(State) - ENDING
    assert not [(a, b) for a, b in product(ENDING, alive) if is_allowed(a, b)]


def test_every_placed_state_can_end_and_be_lost() -> None:
    assert all(is_allowed(state, State.STOPPING) for state in PLACED - {State.STOPPING})
    assert all(is_allowed(state, State.LOST) for state in PLACED - {State.LOST})


def test_every_state_can_be_reached_from_pending() -> None:
    reached, edge = {State.PENDING}, {State.PENDING}
    while edge:
        edge = {target for state in edge for target in MOVES[state]} - reached
        reached |= edge
    assert reached == set(State)


@pytest.mark.parametrize(
    ("current", "target", "expected"),
    [
        pytest.param(State.READY, State.READY, (), id="nothing to do"),
        pytest.param(State.SCHEDULED, State.READY, (State.READY,), id="a direct move"),
        pytest.param(State.PREPARING, State.UNHEALTHY, (State.READY, State.UNHEALTHY), id="through what was not told"),
        pytest.param(State.LOST, State.READY, None, id="no way back"),
        pytest.param(State.STOPPING, State.FAILED, None, id="nor from stopping"),
    ],
)
def test_a_path_goes_along_allowed_moves(current: State, target: State, expected: tuple[State, ...] | None) -> None:
    assert path(current, target) == expected


def test_no_path_ends_on_its_way() -> None:
    ways = [path(a, b) for a, b in product(State, State)]
    assert not [way for way in ways if way and ENDING & set(way[:-1])]
