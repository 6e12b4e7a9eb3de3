"""Usage in sums."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api.auth import Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.keymaking import owner_of
from gpustack_lite.api.replies import moment, reply, shows
from gpustack_lite.api.schemas.public import UsageShape, Whole
from gpustack_lite.db.queries import usage

router = APIRouter(tags=["usage"])


@router.get("/usage", responses=shows(Whole[UsageShape]))
async def sum_usage(
    *,
    signed_in: Reader,
    request: Request,
    context: Ctx,
    by: str = "model",
    start: Annotated[str | None, Query(alias="from")] = None,
    end: Annotated[str | None, Query(alias="to")] = None,
) -> JSONResponse:
    """`by` names model, key, user, day and hour (UTC), separated by commas; `from` is included, `to` is not."""
    names = [name.strip() for name in by.split(",") if name.strip()]
    span = moment(start, "from"), moment(end, "to")
    async with context.db.read() as session:
        rows = await usage.summed(session, names, *span, owner_of(signed_in.caller))
    return reply(request, {"items": rows, "next_cursor": None, "total": len(rows)})
