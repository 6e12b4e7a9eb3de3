"""The diary."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api import seeing
from gpustack_lite.api.auth import Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import Id, PageWish, moment, reply_page, shows
from gpustack_lite.api.schemas.public import EventShape, Listed
from gpustack_lite.db.queries import events_read

router = APIRouter(prefix="/events", tags=["events"])


@router.get("", responses=shows(Listed[EventShape]))
async def list_events(
    *,
    signed_in: Reader,
    request: Request,
    context: Ctx,
    wish: PageWish,
    model: str | None = None,
    instance: Id | None = None,
    since: str | None = None,
) -> JSONResponse:
    """Newest first. `model` may name one that is gone: its events stay."""
    async with context.db.read() as session:
        sight = await seeing.sight_of(session, signed_in.caller)
        page = await events_read.listed(
            session, wish, model=model, instance_id=instance, since=moment(since, "since"), sight=sight
        )
    return reply_page(request, page)
