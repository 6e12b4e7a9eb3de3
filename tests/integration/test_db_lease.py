"""Who may reconcile, and that nobody writes under an epoch that has passed."""

import pytest

from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import cluster
from gpustack_lite.errors import Refusal
from tests.fakes.clock import ManualClock

pytestmark = pytest.mark.integration


async def take(db: Database, clock: ManualClock, server: str, run: str) -> int | None:
    async with db.write() as session:
        return await cluster.take_lease(session, server, run, 10, clock)


async def test_one_server_holds_the_lease_until_it_runs_out(db: Database, clock: ManualClock) -> None:
    assert await take(db, clock, "a", "1") == 1
    assert await take(db, clock, "b", "1") is None
    clock.advance(9)
    assert await take(db, clock, "a", "1") == 1
    clock.advance(9)
    assert await take(db, clock, "b", "1") is None
    clock.advance(1)
    assert await take(db, clock, "b", "1") == 2
    assert await take(db, clock, "a", "1") is None


async def test_a_restarted_server_does_not_wait_for_itself(db: Database, clock: ManualClock) -> None:
    assert [await take(db, clock, "a", "1"), await take(db, clock, "a", "2")] == [1, 2]


async def test_a_lease_that_was_given_up_is_free(db: Database, clock: ManualClock) -> None:
    await take(db, clock, "a", "1")
    async with db.write() as session:
        await cluster.release_lease(session, "b", "1", clock)
    assert await take(db, clock, "b", "1") is None
    async with db.write() as session:
        await cluster.release_lease(session, "a", "1", clock)
    assert await take(db, clock, "b", "1") == 2


async def test_nothing_is_written_under_an_epoch_that_has_passed(db: Database, clock: ManualClock) -> None:
    await take(db, clock, "a", "1")
    await take(db, clock, "a", "2")

    async def write(epoch: int) -> None:
        async with db.write() as session:
            await cluster.next_counter(session, "x")
            await cluster.guard(session, epoch)

    with pytest.raises(Refusal, match="not_leading"):
        await write(1)
    await write(2)
    async with db.read() as session:
        assert await cluster.counter(session, "x") == 1


def test_engine_keys_differ_by_instance_and_by_cluster() -> None:
    keys = {cluster.engine_key("s", 1), cluster.engine_key("s", 2), cluster.engine_key("t", 1)}
    assert {len(key) for key in keys} == {64}
    assert len(keys) == 3


async def test_a_later_epoch_that_a_machine_remembers_is_overtaken_by_who_leads(
    db: Database, clock: ManualClock
) -> None:
    await take(db, clock, "a", "1")
    async with db.write() as session:
        assert await cluster.overtake(session, 7)
        assert not await cluster.overtake(session, 7)
    assert await take(db, clock, "a", "1") == 8
