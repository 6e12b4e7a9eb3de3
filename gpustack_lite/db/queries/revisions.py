"""What the configuration of a model was, generation by generation, and who made it so."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import acting
from gpustack_lite.db.documents import iso, masked
from gpustack_lite.db.tables import Model, ModelRevision
from gpustack_lite.errors import NotFound

KEPT = 200
"""Of each model."""


async def record(
    session: AsyncSession, model: Model, spec: Mapping[str, Any], fields: Sequence[str], now: datetime
) -> None:
    """The whole spec as it is from this generation on; `fields` are those that differ from the one before."""
    actor = acting.current()
    session.add(
        ModelRevision(
            model_id=model.id or 0,
            generation=model.generation,
            at=now,
            actor=None if actor is None else actor.name,
            fields=list(fields),
            spec=dict(spec),
        )
    )
    outdated = (col(ModelRevision.model_id) == model.id, col(ModelRevision.generation) <= model.generation - KEPT)
    await session.exec(delete(ModelRevision).where(*outdated))


async def of_model(session: AsyncSession, model: Model) -> list[ModelRevision]:
    """The newest first."""
    mine = select(ModelRevision).where(ModelRevision.model_id == model.id)
    return list(await session.exec(mine.order_by(col(ModelRevision.generation).desc())))


async def at(session: AsyncSession, model: Model, generation: int) -> ModelRevision:
    """Raises:
    NotFound: the model was never of this generation, or that is forgotten.
    """
    found = await session.get(ModelRevision, (model.id, generation))
    if found is None:
        raise NotFound("generation", f"{model.name}@{generation}")
    return found


async def forget(session: AsyncSession, model: Model) -> None:
    await session.exec(delete(ModelRevision).where(col(ModelRevision.model_id) == model.id))


def document(row: ModelRevision, model: Model, *, shows_actor: bool) -> dict[str, Any]:
    return {
        "generation": row.generation,
        "current": row.generation == model.generation,
        "at": iso(row.at),
        "actor": row.actor if shows_actor else None,
        "fields": row.fields,
    }


def whole(row: ModelRevision, model: Model, *, shows_actor: bool) -> dict[str, Any]:
    """With the spec as it can be deployed again; values that look secret stay hidden."""
    spec = row.spec | {"env": masked(row.spec["env"])}
    return document(row, model, shows_actor=shows_actor) | {"model": model.name, "spec": spec}
