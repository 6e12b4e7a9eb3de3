"""The diary: events are only ever added, and forgotten when there are too many."""

from typing import Any

from sqlalchemy import delete
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import event_document
from gpustack_lite.db.queries import changes
from gpustack_lite.db.tables import Event, Model, ModelInstance, Worker
from gpustack_lite.ports import Clock


async def insert_event(
    session: AsyncSession,
    clock: Clock,
    kind: str,
    *,
    model: Model | None = None,
    instance: ModelInstance | None = None,
    worker: Worker | None = None,
    from_state: str | None = None,
    to_state: str | None = None,
    code: str | None = None,
    params: dict[str, Any] | None = None,
) -> Event:
    """Write an event about what is given and record it as a change; touch "changes" after the commit."""
    event = Event(
        at=clock.wall(),
        kind=kind,
        model_id=model.id if model else instance.model_id if instance else None,
        model_name=model.name if model else instance.model_name if instance else None,
        instance_id=instance.id if instance else None,
        worker_id=worker.id if worker else instance.worker_id if instance else None,
        worker_name=worker.name if worker else None,
        from_state=from_state,
        to_state=to_state,
        code=code,
        params=params or {},
    )
    session.add(event)
    await session.flush()
    await changes.record(session, "event", "put", event.id or 0, event_document(event), clock)
    return event


async def trim(session: AsyncSession, kept: int) -> int:
    newest = (await session.exec(select(func.max(Event.id)))).one() or 0
    gone = await session.exec(delete(Event).where(col(Event.id) <= newest - kept))
    return int(gone.rowcount)
