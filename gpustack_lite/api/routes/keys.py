"""API keys."""

from datetime import timedelta

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import keymaking
from gpustack_lite.api.auth import CredentialFirst, Owner, Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.bodies import KeyCreate, KeyPatch, Rotation
from gpustack_lite.api.schemas.public import KeyShape, Listed, NewKey
from gpustack_lite.db.documents import key_document
from gpustack_lite.db.queries import keys, users

router = APIRouter(prefix="/keys", tags=["keys"], route_class=CredentialFirst)


@router.post("", status_code=201, responses=shows(NewKey, 201))
async def create_key(body: KeyCreate, signed_in: Owner, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await keymaking.create(context, signed_in.caller, body), 201)


@router.get("", responses=shows(Listed[KeyShape]))
async def list_keys(signed_in: Reader, request: Request, context: Ctx, wish: PageWish) -> JSONResponse:
    async with context.db.read() as session:
        page = await keys.listed(session, wish, keymaking.owner_of(signed_in.caller))
        names = await users.names_by_id(session)
    return reply_page(request, page.map(lambda key: key_document(key, names.get(key.user_id))))


@router.post("/{ref:path}/rotate", responses=shows(NewKey))
async def rotate_key(ref: str, body: Rotation, signed_in: Owner, request: Request, context: Ctx) -> JSONResponse:
    """The same key with a new secret, which is in this answer and never again."""
    overlap = timedelta(seconds=body.overlap_seconds)
    return reply(request, await keymaking.rotate(context, signed_in.caller, ref, overlap))


@router.get("/{ref:path}", responses=shows(KeyShape))
async def show_key(ref: str, signed_in: Reader, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        key = await keys.by_ref(session, ref, keymaking.owner_of(signed_in.caller))
        owner = await users.by_ref(session, str(key.user_id))
    return reply(request, key_document(key, owner.username))


@router.patch("/{ref:path}", responses=shows(KeyShape))
async def change_key(ref: str, body: KeyPatch, signed_in: Owner, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await keymaking.change(context, signed_in.caller, ref, body))


@router.delete("/{ref:path}", status_code=204)
async def delete_key(ref: str, signed_in: Owner, context: Ctx) -> Response:
    await keymaking.delete(context, signed_in.caller, ref)
    return Response(status_code=204)
