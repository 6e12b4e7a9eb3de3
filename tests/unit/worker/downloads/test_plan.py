"""What changes when the Assignment does, and whether there is room."""

from gpustack_lite.wire import AssignedFiles
from worker.downloads.plan import Become, Drop, no_room, plan

ONE = AssignedFiles(id=1, source="huggingface:a/b")
TWO = AssignedFiles(id=2, source="huggingface:c/d")


def test_what_is_as_it_is_wanted_is_left_alone() -> None:
    assert plan([ONE, TWO], {1: ONE, 2: TWO}) == []


def test_deletions_come_first_because_they_make_room() -> None:
    gone = TWO.model_copy(update={"wanted": "absent"})
    assert plan([ONE, gone], {2: TWO}) == [Become(gone), Become(ONE)]


def test_what_nobody_lists_any_more_is_dropped_and_not_deleted() -> None:
    assert plan([], {1: ONE}) == [Drop(1)]


def test_room_is_enough_when_the_reserve_stays() -> None:
    assert no_room(60, 100, 40, "/x") is None


def test_a_lack_of_room_is_told_with_its_numbers() -> None:
    refusal = no_room(61, 100, 40, "/x")
    assert refusal is not None
    assert refusal.params["lacking_bytes"] == 1
