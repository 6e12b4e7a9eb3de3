"""Devices with what is claimed on them: derived from the placements, never counted on its own."""

from collections import defaultdict
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import device_document
from gpustack_lite.db.members import holders
from gpustack_lite.db.nodes import device_use
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import ModelInstance, Worker, WorkerDevice
from gpustack_lite.errors import NotFound

_LISTING = Listing(
    sorts={"id": col(WorkerDevice.id), "kind": col(WorkerDevice.kind), "chip": col(WorkerDevice.chip)},
    searched=[col(WorkerDevice.chip), col(WorkerDevice.kind), col(WorkerDevice.serial)],
    unique=col(WorkerDevice.id),
)


async def listed(session: AsyncSession, wish: Wish, *, worker_id: int | None = None) -> Page[dict[str, Any]]:
    where = [] if worker_id is None else [col(WorkerDevice.worker_id) == worker_id]
    found = await page(session, WorkerDevice, _LISTING, wish, where)
    names = {id_: name for id_, name in await session.exec(select(Worker.id, Worker.name))}
    held = await _holding(session)
    return found.map(lambda device: _document(device, names.get(device.worker_id, ""), held[device.worker_id]))


async def by_ref(session: AsyncSession, ref: str) -> WorkerDevice:
    """Raises:
    NotFound: neither the id of a device nor a worker's name with an index, such as w1:0.
    """
    worker, sign, index = ref.rpartition(":")
    query = select(WorkerDevice).where(col(WorkerDevice.id) == (int(ref) if is_id(ref) else -1))
    if sign and is_id(index):
        query = select(WorkerDevice).join(Worker).where(Worker.name == worker, WorkerDevice.index == int(index))
    found = (await session.exec(query)).first()
    if found is None:
        raise NotFound("device", ref)
    return found


async def document(session: AsyncSession, device: WorkerDevice) -> dict[str, Any]:
    worker = await session.get(Worker, device.worker_id)
    held = (await _holding(session))[device.worker_id]
    return _document(device, "" if worker is None else worker.name, held)


async def _holding(session: AsyncSession) -> dict[int, list[ModelInstance]]:
    grouped: dict[int, list[ModelInstance]] = defaultdict(list)
    for instance in await session.exec(select(ModelInstance).where(col(ModelInstance.holds_claim))):
        for worker_id in holders(instance):
            grouped[worker_id].append(instance)
    return grouped


def _document(device: WorkerDevice, worker: str, held: list[ModelInstance]) -> dict[str, Any]:
    use = device_use(device, held)
    return device_document(device, worker, claimed_bytes=use.claimed_bytes, foreign_bytes=use.foreign_bytes)


async def all_rows(session: AsyncSession) -> list[WorkerDevice]:
    return list(await session.exec(select(WorkerDevice).order_by(col(WorkerDevice.id))))
