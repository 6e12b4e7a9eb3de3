"""Moves that make room, carried out by the real reconcilers on both databases."""

from typing import Any

import pytest

from backends import registry
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import placing, rebalances
from gpustack_lite.db.tables import Rebalance
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from gpustack_lite.server import evaluating, rebalancing
from tests.fakes.clock import START, ManualClock
from tests.fakes.cluster import Cluster, FakeWorker, make_cluster
from tests.fakes.fake_backends import FakeBackend

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"fake": FakeBackend()}.__getitem__)


class World:
    """Two workers with a card of 24 GiB each, 10 GiB of each taken by a small model, and a big one that waits."""

    def __init__(self, cluster: Cluster, workers: list[FakeWorker], devices: int = 1) -> None:
        self.cluster, self.workers, self.devices = cluster, workers, devices

    async def settle(self) -> None:
        """Until nothing changes any more. A worker reports what is assigned, and what it holds as used."""
        before: object = None
        while before != (before := await self._standing()):
            await rebalancing.step(self.cluster.core)
            await self.cluster.settle()
            for worker in self.workers:
                await self._report(worker)
            await self.cluster.settle()

    async def _standing(self) -> object:
        async with self.cluster.db.read() as session:
            rows = [rebalances.document(each) for each in await rebalances.newest(session)]
        return rows, [(each.id, each.state) for each in await self.cluster.instances()]

    async def _report(self, worker: FakeWorker) -> None:
        held = [each for each in await self.cluster.instances() if each.worker_id == worker.id]
        used = sum((each.claim or {}).get("bytes_per_device", 0) for each in held if each.state == "ready")
        await worker.beat(devices=self.devices, used_gib=used // 1024**3 if self.devices == 1 else 0)
        await worker.run_all()

    async def plan(self, name: str | None = None) -> dict[str, Any]:
        async with self.cluster.db.read() as session:
            snapshot = await placing.snapshot(session, whole=True)
        return evaluating.moves(snapshot, name, self.cluster.core.ports.clock.wall())

    async def begin(self, **given: Any) -> int:
        row = Rebalance(**await self.plan(), **given, created_at=START, updated_at=START)
        async with self.cluster.db.write() as session:
            await rebalances.begin(session, row, self.cluster.core.ports.clock)
        return row.id or 0

    async def shown(self, id_: int) -> dict[str, Any]:
        async with self.cluster.db.read() as session:
            return rebalances.document(await rebalances.by_ref(session, str(id_)))

    async def where(self) -> dict[str, tuple[str, int | None]]:
        return {each.model_name: (each.state, each.worker_id) for each in await self.cluster.instances()}


async def a_world(db: Database, ports: Ports, **big: Any) -> World:
    cluster = await make_cluster(db, ports)
    workers = [await cluster.add_worker(id_) for id_ in (1, 2)]
    world = World(cluster, workers)
    for name in ("a", "b"):
        await cluster.add_model(name, options={"gib": 10}, placement={"strategy": "spread"})
    await world.settle()
    await cluster.add_model("big", **{"options": {"gib": 20}} | big)
    await world.settle()
    return world


async def test_a_fragmented_cluster_makes_room_and_somebody_serves_all_the_time(
    db: Database, ports: Ports, clock: ManualClock
) -> None:
    world = await a_world(db, ports)
    assert await world.where() == {"a": ("ready", 1), "b": ("ready", 2), "big": ("pending", None)}
    plan = await world.plan()
    assert [(each["model"], each["from"]["worker"], each["to"]["worker"]) for each in plan["moves"]] == [
        ("a", "w1", "w2")
    ]
    id_ = await world.begin()
    await rebalancing.step(world.cluster.core)
    states = [(each.model_name, each.state, each.worker_id) for each in await world.cluster.instances()]
    assert ("a", "ready", 1) in states
    assert ("a", "scheduled", 2) in states
    await world.cluster.settle()
    assert ("a", "ready", 1) in [
        (each.model_name, each.state, each.worker_id) for each in await world.cluster.instances()
    ]
    await world.settle()
    assert await world.where() == {"a": ("ready", 2), "b": ("ready", 2), "big": ("ready", 1)}
    shown = await world.shown(id_)
    assert (shown["state"], shown["said"]["code"], shown["done"]) == ("done", "rebalanced", 1)


async def test_one_whose_successor_does_not_start_stays_where_it_is(
    db: Database, ports: Ports, clock: ManualClock
) -> None:
    world = await a_world(db, ports)
    id_ = await world.begin()
    await rebalancing.step(world.cluster.core)
    successor = next(each for each in await world.cluster.instances() if each.replaces)
    async with db.write() as session:
        row = await session.merge(successor)
        row.state, row.gave_up = "failed", True
    await world.settle()
    assert (await world.where())["a"] == ("ready", 1)
    shown = await world.shown(id_)
    assert (shown["state"], shown["said"]["code"]) == ("failed", "moved_one_failed")
    assert sum(each.model_name == "a" for each in await world.cluster.instances()) == 1


async def test_a_place_that_was_taken_meanwhile_ends_it(db: Database, ports: Ports, clock: ManualClock) -> None:
    world = await a_world(db, ports)
    id_ = await world.begin()
    await world.cluster.add_model("quick", options={"gib": 12}, placement={"workers": ["w2"]})
    await world.cluster.settle()
    await world.settle()
    shown = await world.shown(id_)
    assert (shown["state"], shown["said"]["code"]) == ("failed", "move_place_taken")
    assert (await world.where())["a"] == ("ready", 1)


async def test_two_at_once_and_questions_without_an_answer_are_refused(
    db: Database, ports: Ports, clock: ManualClock
) -> None:
    world = await a_world(db, ports)
    await world.begin()
    with pytest.raises(Refusal, match="rebalance_running"):
        await world.begin()
    with pytest.raises(Refusal, match="model_does_not_wait"):
        await world.plan("a")


async def test_a_more_important_model_is_not_moved_for_a_less_important_one(
    db: Database, ports: Ports, clock: ManualClock
) -> None:
    world = await a_world(db, ports, placement={"priority": -1})
    with pytest.raises(Refusal, match="no_moves_help"):
        await world.plan()


async def test_one_that_must_stop_first_is_back_after_the_one_it_made_room_for(
    db: Database, ports: Ports, clock: ManualClock
) -> None:
    """Cards 0 and 1 hold 14 GiB each of one replica, card 2 holds 5 GiB that were put there by hand."""
    cluster = await make_cluster(db, ports)
    world = World(cluster, [await cluster.add_worker(devices=3)], devices=3)
    await cluster.add_model("wide", options={"gib": 14, "count": 2}, placement={"devices": ["w1:0", "w1:1"]})
    await cluster.add_model("hand", options={"gib": 5}, placement={"devices": ["w1:2"]})
    await world.settle()
    await cluster.change_model(1, placement={})
    await cluster.add_model("big", options={"gib": 20})
    await world.settle()
    plan = await world.plan()
    assert [(each["model"], each["to"]["devices"], each["stops_first"]) for each in plan["moves"]] == [
        ("wide", [1, 2], True)
    ]
    id_ = await world.begin()
    await world.settle()
    assert (await world.shown(id_))["state"] == "done"
    rows = {each.model_name: (each.state, each.device_indices) for each in await cluster.instances()}
    assert rows == {"big": ("ready", [0]), "wide": ("ready", [1, 2]), "hand": ("ready", [2])}
