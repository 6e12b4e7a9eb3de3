"""What workers say of themselves by heartbeat, and what follows when they fall silent."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlmodel import col, false, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db import marking
from gpustack_lite.db.members import workers_of
from gpustack_lite.db.queries import members, moves
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import ModelInstance, Worker, WorkerDevice
from gpustack_lite.lifecycle import ENDING, State
from gpustack_lite.ports import Clock
from gpustack_lite.wire import Heartbeat

_NUMBERS = (
    "version",
    "cpu_count",
    "ram_total_bytes",
    "ram_used_bytes",
    "ram_own_bytes",
    "ram_reserve_bytes",
    "device_reserve_bytes",
    "disk_free_bytes",
    "simulated",
)
_SHOWN = ("version", "simulated", "ram_total_bytes", "backend_versions", "state", "host", "tools")


async def workers(session: AsyncSession) -> list[Worker]:
    return list(await session.exec(select(Worker).order_by(col(Worker.id))))


async def write_heartbeats(session: AsyncSession, heard: Mapping[int, Heartbeat], now: datetime, clock: Clock) -> bool:
    """Outside the change log, but for what a person sees change. True then: touch "workers" and "changes"."""
    has_news = False
    for worker_id, heartbeat in sorted(heard.items()):
        worker = await session.get(Worker, worker_id)
        if worker is not None:
            worker.seen_at = now
            has_news |= await _write_one(session, worker, heartbeat, clock)
    return has_news


async def _write_one(session: AsyncSession, worker: Worker, heartbeat: Heartbeat, clock: Clock) -> bool:
    before, was = {name: getattr(worker, name) for name in _SHOWN}, worker.state
    for name in _NUMBERS:
        setattr(worker, name, getattr(heartbeat, name))
    worker.backend_versions = [each.model_dump(mode="json") for each in heartbeat.backend_versions]
    worker.host = heartbeat.host.model_dump(mode="json")
    worker.tools = [each.model_dump(mode="json") for each in heartbeat.tools]
    worker.state = "ready"
    session.add(worker)
    devices_changed = await _write_devices(session, worker, heartbeat)
    if was != "ready":
        await insert_event(session, clock, "worker_ready" if was == "joining" else "worker_returned", worker=worker)
    has_news = devices_changed or before != {name: getattr(worker, name) for name in _SHOWN}
    if has_news:
        await moves.put_worker(session, worker, clock)
    return has_news


async def _write_devices(session: AsyncSession, worker: Worker, heartbeat: Heartbeat) -> bool:
    """True when a device came, went, or changed in what placements depend on."""
    worker_id = worker.id or 0
    found = await session.exec(select(WorkerDevice).where(WorkerDevice.worker_id == worker_id))
    rows = {row.index: row for row in found}
    before = {index: _essence(row) for index, row in rows.items()}
    marks = worker.absent | marking.of_rows(rows.values())
    for report in heartbeat.devices:
        row = rows.setdefault(report.index, WorkerDevice(worker_id=worker_id, index=report.index, kind="", chip=""))
        for name, value in report.model_dump(mode="json").items():
            setattr(row, name, value)
        session.add(row)
    for index in set(rows) - {report.index for report in heartbeat.devices}:
        await session.delete(rows.pop(index))
    worker.absent = marking.put_on(rows.values(), marks)
    return before != {index: _essence(row) for index, row in rows.items()}


def _essence(row: WorkerDevice) -> tuple[Any, ...]:
    what = (row.kind, row.chip, row.memory_total_bytes, row.unified_memory)
    fault = None if row.fault is None else (row.fault["action"], row.fault["code"])
    return (*what, row.health, row.schedulable, row.serial, row.simulated, row.group, row.numa, *row.error_codes, fault)


async def mark_silent(session: AsyncSession, worker_ids: Iterable[int], clock: Clock) -> None:
    for worker_id in worker_ids:
        worker = await session.get(Worker, worker_id)
        if worker is not None and worker.state == "ready":
            worker.state = "silent"
            await insert_event(session, clock, "worker_silent", worker=worker)
            await moves.put_worker(session, worker, clock)


async def with_something_to_lose(session: AsyncSession, worker_ids: Sequence[int]) -> list[ModelInstance]:
    """Instances of these workers that count as there and hold a claim."""
    held = select(ModelInstance).where(
        or_(false(), *map(members.is_on, worker_ids)),
        col(ModelInstance.holds_claim).is_(True),
        col(ModelInstance.state).not_in([str(state) for state in ENDING]),
    )
    return list(await session.exec(held.order_by(col(ModelInstance.id))))


async def lose(session: AsyncSession, silent_seconds: Mapping[int, float], clock: Clock) -> int:
    """The instances of workers that have been silent for too long are LOST. They keep their claims."""
    lost = await with_something_to_lose(session, list(silent_seconds))
    for instance in lost:
        silent = next(each for each in workers_of(instance) if each in silent_seconds)
        worker = await session.get(Worker, silent)
        params = {"worker": worker.name if worker else None, "silent_seconds": round(silent_seconds[silent])}
        instance.said = {"code": "worker_lost_instance", "params": params}
        instance.progress = instance.next_try_at = None
        await moves.move(session, instance, State.LOST, clock, said=instance.said)
    if lost:
        await moves.change_assignment(session, *{id_ for each in lost for id_ in workers_of(each)})
    return len(lost)
