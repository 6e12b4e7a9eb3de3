"""No two placements share memory, however many programs decide at once (case B09)."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from backends import registry
from gpustack_lite.db.engine import Database, open_database
from gpustack_lite.db.nodes import nodes
from gpustack_lite.db.queries import cluster, placing
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from gpustack_lite.server import placements, replicas
from gpustack_lite.server.deciding import decide
from tests.fakes.clock import ManualClock
from tests.fakes.cluster import Cluster, clear, make_cluster
from tests.fakes.fake_backends import FakeBackend

pytestmark = pytest.mark.integration
ROUNDS = 50


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"fake": FakeBackend()}.__getitem__)


async def test_two_models_that_fit_once_are_never_both_placed(db: Database, migrated_url: str, ports: Ports) -> None:
    """B09: one card of 24 GiB, two models of 14 GiB in the same moment, two servers, fifty rounds."""
    other = await open_database(migrated_url, ports)
    one = await make_cluster(db, ports)
    cores = [one.core, Cluster(other, one.core, one.heartbeats, one.silence, one.publisher).core]
    cores[1] = type(one.core)(other, one.core.signals, ports, one.core.settings, one.core.epoch)
    await one.add_worker()
    for number in range(ROUNDS):
        await asyncio.gather(one.add_model(f"a{number}"), one.add_model(f"b{number}"))
        await asyncio.gather(*(replicas.step(core) for core in cores))
        await asyncio.gather(*(placements.step(core) for core in cores))
        await asyncio.gather(*(placements.step(core) for core in cores))
        rows = await one.instances()
        assert sorted(each.state for each in rows) == ["pending", "scheduled"]
        waiting = next(each for each in rows if each.state == "pending")
        assert (waiting.said or {})["code"] == "not_enough_device_memory"
        assert [each.id for each in rows if each.holds_claim] == [each.id for each in rows if each is not waiting]
        await clear(db)
    await other.close()


async def test_two_server_processes_never_give_a_device_twice(db: Database, migrated_url: str, ports: Ports) -> None:
    one = await make_cluster(db, ports)
    await one.add_worker(devices=14)
    root = Path(__file__).parents[2]
    programs = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.fakes.placer", migrated_url, "10", str(one.core.epoch), cwd=root
        )
        for _ in range(2)
    ]
    assert [await each.wait() for each in programs] == [0, 0]
    await one.settle()
    rows = await one.instances()
    taken = Counter(index for each in rows for index in each.device_indices)
    assert taken == dict.fromkeys(range(14), 1)
    assert Counter(each.state for each in rows) == {"scheduled": 14, "pending": 6}


async def test_a_round_that_was_decided_on_an_old_snapshot_is_not_written(db: Database, ports: Ports) -> None:
    one = await make_cluster(db, ports)
    await one.add_worker()
    await one.add_model()
    await replicas.step(one.core)
    async with db.read() as session:
        old = await placing.snapshot(session)
    decisions = [each for each in decide(old, ports.clock.wall()) if isinstance(each, placing.Place)]
    async with db.write() as session:
        await cluster.next_counter(session, cluster.CLUSTER)
    async with db.write() as session:
        assert not await placing.commit(session, old.revision, decisions, ports.clock)
    assert set((await one.states()).values()) == {"pending"}


async def test_a_large_round_is_written_in_parts_and_what_moves_meanwhile_is_seen(
    db: Database, ports: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody comes between two parts: what is written stays, the rest is decided anew, no device is taken twice."""
    one = await make_cluster(db, ports)
    await one.add_worker(devices=8)
    await one.add_model(replicas=8)
    monkeypatch.setattr(replicas, "MOST_AT_ONCE", 5)
    assert await replicas.step(one.core) == 0.0
    assert await replicas.step(one.core) is None
    parts: list[int | None] = []
    commit = placements._commit

    async def disturbed(*given: Any) -> int | None:
        if len(parts) == 1:
            async with db.write() as session:
                await cluster.next_counter(session, cluster.CLUSTER)
        parts.append(await commit(*given))
        return parts[-1]

    monkeypatch.setattr(placements, "MOST_AT_ONCE", 3)
    monkeypatch.setattr(placements, "_commit", disturbed)
    await placements.step(one.core)
    assert [each is None for each in parts] == [False, True, False, False]
    rows = await one.instances()
    assert Counter(index for each in rows for index in each.device_indices) == dict.fromkeys(range(8), 1)


async def test_a_server_whose_epoch_has_passed_places_nothing(db: Database, ports: Ports, clock: ManualClock) -> None:
    old = await make_cluster(db, ports, "a")
    worker = await old.add_worker()
    await old.add_model()
    await replicas.step(old.core)
    clock.advance(2000)
    await worker.beat()
    new = await make_cluster(db, ports, "b")
    with pytest.raises(Refusal, match="not_leading"):
        await placements.step(old.core)
    assert set((await new.states()).values()) == {"pending"}
    await placements.step(new.core)
    assert set((await new.states()).values()) == {"scheduled"}


async def test_a_freed_device_lets_the_next_one_start(db: Database, ports: Ports) -> None:
    one = await make_cluster(db, ports)
    worker = await one.add_worker()
    first, _ = await one.add_model("a"), await one.add_model("b")
    await one.settle()
    await worker.run_all()
    await worker.beat(used_gib=14)
    await one.delete_model(first)
    await one.settle()
    assert list((await one.states()).values()) == ["stopping", "pending"]
    await worker.report()
    await one.settle()
    assert list((await one.states()).values()) == ["scheduled"]


async def test_the_end_of_a_replica_frees_exactly_what_its_start_took(db: Database, ports: Ports) -> None:
    one = await make_cluster(db, ports)
    worker = await one.add_worker(devices=2)

    async def free() -> list[object]:
        async with db.read() as session:
            return [(each.pools, each.free_ram_bytes) for each in nodes(await placing.snapshot(session))]

    before = await free()
    model = await one.add_model(replicas=2, options={"gib": 7})
    await one.settle()
    taken = await free()
    await worker.run_all()
    await worker.beat(devices=2, used_gib=7)
    assert taken == await free() != before
    await one.delete_model(model)
    await one.settle()
    assert await free() == taken
    await worker.report()
    await worker.beat(devices=2)
    await one.settle()
    assert await free() == before


async def test_a_waiting_instance_does_not_fill_the_change_log(db: Database, ports: Ports) -> None:
    one = await make_cluster(db, ports)
    await one.add_worker()
    await one.add_model(options={"gib": 40})
    await one.settle()
    async with db.read() as session:
        before = await cluster.counter(session, cluster.CHANGES)
    await one.settle()
    async with db.read() as session:
        assert await cluster.counter(session, cluster.CHANGES) == before


async def test_the_worker_is_told_in_the_same_transaction(db: Database, ports: Ports) -> None:
    one = await make_cluster(db, ports)
    worker = await one.add_worker()
    before = (await worker.assignment()).revision
    await one.add_model()
    await one.settle()
    after = await worker.assignment()
    assert after.revision > before
    assert [(each.model, each.devices, len(each.engine_key)) for each in after.instances] == [("m", (0,), 64)]
