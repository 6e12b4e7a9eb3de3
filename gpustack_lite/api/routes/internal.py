"""What anybody may ask: the version, and whether the server and its first worker are there."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

import gpustack_lite
from gpustack_lite.api.context import Ctx
from gpustack_lite.db.queries import workers

router = APIRouter(tags=["health"])


@router.get("/api/v1/version")
async def version() -> JSONResponse:
    return JSONResponse({"version": gpustack_lite.__version__})


@router.get("/api/internal/readyz", include_in_schema=False)
async def readyz(context: Ctx) -> JSONResponse:
    """Ready means that models can be placed: the database answers and, unless there is none, a worker is ready."""
    async with context.db.read() as session:
        is_ready = context.settings.no_worker or bool(await workers.ready_ids(session))
    if context.stopping.is_set():
        return JSONResponse({"ready": False, "waiting_for": "restart"}, status_code=503)
    if not is_ready:
        return JSONResponse({"ready": False, "waiting_for": "worker"}, status_code=503)
    return JSONResponse({"ready": True, "waiting_for": None})
