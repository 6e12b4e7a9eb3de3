"""What the plan of a worker says for a desired and an actual state."""

import pytest

from gpustack_lite.wire import AssignedInstance, AssignedMember
from worker.plan import Action, Condemn, Start, Stop, condemned, overtaken, plan


def assigned(id: int, generation: int = 1) -> AssignedInstance:
    return AssignedInstance(id=id, model="m", generation=generation, source="none:", backend="echo", engine_key="k")


@pytest.mark.parametrize(
    ("desired", "running", "actions"),
    [
        pytest.param({}, set(), [], id="nothing wanted, nothing there"),
        pytest.param({2: assigned(2)}, {1}, [Stop(1), Start(assigned(2))], id="a stop comes before its successor"),
        pytest.param({1: assigned(1)}, {1}, [], id="what runs is left alone"),
        pytest.param({1: assigned(1, generation=9)}, {1}, [], id="only ids are compared"),
        pytest.param({}, {3, 1}, [Stop(1), Stop(3)], id="what is wanted no more is stopped in order"),
    ],
)
def test_plan(desired: dict[int, AssignedInstance], running: set[int], actions: list[Action]) -> None:
    assert plan(desired, running) == actions


@pytest.mark.parametrize(
    ("stuck_attempt", "running", "ended"),
    [
        pytest.param(0, {1: 1}, [], id="nobody complained"),
        pytest.param(2, {1: 2}, [Condemn(1, 2)], id="the attempt that was found stuck"),
        pytest.param(2, {1: 3}, [], id="a later attempt is another engine"),
        pytest.param(2, {}, [], id="what does not run needs no end"),
        pytest.param(2, {1: 0}, [], id="nor what has not begun"),
    ],
)
def test_condemned(stuck_attempt: int, running: dict[int, int], ended: list[Condemn]) -> None:
    wanted = {1: assigned(1).model_copy(update={"stuck_attempt": stuck_attempt})}
    assert condemned(wanted, running) == ended


@pytest.mark.parametrize(
    ("round", "running", "ended"),
    [
        pytest.param(2, {1: 1}, [Condemn(1, 1)], id="another share failed"),
        pytest.param(2, {1: 2}, [], id="this attempt is the one that was called"),
        pytest.param(2, {1: 0}, [], id="what has not begun"),
        pytest.param(2, {}, [], id="nor what is not there"),
    ],
)
def test_shares_end_when_a_later_round_is_called(round: int, running: dict[int, int], ended: list[Condemn]) -> None:
    members = tuple(AssignedMember(rank=rank, worker=f"w{rank}", address="10.0.0.1") for rank in range(2))
    wanted = {1: assigned(1).model_copy(update={"round": round, "members": members})}
    assert overtaken(wanted, running) == ended


def test_what_one_worker_carries_knows_no_rounds() -> None:
    assert overtaken({1: assigned(1).model_copy(update={"round": 5})}, {1: 1}) == []
