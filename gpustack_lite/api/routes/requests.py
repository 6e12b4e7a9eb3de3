"""Single requests, without their text: what became of each, and why."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api.auth import RowReader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.credentials import Caller
from gpustack_lite.api.replies import Id, PageWish, moment, reply, reply_page, shows
from gpustack_lite.api.schemas.public import Listed, RequestShape
from gpustack_lite.db.queries import requests
from gpustack_lite.db.queries.requests import Reach, Sought

router = APIRouter(prefix="/requests", tags=["usage"])
Short = Annotated[str | None, Query(max_length=200)]


def reach_of(caller: Caller) -> Reach:
    """An admin sees all rows, a user its own; a key that may only infer sees what it did itself."""
    if not caller.scopes & {"read", "manage"}:
        return Reach(caller.user_id, caller.id)
    return Reach() if caller.is_admin else Reach(caller.user_id)


@router.get("", responses=shows(Listed[RequestShape]))
async def list_requests(
    *,
    signed_in: RowReader,
    request: Request,
    context: Ctx,
    wish: PageWish,
    model: Short = None,
    instance: Id | None = None,
    key: Id | None = None,
    user: Id | None = None,
    status: Short = None,
    cause: Short = None,
    request_id: Annotated[str | None, Query(alias="request", max_length=200)] = None,
    start: Annotated[str | None, Query(alias="from")] = None,
    end: Annotated[str | None, Query(alias="to")] = None,
) -> JSONResponse:
    """Newest first. `status` is 429 or 4xx, `request` an id of ours or the X-Request-ID that the client chose."""
    span = {"start": moment(start, "from"), "end": moment(end, "to")}
    sought = Sought(model, key, user, instance, status, cause, request_id, **span)
    async with context.db.read() as session:
        page = await requests.listed(session, wish, sought, reach_of(signed_in.caller))
    return reply_page(request, page)


@router.get("/{ref}", responses=shows(RequestShape))
async def show_request(ref: str, signed_in: RowReader, request: Request, context: Ctx) -> JSONResponse:
    """`why` says in one sentence how it ended."""
    async with context.db.read() as session:
        found = await requests.one(session, ref, reach_of(signed_in.caller))
    return reply(request, found)
