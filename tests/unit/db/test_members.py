"""An instance that several workers carry: what its shares add up to, and what each of them holds."""

from typing import Any

import pytest

from gpustack_lite.db import members
from gpustack_lite.db.nodes import nodes
from gpustack_lite.db.queries.placing import Snapshot
from gpustack_lite.db.tables import ModelInstance
from gpustack_lite.lifecycle import State
from gpustack_lite.wire import InstanceStatus, Said
from tests.fakes.rows import GIB, a_device, a_placed_instance, a_worker

CLAIM = {"device_count": 1, "bytes_per_device": 10 * GIB, "ram_bytes": GIB, "device_kinds": ["ascend"]}
KILLED = {"code": "engine_killed_9", "params": {"last_line": "step 7"}}
RESTARTED = {"code": members.RESTARTS, "params": {}}


def shared(*said: dict[str, Any], **given: Any) -> ModelInstance:
    """Over w1 (card 0) and w2 (card 1), with what each has said of its share."""
    rows = [members.begun(rank, rank + 1, f"w{rank + 1}", [rank]) for rank in range(2)]
    rows = [{**row, **each} for row, each in zip(rows, said or ({}, {}), strict=True)]
    return a_placed_instance(7, "ready", claim=CLAIM, device_indices=[0], members=rows, worker_count=2, **given)


def says(state: str | None, attempt: int = 1, **more: Any) -> dict[str, Any]:
    return {"state": state, "attempt": attempt, **more}


@pytest.mark.parametrize(
    ("leader", "follower", "state", "code"),
    [
        pytest.param(says(None), says("starting"), State.PREPARING, None, id="nobody knows of the leader yet"),
        pytest.param(says("starting"), says("ready"), State.STARTING, None, id="the leader still loads"),
        pytest.param(says("ready"), says("ready"), State.READY, None, id="both run"),
        pytest.param(says("ready"), says("preparing"), State.STARTING, "waits_for_members", id="a follower does not"),
        pytest.param(
            says("ready", 2), says("ready", 1), State.STARTING, "waits_for_members", id="one of a round before"
        ),
        pytest.param(says("unhealthy"), says("ready"), State.UNHEALTHY, None, id="the leader is ill"),
        pytest.param(
            says("ready"), says("failed", said=KILLED), State.FAILED, "member_failed", id="a follower has failed"
        ),
        pytest.param(
            says("failed", said=KILLED),
            says("failed", said=RESTARTED),
            State.FAILED,
            "engine_killed_9",
            id="the leader",
        ),
        pytest.param(
            says("failed", said=RESTARTED), says("failed", said=KILLED), State.FAILED, "member_failed", id="the cause"
        ),
    ],
)
def test_shares_add_up(leader: dict[str, Any], follower: dict[str, Any], state: State, code: str | None) -> None:
    found = members.joint(shared(leader, follower))
    assert (found.state, (found.said or {}).get("code")) == (state, code)


def test_a_round_is_over_when_a_share_of_it_fails_and_once_only() -> None:
    assert members.is_over(shared(says("ready"), says("failed")))
    assert not members.is_over(shared(says("failed"), says("failed"), round=2))


def test_the_others_meet_the_leader_of_this_round_only() -> None:
    assert members.meeting_ports(shared(says("starting", 2, ports=[21001]), says(None), round=2)) == [21001]
    assert members.meeting_ports(shared(says("ready", 1, ports=[21001]), says(None), round=2)) == ()
    assert members.meeting_ports(shared(says("failed", 2, ports=[21001]), says(None), round=2)) == ()


def test_what_a_worker_says_goes_to_its_own_share() -> None:
    instance = shared()
    status = InstanceStatus(id=7, state=State.FAILED, pid=9, attempt=3, said=Said(code="engine_gone"))
    assert members.take(instance, 2, status)
    assert not members.take(instance, 2, status)
    assert [each["state"] for each in instance.members] == [None, "failed"]
    assert instance.members[1]["pid"] == 9


def test_each_share_holds_until_its_own_worker_has_confirmed() -> None:
    instance = shared()
    free = _free(instance)
    assert free == {"w1": (10 * GIB, 0), "w2": (0, 10 * GIB)}
    members.put(instance, 1, gone=True)
    assert members.holders(instance) == (2,)
    assert _free(instance) == {"w1": (0, 0), "w2": (0, 10 * GIB)}
    assert members.devices_on(instance, 1) == ()


def _free(instance: ModelInstance) -> dict[str, tuple[int, ...]]:
    """The bytes that are claimed on the two cards of each of two workers."""
    workers = [a_worker(1), a_worker(2)]
    devices = {id_: [a_device(index, worker_id=id_) for index in range(2)] for id_ in (1, 2)}
    empty: dict[Any, Any] = {}
    seen = Snapshot(1, workers, devices, [instance], [], empty, empty, empty)
    return {node.name: tuple(node.claimed.get(index, 0) for index in range(2)) for node in nodes(seen)}


def test_what_serves_on_a_follower_is_not_foreign_there() -> None:
    seen = Snapshot(
        1,
        [a_worker(2)],
        {2: [a_device(1, worker_id=2, memory_used_bytes=12 * GIB)]},
        [shared(says("ready"), says("ready"))],
        [],
        {},
        {},
        {},
    )
    (node,) = nodes(seen)
    assert node.foreign == {1: 2 * GIB}
