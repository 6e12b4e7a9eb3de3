"""Instances by any of the workers that carry them."""

from typing import Any

from sqlalchemy import String, and_, cast, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import ModelInstance


def is_on(worker_id: int) -> Any:
    """A condition: the worker carries the instance or a share of it."""
    named = cast(col(ModelInstance.members), String).like(f'%"worker_id": {worker_id},%')
    return or_(col(ModelInstance.worker_id) == worker_id, and_(col(ModelInstance.worker_count) > 1, named))


async def on_worker(session: AsyncSession, worker_id: int) -> list[ModelInstance]:
    found = select(ModelInstance).where(is_on(worker_id)).order_by(col(ModelInstance.id))
    return list(await session.exec(found))
