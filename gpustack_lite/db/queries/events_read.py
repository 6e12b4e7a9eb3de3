"""Looking up the diary."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.access import Sight
from gpustack_lite.db.documents import event_document
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import Event, Model

WHOLE = Sight()
PUBLIC_KINDS = ("worker_", "device_", "backend_")
"""What happened to no model and is not one person's affair."""
_LISTING = Listing(
    sorts={"id": col(Event.id), "at": col(Event.at)},
    searched=[col(Event.kind), col(Event.model_name), col(Event.worker_name), col(Event.code)],
    unique=col(Event.id),
    default="-id",
)


async def listed(
    session: AsyncSession,
    wish: Wish,
    *,
    model: str | None,
    instance_id: int | None,
    since: datetime | None,
    sight: Sight = WHOLE,
) -> Page[dict[str, Any]]:
    where = [] if instance_id is None else [col(Event.instance_id) == instance_id]
    where += [] if since is None else [col(Event.at) >= since]
    where += [] if sight.is_whole else [_is_public(sight)]
    if model is not None:
        where.append(col(Event.model_id) == int(model) if is_id(model) else col(Event.model_name) == model)
    return (await page(session, Event, _LISTING, wish, where)).map(event_document)


def _is_public(sight: Sight) -> ColumnElement[bool]:
    """About a model that there is and that may be seen, or about what everybody shares."""
    shared = or_(*(col(Event.kind).startswith(each, autoescape=True) for each in PUBLIC_KINDS))
    there = col(Event.model_id).in_(select(Model.id))
    return or_(and_(there, col(Event.model_id).not_in(sight.models)), and_(col(Event.model_id).is_(None), shared))


def is_public(document: dict[str, Any], sight: Sight) -> bool:
    """The same of one event that is told as it happens."""
    if document["model_id"] is None:
        return str(document["kind"]).startswith(PUBLIC_KINDS)
    return document["model_id"] not in sight.models
