"""Backends."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import describing
from gpustack_lite.api.auth import Admin, CredentialFirst, Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import reply, shows
from gpustack_lite.api.schemas.public import BackendShape, VersionShape, Whole

router = APIRouter(prefix="/backends", tags=["backends"], route_class=CredentialFirst)


@router.get("", responses=shows(Whole[BackendShape]))
async def list_backends(_: Reader, request: Request, context: Ctx) -> JSONResponse:
    return _whole(request, await describing.listed(context))


@router.post("", status_code=201, responses=shows(BackendShape, 201))
async def create_backend(spec: dict[str, Any], _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await describing.create(context, spec), 201)


@router.get("/{name:path}/versions", responses=shows(Whole[VersionShape]))
async def list_versions(name: str, _: Reader, request: Request, context: Ctx) -> JSONResponse:
    return _whole(request, await describing.versions(context, name))


@router.get("/{name:path}", responses=shows(BackendShape))
async def show_backend(name: str, _: Reader, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await describing.shown(context, name))


@router.delete("/{name:path}", status_code=204)
async def delete_backend(name: str, _: Admin, context: Ctx) -> Response:
    await describing.delete(context, name)
    return Response(status_code=204)


def _whole(request: Request, items: list[dict[str, Any]]) -> JSONResponse:
    return reply(request, {"items": items, "next_cursor": None, "total": len(items)})
