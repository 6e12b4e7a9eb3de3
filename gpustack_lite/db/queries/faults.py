"""Devices that tell a fault or are remembered for one, and what is done about it, in one transaction."""

from typing import Any

from sqlmodel import col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.members import devices_on
from gpustack_lite.db.queries import members, moves
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import ModelInstance, Worker, WorkerDevice
from gpustack_lite.lifecycle import ENDING
from gpustack_lite.ports import Clock

_SOMETHING = or_(col(WorkerDevice.fault).is_not(None), col(WorkerDevice.standing).is_not(None))


async def concerned(session: AsyncSession) -> list[WorkerDevice]:
    """Of workers that are heard: what a silent one told last says nothing of now.

    A JSON column may hold a null of its own, so that the values are looked at, too.
    """
    heard = select(WorkerDevice).join(Worker).where(Worker.state == "ready", _SOMETHING)
    rows = await session.exec(heard.order_by(col(WorkerDevice.id)))
    return [row for row in rows if row.fault is not None or row.standing is not None]


async def empty(session: AsyncSession, device: WorkerDevice, clock: Clock, said: dict[str, Any]) -> int:
    """Drain what runs on the device; its replacements are for the other reconcilers. The number of instances."""
    on_it = [each for each in await _instances(session, device) if each.state not in ENDING]
    for instance in on_it:
        await moves.retire(session, instance, clock, said=said)
    return len(on_it)


async def _instances(session: AsyncSession, device: WorkerDevice) -> list[ModelInstance]:
    held = select(ModelInstance).where(members.is_on(device.worker_id), col(ModelInstance.holds_claim).is_(True))
    rows = await session.exec(held.order_by(col(ModelInstance.id)))
    return [each for each in rows if device.index in devices_on(each, device.worker_id)]


async def tell(session: AsyncSession, device: WorkerDevice, code: str, params: dict[str, Any], clock: Clock) -> None:
    """The event, and the worker as a change: its devices are shown with it."""
    session.add(device)
    worker = await session.get(Worker, device.worker_id)
    if worker is not None:
        about = {"device": f"{worker.name}:{device.index}", "chip": device.chip, "serial": device.serial}
        await insert_event(session, clock, "device_fault", worker=worker, code=code, params=about | params)
        await moves.put_worker(session, worker, clock)


async def address(session: AsyncSession, device: WorkerDevice) -> str:
    worker = await session.get(Worker, device.worker_id)
    return f"{worker.name if worker else device.worker_id}:{device.index}"
