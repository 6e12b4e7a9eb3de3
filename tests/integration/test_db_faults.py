"""Faults of devices act on what runs on them: drained, started again or placed elsewhere, and held where they flap."""

from typing import Any

import pytest
from sqlmodel import col, select

from backends import registry
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import cordons, devices
from gpustack_lite.db.queries.cordons import Cordon
from gpustack_lite.db.tables import Event
from gpustack_lite.ports import Ports
from gpustack_lite.server.standing import SETTLE
from gpustack_lite.wire import DeviceReport, FaultReport, Said
from tests.fakes.clock import ManualClock
from tests.fakes.cluster import Cluster, FakeWorker, make_cluster
from tests.fakes.fake_backends import GIB, FakeBackend

pytestmark = pytest.mark.integration
ISOLATE = FaultReport(code="8C03A000", action="isolate", said=Said(code="fault_isolate"))
RESTART = FaultReport(code="80E01801", action="restart", said=Said(code="fault_restart"))


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"fake": FakeBackend()}.__getitem__)


@pytest.fixture
async def one(db: Database, ports: Ports) -> Cluster:
    return await make_cluster(db, ports, grace_seconds=60, drain_seconds=300)


def cards(*faults: FaultReport | None, serials: str = "ABCDEFGH") -> tuple[DeviceReport, ...]:
    base = {"kind": "cuda", "chip": "A10", "memory_total_bytes": 24 * GIB, "memory_used_bytes": 0, "health": "ok"}
    return tuple(
        DeviceReport.model_validate(base | {"index": index, "serial": serials[index], "fault": fault})
        for index, fault in enumerate(faults)
    )


async def serving(one: Cluster, *faults: FaultReport | None) -> FakeWorker:
    """One READY replica, on card 0."""
    worker = await one.add_worker(devices=cards(*faults))
    await one.add_model(placement={"strategy": "binpack"})
    await one.settle()
    await worker.run_all()
    await one.settle()
    assert (await one.instances())[0].device_indices == [0]
    return worker


async def told(one: Cluster) -> list[tuple[str | None, Any]]:
    async with one.db.read() as session:
        rows = await session.exec(select(Event).where(Event.kind == "device_fault").order_by(col(Event.id)))
        return [(each.code, each.params.get("instances")) for each in rows]


async def test_an_isolated_card_is_drained_and_its_replica_placed_on_another(one: Cluster) -> None:
    worker = await serving(one, None, None)
    await worker.beat(devices=cards(ISOLATE, None))
    await one.settle()
    first, second = await one.instances()
    assert first.state == "stopping"
    assert first.said == {"code": "replica_left_device", "params": {"device": "w1:0", "fault": "8C03A000"}}
    assert (second.state, second.device_indices) == ("scheduled", [1])
    assert await told(one) == [("device_isolated", 1)]


async def test_where_no_other_card_is_the_reason_is_the_fault_and_its_end_brings_the_replica_back(
    one: Cluster, ports: Ports
) -> None:
    worker = await serving(one, None)
    await worker.beat(devices=cards(ISOLATE))
    await one.settle()
    await worker.report()
    await one.settle()
    waiting = (await one.instances())[-1]
    assert (waiting.state, waiting.reasons[0]["code"]) == ("pending", "devices_isolated")
    assert waiting.reasons[0]["params"]["by"] == "8C03A000"
    clock = ports.clock
    assert isinstance(clock, ManualClock)
    await worker.beat(devices=cards(None))
    await one.settle()
    clock.advance(SETTLE.total_seconds())
    await worker.beat(devices=cards(None))
    await one.settle()
    assert (await one.instances())[-1].state == "scheduled"
    assert [code for code, _ in await told(one)] == ["device_isolated", "device_released"]


async def test_what_a_silent_worker_told_last_releases_nothing(one: Cluster, ports: Ports) -> None:
    worker = await serving(one, None, None)
    await worker.beat(devices=cards(ISOLATE, None))
    await one.settle()
    await worker.beat(devices=cards(None, None))
    await one.settle()
    assert isinstance(ports.clock, ManualClock)
    ports.clock.advance(3600)
    await one.settle()
    assert [code for code, _ in await told(one)] == ["device_isolated"]
    await worker.beat(devices=cards(None, None))
    await one.settle()
    assert [code for code, _ in await told(one)] == ["device_isolated", "device_released"]


async def test_a_restart_drains_the_replica_and_starts_another_on_the_same_card(one: Cluster) -> None:
    worker = await serving(one, None)
    await worker.beat(devices=cards(RESTART))
    await one.settle()
    await worker.report()
    await one.settle()
    (again,) = await one.instances()
    assert (again.id, again.state, again.device_indices) == (2, "scheduled", [0])
    assert await told(one) == [("device_restarts", 1)]


async def test_a_cordon_goes_with_the_card_and_keeps_what_runs(one: Cluster, ports: Ports) -> None:
    worker = await serving(one, None, None)
    async with one.db.write() as session:
        card = await devices.by_ref(session, "w1:0")
        await cordons.put(session, card, Cordon("ann", "fan"), ports.clock)
    await worker.beat(devices=cards(None, None, serials="BA"))
    async with one.db.read() as session:
        found = [await devices.document(session, await devices.by_ref(session, f"w1:{index}")) for index in (0, 1)]
    assert [(each["cordoned"], each["schedulable"]) for each in found] == [(False, True), (True, False)]
    assert await one.states() == {1: "ready"}


async def test_a_cordoned_card_is_named_with_who_did_it_and_why(one: Cluster, ports: Ports) -> None:
    worker = await one.add_worker(devices=cards(None))
    async with one.db.write() as session:
        await cordons.put(session, await devices.by_ref(session, "w1:0"), Cordon("ann", "fan"), ports.clock)
    await one.add_model()
    await one.settle()
    (waiting,) = await one.instances()
    assert (waiting.reasons[0]["check"], waiting.reasons[0]["code"]) == ("health", "devices_cordoned")
    assert {"by": "ann", "note": "fan", "device": "w1:0"}.items() <= waiting.reasons[0]["params"].items()
    assert waiting.remedies[0]["code"] == "uncordon"
    async with one.db.write() as session:
        await cordons.put(session, await devices.by_ref(session, "w1:0"), Cordon("bob", ends=True), ports.clock)
    await worker.beat(devices=cards(None))
    await one.settle()
    assert await one.states() == {1: "scheduled"}
