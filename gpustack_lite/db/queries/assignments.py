"""The complete desired state of one worker."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.members import is_wanted_on, meeting_ports, member_of, workers_of
from gpustack_lite.db.queries import cluster, engine_versions, model_files
from gpustack_lite.db.queries.members import on_worker
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
    placed = [each for each in await on_worker(session, worker_id) if is_assigned(each) and secret is not None]
    wanted = [each for each in placed if is_wanted_on(each, worker_id)]
    addresses = await _addresses(session, wanted)
    instances = [_assigned(each, secret.value, worker_id, addresses) for each in wanted if secret is not None]
    return Assignment(
        epoch=await cluster.epoch(session),
        revision=worker.assignment_revision,
        instances=tuple(instances),
        inspect=tuple(await _asked(session, worker_id)),
        files=tuple(model_files.assigned(each) for each in await model_files.of_worker(session, worker_id)),
        engines=tuple(engine_versions.assigned(each) for each in await engine_versions.of_worker(session, worker.name)),
    )


async def newer_than(session: AsyncSession, worker_id: int, epoch: int, after: int) -> Assignment | None:
    """The Assignment if it differs in (epoch, revision) from what the worker has; reads little when it does not."""
    worker = await session.get(Worker, worker_id)
    if worker is None or (worker.assignment_revision == after and await cluster.epoch(session) == epoch):
        return None
    return await of_worker(session, worker_id)


async def _addresses(session: AsyncSession, placed: Sequence[ModelInstance]) -> dict[int, str]:
    """Of the workers that carry something together."""
    ids = {id_ for each in placed if each.members for id_ in workers_of(each)}
    if not ids:
        return {}
    found = select(Worker.id, Worker.data_address).where(col(Worker.id).in_(ids))
    return {id_: address for id_, address in await session.exec(found) if id_ is not None}


def _assigned(instance: ModelInstance, secret: str, worker_id: int, addresses: Mapping[int, str]) -> AssignedInstance:
    key = cluster.engine_key(secret, instance.id or 0)
    given = {**(instance.assigned or {}), "engine_key": key, "stuck_attempt": instance.stuck_attempt}
    member = member_of(instance, worker_id)
    if member is not None:
        given |= {**member["assigned"], "devices": member["devices"], "rank": member["rank"]}
        given |= _together(instance, addresses)
    return AssignedInstance.model_validate(given)


def _together(instance: ModelInstance, addresses: Mapping[int, str]) -> dict[str, Any]:
    """The same for all members."""
    shown = [
        {
            "rank": each["rank"],
            "worker": each["worker"],
            "address": addresses.get(each["worker_id"], ""),
            "devices": each["devices"],
        }
        for each in instance.members
    ]
    ports = meeting_ports(instance)
    meeting = {"round": instance.round, "address": shown[0]["address"], "ports": ports} if ports else None
    return {"round": instance.round, "members": shown, "meeting": meeting}


async def _asked(session: AsyncSession, worker_id: int) -> list[str]:
    unanswered = select(Inspection.source).where(
        Inspection.worker_id == worker_id, col(Inspection.answered_at).is_(None)
    )
    return list(await session.exec(unanswered.order_by(col(Inspection.source))))
