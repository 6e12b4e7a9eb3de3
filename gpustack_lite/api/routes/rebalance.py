"""Moves that make room for a model that waits."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api import rebalancing
from gpustack_lite.api.auth import Admin, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import reply, shows
from gpustack_lite.api.schemas.bodies import RebalanceSpec
from gpustack_lite.api.schemas.public import RebalanceShape, Whole
from gpustack_lite.db.queries import rebalances

router = APIRouter(prefix="/rebalance", tags=["models"], route_class=CredentialFirst)


@router.post("", status_code=202, responses=shows(RebalanceShape, 202))
async def rebalance(body: RebalanceSpec, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    """200 with `dry_run`: nothing is changed."""
    document = await rebalancing.rebalance(context, body, signed_in.caller.user_id)
    return reply(request, document, 200 if body.dry_run else 202)


@router.get("", responses=shows(Whole[RebalanceShape]))
async def list_rebalances(_: Admin, request: Request, context: Ctx) -> JSONResponse:
    """The last hundred, newest first."""
    async with context.db.read() as session:
        rows = [rebalances.document(each) for each in await rebalances.newest(session)]
    return reply(request, {"items": rows, "next_cursor": None, "total": len(rows)})


@router.get("/{ref}", responses=shows(RebalanceShape))
async def show_rebalance(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        document = rebalances.document(await rebalances.by_ref(session, ref))
    return reply(request, document)
