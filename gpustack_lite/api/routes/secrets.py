"""Secrets that the platform needs in clear, such as the token of a hub. Their values go in and never come out."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import rights, secrets
from gpustack_lite.api.auth import Admin, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import reply, shows
from gpustack_lite.api.schemas.bodies import SecretValue
from gpustack_lite.api.schemas.public import KeyRotated, SecretShape, Whole

router = APIRouter(prefix="/secrets", tags=["secrets"], route_class=CredentialFirst)


@router.get("", responses=shows(Whole[SecretShape]))
async def list_secrets(_: Admin, request: Request, context: Ctx) -> JSONResponse:
    """All that there can be, set or not."""
    items = await secrets.listed(context)
    return reply(request, {"items": items, "next_cursor": None, "total": len(items)})


@router.post("/rotate-key", responses=shows(KeyRotated))
async def rotate_secret_key(signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    """Seals all of them anew, with a new key where the server keeps its key itself."""
    if refused := rights.refuse_account(signed_in.caller):
        raise refused
    return reply(request, {"sealed_anew": await secrets.rotate_key(context)})


@router.get("/{name}", responses=shows(SecretShape))
async def show_secret(name: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await secrets.shown(context, name))


@router.put("/{name}", responses=shows(SecretShape))
async def set_secret(name: str, body: SecretValue, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await secrets.put(context, signed_in.caller, name, body.value))


@router.delete("/{name}", status_code=204)
async def delete_secret(name: str, _: Admin, context: Ctx) -> Response:
    await secrets.delete(context, name)
    return Response(status_code=204)
