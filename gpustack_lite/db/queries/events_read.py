"""Looking up the diary."""

from datetime import datetime
from typing import Any

from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import event_document
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import Event

_LISTING = Listing(
    sorts={"id": col(Event.id), "at": col(Event.at)},
    searched=[col(Event.kind), col(Event.model_name), col(Event.worker_name), col(Event.code)],
    unique=col(Event.id),
    default="-id",
)


async def listed(
    session: AsyncSession, wish: Wish, *, model: str | None, instance_id: int | None, since: datetime | None
) -> Page[dict[str, Any]]:
    where = [] if instance_id is None else [col(Event.instance_id) == instance_id]
    where += [] if since is None else [col(Event.at) >= since]
    if model is not None:
        where.append(col(Event.model_id) == int(model) if is_id(model) else col(Event.model_name) == model)
    return (await page(session, Event, _LISTING, wish, where)).map(event_document)
