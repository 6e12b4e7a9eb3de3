"""The complete desired state of one worker."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import cluster, model_files
from gpustack_lite.db.tables import Inspection, ModelInstance, Secret, Worker
from gpustack_lite.lifecycle import State
from gpustack_lite.wire import AssignedInstance, Assignment


def is_assigned(instance: ModelInstance) -> bool:
    """Whether the worker is to run it: placed, not lost, not given up, and not released after its drain."""
    if instance.worker_id is None or instance.assigned is None or instance.gave_up or instance.released:
        return False
    return instance.state not in {State.PENDING, State.LOST}


async def of_worker(session: AsyncSession, worker_id: int) -> Assignment | None:
    """None when there is no such worker."""
    worker = await session.get(Worker, worker_id)
    if worker is None:
        return None
    secret = await session.get(Secret, cluster.ENGINE_KEYS)
    placed = await session.exec(
        select(ModelInstance).where(ModelInstance.worker_id == worker_id).order_by(col(ModelInstance.id))
    )
    instances = [_assigned(each, secret.value) for each in placed if secret is not None and is_assigned(each)]
    return Assignment(
        epoch=await cluster.epoch(session),
        revision=worker.assignment_revision,
        instances=tuple(instances),
        inspect=tuple(await _asked(session, worker_id)),
        files=tuple(model_files.assigned(each) for each in await model_files.of_worker(session, worker_id)),
    )


async def newer_than(session: AsyncSession, worker_id: int, epoch: int, after: int) -> Assignment | None:
    """The Assignment if it differs in (epoch, revision) from what the worker has; reads little when it does not."""
    worker = await session.get(Worker, worker_id)
    if worker is None or (worker.assignment_revision == after and await cluster.epoch(session) == epoch):
        return None
    return await of_worker(session, worker_id)


def _assigned(instance: ModelInstance, secret: str) -> AssignedInstance:
    key = cluster.engine_key(secret, instance.id or 0)
    given = {**(instance.assigned or {}), "engine_key": key, "stuck_attempt": instance.stuck_attempt}
    return AssignedInstance.model_validate(given)


async def _asked(session: AsyncSession, worker_id: int) -> list[str]:
    unanswered = select(Inspection.source).where(
        Inspection.worker_id == worker_id, col(Inspection.answered_at).is_(None)
    )
    return list(await session.exec(unanswered.order_by(col(Inspection.source))))
