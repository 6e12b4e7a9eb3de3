"""Workers by name, id or credential; how they join and how they leave for good."""

from typing import Any

from sqlalchemy import delete
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db import members
from gpustack_lite.db.documents import worker_document
from gpustack_lite.db.members import holders
from gpustack_lite.db.queries import changes, events, instances, model_files, moves
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import Inspection, ModelInstance, Worker, WorkerDevice
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Clock
from gpustack_lite.wire import Join

_LISTING = Listing(
    sorts={
        "id": col(Worker.id),
        "name": col(Worker.name),
        "state": col(Worker.state),
        "joined_at": col(Worker.joined_at),
    },
    searched=[col(Worker.name), col(Worker.hostname)],
    unique=col(Worker.id),
)


async def by_credential(session: AsyncSession, digest: str) -> Worker | None:
    return (await session.exec(select(Worker).where(Worker.credential_digest == digest))).first()


async def by_ref(session: AsyncSession, ref: str) -> Worker:
    """Raises:
    NotFound: neither the id nor the name of a worker.
    """
    wanted = col(Worker.id) == int(ref) if is_id(ref) else col(Worker.name) == ref
    found = (await session.exec(select(Worker).where(wanted))).first()
    if found is None:
        raise NotFound("worker", ref)
    return found


async def ready_ids(session: AsyncSession) -> list[int]:
    found = await session.exec(select(Worker.id).where(Worker.state == "ready").order_by(col(Worker.id)))
    return [worker_id for worker_id in found if worker_id is not None]


async def all_rows(session: AsyncSession) -> list[Worker]:
    return list(await session.exec(select(Worker).order_by(col(Worker.id))))


async def listed(session: AsyncSession, wish: Wish) -> Page[dict[str, Any]]:
    found = await page(session, Worker, _LISTING, wish)
    counts = await _device_counts(session)
    return found.map(lambda worker: worker_document(worker, counts.get(worker.id or 0, 0)))


async def document(session: AsyncSession, worker: Worker) -> dict[str, Any]:
    return worker_document(worker, (await _device_counts(session)).get(worker.id or 0, 0))


async def join(session: AsyncSession, asked: Join, credential_digest: str, clock: Clock) -> Worker:
    """A known `uid` gets a new credential and keeps its instances; a new one must not take another's name.

    Raises:
        Refusal: `worker_name_taken`.
    """
    worker = (await session.exec(select(Worker).where(Worker.uid == asked.uid))).one_or_none()
    holder = (await session.exec(select(Worker).where(Worker.name == asked.name))).one_or_none()
    if holder is not None and holder.uid != asked.uid:
        raise Refusal("worker_name_taken", status=409, param="name", name=asked.name)
    is_new = worker is None
    worker = worker or Worker(uid=asked.uid, name=asked.name, credential_digest="", joined_at=clock.wall())
    worker.name, worker.labels, worker.hostname = asked.name, asked.labels, asked.hostname
    worker.version, worker.data_address = asked.version, asked.data_address
    worker.credential_digest = credential_digest
    await moves.put_worker(session, worker, clock)
    if is_new:
        await events.insert_event(session, clock, "worker_joined", worker=worker)
    return worker


async def set_drained(session: AsyncSession, worker: Worker, clock: Clock, *, drained: bool) -> None:
    if worker.drained == drained:
        return
    worker.drained = drained
    await events.insert_event(session, clock, "worker_drained" if drained else "worker_resumed", worker=worker)
    await moves.put_worker(session, worker, clock)


async def remove(session: AsyncSession, worker: Worker, clock: Clock, *, force: bool) -> None:
    """With `force` the admin vouches for it that nothing lives there any more, and every claim is freed.

    Raises:
        Refusal: `worker_in_use`, when instances hold claims on it.
    """
    placed = await instances.of_worker(session, worker.id or 0)
    holding = [each for each in placed if each.holds_claim and worker.id in holders(each)]
    if holding and not force:
        raise Refusal("worker_in_use", status=409, worker=worker.name, count=len(holding))
    for instance in placed:
        await _bury(session, instance, worker.id or 0, clock)
    await session.exec(delete(WorkerDevice).where(col(WorkerDevice.worker_id) == worker.id))
    await session.exec(delete(Inspection).where(col(Inspection.worker_id) == worker.id))
    await model_files.remove_of_worker(session, worker.id or 0, clock)
    await events.insert_event(session, clock, "worker_deleted", worker=worker, params={"instances": len(placed)})
    await session.delete(worker)
    await session.flush()
    await changes.record(session, "worker", "delete", worker.id or 0, None, clock)


async def _bury(session: AsyncSession, instance: ModelInstance, worker_id: int, clock: Clock) -> None:
    """What other workers carry of it is for them to confirm."""
    members.put(instance, worker_id, gone=True, pid=None)
    if instance.state != State.LOST:
        await moves.move(session, instance, State.LOST, clock)
    if instance.members and (left := holders(instance)):
        await moves.put_instance(session, instance, clock)
        await moves.change_assignment(session, *left)
        return
    instance.holds_claim = False
    await moves.remove_instance(session, instance, clock)


async def _device_counts(session: AsyncSession) -> dict[int, int]:
    statement = select(WorkerDevice.worker_id, func.count()).group_by(col(WorkerDevice.worker_id))
    return {worker_id: count for worker_id, count in await session.exec(statement)}
