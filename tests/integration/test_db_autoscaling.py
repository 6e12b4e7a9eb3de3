"""Replicas that follow the load, on both databases, with a clock that a test moves."""

from typing import Any

import pytest
from sqlmodel import col, select

from backends import registry
from gpustack_lite.db.engine import Database
from gpustack_lite.db.tables import Event, GatewayRow, Model
from gpustack_lite.domain import Sentence
from gpustack_lite.messages import text
from gpustack_lite.ports import Ports
from gpustack_lite.server.autoscaling import Autoscaling
from tests.fakes.clock import ManualClock
from tests.fakes.cluster import Cluster, FakeWorker, make_cluster
from tests.fakes.fake_backends import FakeBackend

pytestmark = pytest.mark.integration
RULE = {"min": 1, "max": 3, "in_flight_per_replica": 4.0}


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"fake": FakeBackend()}.__getitem__)


class World:
    """One model on one worker with four cards, and one gateway that says what it holds."""

    def __init__(self, cluster: Cluster, worker: FakeWorker, clock: ManualClock, devices: int) -> None:
        self.cluster, self.worker, self.clock, self.devices = cluster, worker, clock, devices
        self.scaling = Autoscaling(cluster.core)

    async def run(self, seconds: int, *, leases: dict[str, int], queued: int = 0, every: int = 1) -> None:
        for _ in range(0, seconds, every):
            self.clock.advance(every)
            await self._say(leases, queued)
            await self.scaling.step()

    async def _say(self, leases: dict[str, int], queued: int) -> None:
        async with self.cluster.db.write() as session:
            row = await session.get(GatewayRow, "g") or GatewayRow(gateway_id="g", seen_at=self.clock.wall())
            row.leases, row.queued, row.seen_at = dict(leases), {"m": queued} if queued else {}, self.clock.wall()
            session.add(row)

    async def settle(self) -> None:
        await self.worker.beat(devices=self.devices)
        await self.cluster.settle()
        await self.worker.run_all()
        await self.cluster.settle()

    async def replicas(self) -> int:
        async with self.cluster.db.read() as session:
            return (await session.exec(select(Model))).one().replicas

    async def said(self) -> list[str]:
        async with self.cluster.db.read() as session:
            told = select(Event).where(Event.kind == "model_scaled").order_by(col(Event.id))
            return [text(Sentence(each.code or "", each.params)) for each in await session.exec(told)]


async def a_world(db: Database, ports: Ports, clock: ManualClock, *, devices: int = 4, **given: Any) -> World:
    cluster = await make_cluster(db, ports)
    worker = await cluster.add_worker(devices=devices)
    await cluster.add_model(autoscale=RULE, **given)
    world = World(cluster, worker, clock, devices)
    await world.settle()
    return world


async def test_a_load_that_lasts_makes_replicas_and_its_end_ends_them(
    db: Database, ports: Ports, clock: ManualClock
) -> None:
    world = await a_world(db, ports, clock)
    await world.run(31, leases={"1": 5}, queued=3)
    assert await world.replicas() == 2
    assert await world.said() == ["5 in flight + 3 queued on 1 replicas for 30 s: 2 replicas."]
    await world.settle()
    assert list((await world.cluster.states()).values()) == ["ready", "ready"]
    await world.run(290, leases={"1": 1}, every=5)
    assert await world.replicas() == 2
    await world.run(50, leases={"1": 1}, every=5)
    assert await world.replicas() == 1
    await world.settle()
    assert list((await world.cluster.states()).values()).count("ready") == 1


async def test_what_nobody_can_hear_changes_nothing(db: Database, ports: Ports, clock: ManualClock) -> None:
    world = await a_world(db, ports, clock, replicas=3)
    await world.run(10, leases={})
    for _ in range(400):
        clock.advance(1)
        await world.scaling.step()
    assert await world.replicas() == 3


async def test_a_model_that_sleeps_wakes_with_the_fewest(db: Database, ports: Ports, clock: ManualClock) -> None:
    world = await a_world(db, ports, clock, replicas=3, asleep=True, serving={"sleep_after_seconds": 60})
    await world.run(5, leases={})
    assert await world.replicas() == 1
    assert await world.said() == ["It sleeps and will wake with 1 replicas instead of 3."]


async def test_without_room_no_further_replica_is_asked_for(db: Database, ports: Ports, clock: ManualClock) -> None:
    world = await a_world(db, ports, clock, devices=1)
    await world.run(31, leases={"1": 5}, queued=2)
    await world.settle()
    assert list((await world.cluster.states()).values()) == ["ready", "pending"]
    await world.run(60, leases={"1": 5}, queued=40)
    assert await world.replicas() == 2


async def test_a_person_who_changes_the_model_meanwhile_wins(db: Database, ports: Ports, clock: ManualClock) -> None:
    world = await a_world(db, ports, clock)
    await world.run(29, leases={"1": 9})
    async with db.write() as session:
        (await session.exec(select(Model))).one().stopped = True
    await world.run(40, leases={"1": 9})
    assert await world.replicas() == 1
