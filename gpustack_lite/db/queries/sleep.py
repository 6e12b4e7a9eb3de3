"""Models that sleep and wake, and when they were last used."""

from collections.abc import Collection
from datetime import datetime

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import models
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import Model
from gpustack_lite.ports import Clock


async def named(session: AsyncSession, names: Collection[str]) -> list[Model]:
    if not names:
        return []
    return list(await session.exec(select(Model).where(col(Model.name).in_(names)).order_by(col(Model.id))))


async def put_to_sleep(session: AsyncSession, model: Model, idle_seconds: float, clock: Clock) -> None:
    model.asleep = True
    params = {"seconds": round(idle_seconds, 1), "replicas": model.replicas}
    await insert_event(session, clock, "model_slept", model=model, params=params)
    await models.record_put(session, model, clock)


async def wake(session: AsyncSession, model: Model, clock: Clock) -> bool:
    """Whether it slept. A woken one counts as used, so that it is not put to sleep before anybody is served."""
    if not model.asleep or model.stopped:
        return False
    model.asleep = False
    model.used_at = clock.wall()
    await insert_event(session, clock, "model_woken", model=model)
    await models.record_put(session, model, clock)
    return True


def note_use(session: AsyncSession, model: Model, now: datetime) -> None:
    """Coarse, and no change that anybody watches."""
    model.used_at = now
    session.add(model)
