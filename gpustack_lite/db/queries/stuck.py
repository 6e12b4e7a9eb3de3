"""Verdicts of gateways on engines that accept requests and answer none."""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.members import workers_of
from gpustack_lite.db.queries import moves
from gpustack_lite.db.tables import GatewayRow, ModelInstance, WorkerDevice
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Clock
from gpustack_lite.wire import Stuck

COUNTED = timedelta(seconds=60)
BUSY = "engine_silent"
"""The code of a verdict on a replica with requests in flight; its devices may show that it works on them."""
IDLE_UTILIZATION = 0.05


async def take(session: AsyncSession, verdict: Stuck, agreed: Collection[str], clock: Clock) -> bool:
    """Whether the engine is to be ended now. `agreed` are the gateways that say so at this moment.

    Once per attempt, only what serves, and only when no other gateway has requests there that it thinks well of.
    """
    instance = await session.get(ModelInstance, verdict.instance_id)
    if instance is None or not _concerns(instance, verdict):
        return False
    others = await _holders(session, verdict.instance_id, clock.wall())
    if others - set(agreed) or (verdict.said.code == BUSY and await _is_at_work(session, instance)):
        return False
    instance.stuck_attempt = instance.attempt
    instance.said = verdict.said.model_dump()
    await moves.move(session, instance, State.UNHEALTHY, clock, said=instance.said)
    await moves.change_assignment(session, *workers_of(instance))
    return True


def _concerns(instance: ModelInstance, verdict: Stuck) -> bool:
    is_its_attempt = verdict.attempt == instance.attempt and instance.attempt > instance.stuck_attempt
    return instance.state == State.READY and is_its_attempt


async def _holders(session: AsyncSession, instance_id: int, now: datetime) -> set[str]:
    """Living gateways that have requests in flight there."""
    rows = await session.exec(select(GatewayRow).where(GatewayRow.seen_at > now - COUNTED))
    return {row.gateway_id for row in rows if row.leases.get(str(instance_id))}


async def _is_at_work(session: AsyncSession, instance: ModelInstance) -> bool:
    """As far as its devices tell how busy they are; the CPU tells nothing of one engine."""
    if not instance.device_indices:
        return False
    devices = select(WorkerDevice).where(WorkerDevice.worker_id == instance.worker_id, WorkerDevice.kind != "cpu")
    theirs = devices.where(col(WorkerDevice.index).in_(instance.device_indices))
    return any((each.utilization or 0.0) > IDLE_UTILIZATION for each in await session.exec(theirs))
