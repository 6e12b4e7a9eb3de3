"""One instance over two workers as the server keeps it: rounds, places to meet, ends, silence, deletion."""

import pytest

from backends import registry
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import devices, workers
from gpustack_lite.db.queries.paging import Wish
from gpustack_lite.ports import Ports
from gpustack_lite.wire import AssignedInstance, Meeting
from tests.fakes.cluster import Cluster, FakeWorker, make_cluster, status
from tests.fakes.fake_backends import FakeBackend

pytestmark = pytest.mark.integration
GIB = 1024**3
KILLED = {"code": "engine_killed_9", "params": {"last_line": "-", "exit_code": -9}}


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"fake": FakeBackend()}.__getitem__)


@pytest.fixture
async def one(db: Database, ports: Ports) -> Cluster:
    return await make_cluster(db, ports, grace_seconds=60, drain_seconds=0)


@pytest.fixture
async def both(one: Cluster) -> tuple[FakeWorker, FakeWorker]:
    """A leader and a follower, with a model over both."""
    made = await one.add_worker(1), await one.add_worker(2)
    await one.add_model(options={"workers": 2})
    await one.settle()
    return made


async def share_of(worker: FakeWorker) -> AssignedInstance:
    (found,) = (await worker.assignment()).instances
    return found


async def serving(both: tuple[FakeWorker, FakeWorker], attempt: int = 1) -> None:
    leader, follower = both
    await leader.report(status(1, "starting", attempt=attempt, port=21000, meeting_ports=(21001,)))
    await follower.report(status(1, "ready", attempt=attempt, pid=7))
    await leader.report(status(1, "ready", attempt=attempt, port=21000, meeting_ports=(21001,)))


async def claimed(one: Cluster) -> list[int]:
    async with one.db.read() as session:
        rows = (await devices.listed(session, Wish(limit=10))).items
    return [each["memory_claimed_bytes"] for each in rows if each["kind"] != "cpu"]


async def test_both_are_told_of_each_other_and_the_follower_where_to_meet(
    one: Cluster, both: tuple[FakeWorker, FakeWorker]
) -> None:
    leader, follower = [await share_of(each) for each in both]
    assert (leader.rank, follower.rank, leader.round, leader.meeting) == (0, 1, 1, None)
    assert [each.worker for each in leader.members] == ["w1", "w2"] == [each.worker for each in follower.members]
    topics = await both[0].report(status(1, "starting", attempt=1, port=21000, meeting_ports=(21001,)))
    assert "assignments" in topics
    assert (await share_of(both[1])).meeting == Meeting(round=1, address="127.0.0.1", ports=(21001,))
    assert await claimed(one) == [14 * GIB] * 2


async def test_it_is_ready_when_its_leader_is_and_the_others_run(
    one: Cluster, both: tuple[FakeWorker, FakeWorker]
) -> None:
    leader, follower = both
    await leader.report(status(1, "ready", attempt=1, port=21000, meeting_ports=(21001,)))
    assert await one.states() == {1: "starting"}
    await follower.report(status(1, "ready", attempt=1))
    assert await one.states() == {1: "ready"}
    assert (await one.instances())[0].port == 21000


async def test_a_share_that_fails_calls_the_next_round_for_all(
    one: Cluster, both: tuple[FakeWorker, FakeWorker]
) -> None:
    leader, follower = both
    await serving(both)
    for _ in range(2):  # a report that is repeated calls no further round
        await follower.report(status(1, "failed", attempt=1, said=KILLED))
    assert [(await share_of(each)).round for each in both] == [2, 2]
    assert (await share_of(follower)).meeting is None
    instance = (await one.instances())[0]
    assert (instance.state, (instance.said or {})["code"]) == ("failed", "member_failed")
    await leader.report(status(1, "failed", attempt=1, said={"code": "joint_restart", "params": {}}))
    await follower.report(status(1, "preparing", attempt=2))
    await serving(both, attempt=2)
    assert await one.states() == {1: "ready"}
    assert [(await share_of(each)).round for each in both] == [2, 2]


async def test_one_that_gives_up_ends_on_both(one: Cluster, both: tuple[FakeWorker, FakeWorker]) -> None:
    await serving(both)
    await both[1].report(status(1, "failed", attempt=1, said=KILLED, gave_up=True))
    assert [(await each.assignment()).instances for each in both] == [(), ()]
    await both[0].report()
    assert await claimed(one) == [0, 14 * GIB]
    await both[1].report()
    assert await claimed(one) == [0, 0]
    assert not (await one.instances())[0].holds_claim


async def test_a_stop_frees_each_worker_when_it_confirms(one: Cluster, both: tuple[FakeWorker, FakeWorker]) -> None:
    await serving(both)
    await one.change_model(1, stopped=True)
    await one.settle()
    assert [(await each.assignment()).instances for each in both] == [(), ()]
    await both[1].report()
    assert await one.states() == {1: "stopping"}
    assert await claimed(one) == [14 * GIB, 0]
    await both[0].report()
    assert await one.states() == {}
    assert await claimed(one) == [0, 0]


async def test_a_worker_that_is_deleted_by_force_leaves_the_others_to_confirm(
    one: Cluster, both: tuple[FakeWorker, FakeWorker]
) -> None:
    await serving(both)
    async with one.db.write() as session:
        gone = await workers.by_ref(session, "w2")
        await workers.remove(session, gone, one.core.ports.clock, force=True)
    assert await one.states() == {1: "lost"}
    assert (await both[0].assignment()).instances == ()
    assert await claimed(one) == [14 * GIB]
    await both[0].report()
    await one.settle()
    assert await claimed(one) == [0]
    assert await one.states() == {2: "pending"}


async def test_a_share_that_its_worker_lost_calls_all_to_begin_anew(
    one: Cluster, both: tuple[FakeWorker, FakeWorker]
) -> None:
    await serving(both)
    await both[1].report()
    assert await one.states() == {1: "starting"}
    assert [(await share_of(each)).round for each in both] == [2, 2]
