"""Builds of engines; declared before the routes of backends, whose names may hold slashes."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import installing
from gpustack_lite.api.auth import Admin, CredentialFirst, Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import reply, shows
from gpustack_lite.api.schemas.bodies import EngineVersionCreate
from gpustack_lite.api.schemas.public import EngineVersionShape, Whole

router = APIRouter(prefix="/backends/versions", tags=["backends"], route_class=CredentialFirst)


@router.get("", responses=shows(Whole[EngineVersionShape]))
async def list_engine_versions(_: Reader, request: Request, context: Ctx, backend: str | None = None) -> JSONResponse:
    """Those that were asked for, by id, then what comes with the program or was found on workers."""
    items: list[dict[str, Any]] = await installing.listed(context, backend)
    return reply(request, {"items": items, "next_cursor": None, "total": len(items)})


@router.post("", status_code=201, responses=shows(EngineVersionShape, 201))
async def install_engine_version(
    body: EngineVersionCreate, signed_in: Admin, request: Request, context: Ctx
) -> JSONResponse:
    """Workers that have such devices make it, each for itself; `workers` of the answer says how far they are."""
    return reply(request, await installing.install(context, body, signed_in.caller.user_id), 201)


@router.get("/{ref}", responses=shows(EngineVersionShape))
async def show_engine_version(ref: str, _: Reader, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await installing.shown(context, ref))


@router.post("/{ref}/default", responses=shows(EngineVersionShape))
async def set_default_engine_version(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    """Of its backend and kind of device. What runs keeps the build that it has."""
    return reply(request, await installing.set_default(context, ref))


@router.delete("/{ref}", status_code=204)
async def remove_engine_version(ref: str, _: Admin, context: Ctx) -> Response:
    """Refused while an instance runs it or a model asks for it."""
    await installing.remove(context, ref)
    return Response(status_code=204)
