"""How a device stands under the faults it tells, on a clock of the test's own."""

from datetime import timedelta

import pytest

from gpustack_lite.server.standing import FLAPS, QUIET, SETTLE, WINDOW, Standing, after, document, read, released
from gpustack_lite.wire import FaultReport, Said
from tests.fakes.clock import START

RESTART = FaultReport(code="80E01801", action="restart", said=Said(code="fault_restart"))
ISOLATE = FaultReport(code="8C03A000", action="isolate", said=Said(code="fault_isolate"))
IGNORE = FaultReport(code="80E21007", action="ignore", said=Said(code="fault_ignore"))


class Card:
    """Tells one thing after the other, and remembers what was done."""

    def __init__(self) -> None:
        self.now, self.standing = START, Standing()

    def tells(self, fault: FaultReport | None, after_time: timedelta = timedelta(seconds=10)) -> str:
        self.now += after_time
        self.standing, todo = after(self.standing, fault, self.now)
        return todo


def test_a_fault_is_acted_on_once_while_it_lasts() -> None:
    card = Card()
    assert [card.tells(RESTART), card.tells(RESTART), card.tells(None)] == ["restart", "nothing", "nothing"]


@pytest.mark.parametrize("fault", [IGNORE, None])
def test_what_takes_nothing_from_service_leaves_no_trace(fault: FaultReport | None) -> None:
    card = Card()
    assert card.tells(fault) == "nothing"
    assert document(card.standing) is None


def test_an_isolated_card_comes_back_once_its_fault_is_gone_for_a_while() -> None:
    card = Card()
    assert [card.tells(ISOLATE), card.tells(ISOLATE)] == ["isolate", "nothing"]
    assert card.standing.since is not None
    assert [card.tells(None), card.tells(None, SETTLE / 2), card.tells(None, SETTLE / 2)] == [
        "nothing",
        "nothing",
        "release",
    ]
    assert card.standing.since is None


def test_a_fault_that_comes_back_while_it_settles_counts_again() -> None:
    card = Card()
    card.tells(ISOLATE)
    card.tells(None)
    assert card.tells(ISOLATE, SETTLE / 2) == "nothing"
    assert card.standing.clear_since is None
    assert len(card.standing.onsets) == 2


def test_a_card_that_flaps_is_held_until_it_was_quiet_for_long() -> None:
    card = Card()
    todos = []
    for _ in range(FLAPS):
        todos += [card.tells(RESTART), card.tells(None)]
    assert todos == ["restart", "nothing", "restart", "nothing", "hold", "nothing"]
    assert card.standing.is_held
    assert card.tells(None, SETTLE * 2) == "nothing"
    assert card.tells(None, QUIET) == "release"
    assert card.tells(RESTART) == "restart", "its slate is clean"


def test_faults_that_are_further_apart_than_the_window_do_not_add_up() -> None:
    card = Card()
    for _ in range(FLAPS * 3):
        assert card.tells(RESTART, WINDOW) == "restart"
        assert card.tells(None) == "nothing"


def test_an_isolated_card_that_flaps_becomes_held() -> None:
    card = Card()
    todos = [card.tells(fault, SETTLE * 2) for fault in (ISOLATE, None, None) * FLAPS]
    assert todos == ["isolate", "nothing", "release"] * (FLAPS - 1) + ["hold", "nothing", "nothing"]


def test_who_releases_a_card_answers_for_the_fault_that_is_there() -> None:
    card = Card()
    card.tells(ISOLATE)
    card.standing = released(card.standing)
    assert card.tells(ISOLATE) == "nothing"
    assert card.tells(None) == "nothing"
    assert card.tells(ISOLATE) == "isolate", "it is another one"


def test_it_is_kept_in_a_row_and_read_again() -> None:
    card = Card()
    card.tells(ISOLATE)
    assert read(document(card.standing)) == card.standing
    assert read(None) == Standing()
