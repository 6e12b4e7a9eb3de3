"""Models by id or name, with the instances that decide their state."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import model_document
from gpustack_lite.db.queries import changes, events, revisions
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.errors import NotFound
from gpustack_lite.ports import Clock

_LISTING = Listing(
    sorts={
        "id": col(Model.id),
        "name": col(Model.name),
        "created_at": col(Model.created_at),
        "updated_at": col(Model.updated_at),
        "replicas": col(Model.replicas),
    },
    searched=[col(Model.name), col(Model.source)],
    unique=col(Model.id),
)


async def by_ref(session: AsyncSession, ref: str) -> Model:
    """Raises:
    NotFound: neither the id nor the name of a model.
    """
    found = await session.get(Model, int(ref)) if is_id(ref) else await by_name(session, ref)
    if found is None:
        raise NotFound("model", ref)
    return found


async def by_name(session: AsyncSession, name: str) -> Model | None:
    return (await session.exec(select(Model).where(Model.name == name))).one_or_none()


async def using_backend(session: AsyncSession, backend: str) -> str | None:
    """The name of a model that asks for this backend."""
    return (await session.exec(select(Model.name).where(Model.backend == backend).order_by(col(Model.id)))).first()


async def listed(session: AsyncSession, wish: Wish, hidden: Collection[int] = ()) -> Page[dict[str, Any]]:
    found = await page(session, Model, _LISTING, wish, [col(Model.id).not_in(hidden)] if hidden else [])
    instances = await _instances_of(session, [model.id or 0 for model in found.items])
    return found.map(lambda model: model_document(model, instances[model.id or 0]))


async def document(session: AsyncSession, model: Model) -> dict[str, Any]:
    return model_document(model, (await _instances_of(session, [model.id or 0]))[model.id or 0])


async def record_put(session: AsyncSession, model: Model, clock: Clock) -> dict[str, Any]:
    """Write down that the model is now like this, and answer how."""
    session.add(model)
    await session.flush()
    shown = await document(session, model)
    await changes.record(session, "model", "put", model.id or 0, shown, clock)
    return shown


async def _instances_of(session: AsyncSession, model_ids: Sequence[int]) -> dict[int, list[ModelInstance]]:
    grouped: dict[int, list[ModelInstance]] = defaultdict(list)
    statement = select(ModelInstance).where(col(ModelInstance.model_id).in_(model_ids)).order_by(col(ModelInstance.id))
    for instance in await session.exec(statement):
        grouped[instance.model_id].append(instance)
    return grouped


async def remove(session: AsyncSession, model: Model, clock: Clock) -> None:
    await events.insert_event(session, clock, "model_deleted", model=model)
    await revisions.forget(session, model)
    await session.delete(model)
    await session.flush()
    await changes.record(session, "model", "delete", model.id or 0, None, clock)
