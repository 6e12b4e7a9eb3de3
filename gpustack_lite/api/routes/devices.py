"""Devices of all workers: what they have, what we claimed, and what others use."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api.auth import Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply_page, shows
from gpustack_lite.api.schemas.public import DeviceShape, Listed
from gpustack_lite.db.queries import devices, workers

router = APIRouter(prefix="/devices", tags=["devices"])


@router.get("", responses=shows(Listed[DeviceShape]))
async def list_devices(
    _: Reader, request: Request, context: Ctx, wish: PageWish, worker: str | None = None
) -> JSONResponse:
    async with context.db.read() as session:
        worker_id = None if worker is None else (await workers.by_ref(session, worker)).id
        page = await devices.listed(session, wish, worker_id=worker_id)
    return reply_page(request, page)
