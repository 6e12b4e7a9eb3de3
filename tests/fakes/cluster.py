"""A server's reconcilers on a real database, taken step by step, and a worker that is nothing but its reports."""

from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select

from backends import registry
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import assignments, cluster, statuses
from gpustack_lite.db.tables import Event, Model, ModelInstance
from gpustack_lite.ports import Ports
from gpustack_lite.server import draining, faults, placements, replicas
from gpustack_lite.server.core import Core
from gpustack_lite.server.heartbeats import Heartbeats, Silence
from gpustack_lite.server.liveness import step as liveness_step
from gpustack_lite.server.publish import Publisher
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Assignment, BackendVersionReport, DeviceReport, Heartbeat, InstanceStatus, StatusReport
from tests.fakes.fake_backends import GIB, FakeBackend
from tests.fakes.rows import a_model, a_worker

FAKE_VERSION = BackendVersionReport(
    backend="fake", version="1", device_kinds=("cuda",), source="builtin", installed=True
)


def use_fake_backend() -> None:
    """Only in processes of their own; tests monkeypatch."""
    registry.find = {"fake": FakeBackend()}.__getitem__  # type: ignore[assignment]


def heartbeat(devices: int | tuple[DeviceReport, ...] = 1, used_gib: int = 0, **given: Any) -> Heartbeat:
    """So many cards of 24 GiB, or these."""
    cards = (
        devices
        if isinstance(devices, tuple)
        else tuple(
            DeviceReport(
                index=index,
                kind="cuda",
                chip="A10",
                memory_total_bytes=24 * GIB,
                memory_used_bytes=used_gib * GIB,
                health="ok",
            )
            for index in range(devices)
        )
    )
    base = {"version": "0.1.0", "cpu_count": 8, "ram_total_bytes": 64 * GIB, "ram_used_bytes": 0}
    return Heartbeat.model_validate(base | {"devices": cards, "backend_versions": (FAKE_VERSION,)} | given)


@dataclass
class Cluster:
    db: Database
    core: Core
    heartbeats: Heartbeats
    silence: Silence
    publisher: Publisher

    async def add_worker(self, id: int = 1, **given: Any) -> "FakeWorker":
        async with self.db.write() as session:
            session.add(a_worker(id, state="joining", ram_total_bytes=None, ram_used_bytes=None))
        worker = FakeWorker(self, id)
        await worker.beat(**given)
        return worker

    async def add_model(self, name: str = "m", **given: Any) -> int:
        async with self.db.write() as session:
            model = a_model(**{"id": None, "name": name, "backend": "fake", "source": "none:"} | given)
            session.add(model)
            await session.flush()
            return model.id or 0

    async def change_model(self, model_id: int, **given: Any) -> None:
        async with self.db.write() as session:
            model = await session.get_one(Model, model_id)
            for name, value in given.items():
                setattr(model, name, value)

    async def delete_model(self, model_id: int) -> None:
        async with self.db.write() as session:
            await session.delete(await session.get_one(Model, model_id))

    async def settle(self) -> None:
        """Every reconciler, until none has anything to do: what the hints would have brought about."""
        before = -1
        while before != (before := await self._done()):
            await replicas.step(self.core)
            await placements.step(self.core)
            await liveness_step(self.core, self.heartbeats, self.silence)
            await faults.step(self.core)
            await self.publisher.step()
            await draining.step(self.core)

    async def _done(self) -> int:
        async with self.db.read() as session:
            counted = [await cluster.counter(session, name) for name in ("changes", "cluster", "models")]
        return sum(counted)

    async def instances(self) -> list[ModelInstance]:
        async with self.db.read() as session:
            return list(await session.exec(select(ModelInstance).order_by(col(ModelInstance.id))))

    async def states(self) -> dict[int, str]:
        return {each.id or 0: each.state for each in await self.instances()}

    async def moves_of(self, instance_id: int) -> list[str]:
        async with self.db.read() as session:
            told = select(Event).where(Event.instance_id == instance_id).order_by(col(Event.id))
            return [each.to_state or each.kind for each in await session.exec(told)]


@dataclass
class FakeWorker:
    cluster: Cluster
    id: int

    async def beat(self, **given: Any) -> None:
        self.cluster.heartbeats.heard(self.id, heartbeat(**given))
        await self.cluster.heartbeats.flush(self.cluster.db)

    async def assignment(self) -> Assignment:
        async with self.cluster.db.read() as session:
            found = await assignments.of_worker(session, self.id)
        assert found is not None
        return found

    async def report(self, *instances: InstanceStatus, **given: Any) -> frozenset[str]:
        """At the revision of the present Assignment, unless another is given."""
        now = await self.assignment()
        base = {"epoch": now.epoch, "revision": now.revision, "instances": instances}
        async with self.cluster.db.write() as session:
            return await statuses.apply(
                session, self.id, StatusReport.model_validate(base | given), self.cluster.core.ports.clock
            )

    async def run_all(self, **given: Any) -> None:
        """Report everything that is assigned as READY, and nothing else as there."""
        assigned = (await self.assignment()).instances
        await self.report(*[status(each.id, "ready", port=21000 + each.id, attempt=1) for each in assigned], **given)


def status(id: int, state: str, **given: Any) -> InstanceStatus:
    return InstanceStatus.model_validate({"id": id, "state": state} | given)


async def make_cluster(db: Database, ports: Ports, server: str = "a", **settings: Any) -> Cluster:
    signals = Signals()
    heartbeats = Heartbeats(ports.clock, signals)
    async with db.write() as session:
        epoch = await cluster.take_lease(session, server, "1", 1000, ports.clock)
        await cluster.secret(session, cluster.ENGINE_KEYS, ports.randomness)
    assert epoch is not None
    publisher = Publisher(db, signals, ports.clock)
    publisher.epoch = epoch
    core = Core(db, signals, ports, Settings(**settings), epoch)
    return Cluster(db, core, heartbeats, Silence(ports.clock, heartbeats), publisher)


async def clear(db: Database) -> None:
    """Forget every instance and model."""
    async with db.write() as session:
        for instance in list(await session.exec(select(ModelInstance))):
            await session.delete(instance)
        for model in list(await session.exec(select(Model))):
            await session.delete(model)
