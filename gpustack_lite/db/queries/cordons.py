"""What people keep out of use, and what they release."""

from dataclasses import dataclass

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import moves
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import Worker, WorkerDevice
from gpustack_lite.ports import Clock


@dataclass(frozen=True, slots=True)
class Cordon:
    """By whom and why, or `ends`: whoever lifts it answers for the device too."""

    user: str
    note: str | None = None
    ends: bool = False


async def put(session: AsyncSession, device: WorkerDevice, cordon: Cordon, clock: Clock) -> None:
    """The same again changes nothing, and no event is written."""
    before = (device.cordoned, device.cordon_note, device.standing)
    device.cordoned = not cordon.ends
    device.cordoned_by = None if cordon.ends else cordon.user
    device.cordon_note = cordon.note
    if cordon.ends and device.is_isolated:
        device.standing = {"fault": (device.standing or {}).get("fault")}
    if before != (device.cordoned, device.cordon_note, device.standing):
        await _tell(session, device, cordon, clock)


async def _tell(session: AsyncSession, device: WorkerDevice, cordon: Cordon, clock: Clock) -> None:
    session.add(device)
    worker = await session.get(Worker, device.worker_id)
    if worker is not None:
        params = {"device": f"{worker.name}:{device.index}", "serial": device.serial, "user": cordon.user}
        kind = "device_uncordoned" if cordon.ends else "device_cordoned"
        await insert_event(session, clock, kind, worker=worker, params={**params, "note": cordon.note or "-"})
        await moves.put_worker(session, worker, clock)
