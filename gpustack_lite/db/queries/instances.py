"""Instances as people see them."""

from collections.abc import Collection
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import instance_document
from gpustack_lite.db.queries.members import is_on, on_worker
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import ModelInstance, Worker
from gpustack_lite.errors import NotFound

_LISTING = Listing(
    sorts={
        "id": col(ModelInstance.id),
        "model": col(ModelInstance.model_name),
        "state": col(ModelInstance.state),
        "created_at": col(ModelInstance.created_at),
        "state_since": col(ModelInstance.state_since),
    },
    searched=[col(ModelInstance.model_name), col(ModelInstance.state)],
    unique=col(ModelInstance.id),
)


async def by_id(session: AsyncSession, ref: str) -> ModelInstance:
    """Raises:
    NotFound: no such instance.
    """
    found = await session.get(ModelInstance, int(ref)) if is_id(ref) else None
    if found is None:
        raise NotFound("instance", ref)
    return found


async def listed(
    session: AsyncSession,
    wish: Wish,
    *,
    model_id: int | None = None,
    worker_id: int | None = None,
    hidden: Collection[int] = (),
) -> Page[dict[str, Any]]:
    where = [] if model_id is None else [col(ModelInstance.model_id) == model_id]
    where += [] if worker_id is None else [is_on(worker_id)]
    where += [col(ModelInstance.model_id).not_in(hidden)] if hidden else []
    found = await page(session, ModelInstance, _LISTING, wish, where)
    names = await _worker_names(session)
    return found.map(lambda instance: instance_document(instance, names.get(instance.worker_id or 0)))


async def document(session: AsyncSession, instance: ModelInstance) -> dict[str, Any]:
    worker = None if instance.worker_id is None else await session.get(Worker, instance.worker_id)
    return instance_document(instance, worker.name if worker else None)


async def of_model(session: AsyncSession, model_id: int) -> list[ModelInstance]:
    statement = select(ModelInstance).where(ModelInstance.model_id == model_id).order_by(col(ModelInstance.id))
    return list((await session.exec(statement)).all())


async def of_worker(session: AsyncSession, worker_id: int) -> list[ModelInstance]:
    return await on_worker(session, worker_id)


async def _worker_names(session: AsyncSession) -> dict[int, str]:
    return {id_: name for id_, name in await session.exec(select(Worker.id, Worker.name)) if id_ is not None}
