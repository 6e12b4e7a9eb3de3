"""Users: who may sign in, as what, and with which limits."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import accounts, people, rights
from gpustack_lite.api.auth import Admin, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.bodies import UserCreate, UserPatch
from gpustack_lite.api.schemas.public import Listed, NewUser, PasswordReset, UserShape
from gpustack_lite.db.documents import user_document
from gpustack_lite.db.queries import users

router = APIRouter(prefix="/users", tags=["users"], route_class=CredentialFirst)


@router.post("", status_code=201, responses=shows(NewUser, 201))
async def create_user(body: UserCreate, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await people.create(context, signed_in.caller, body), 201)


@router.get("", responses=shows(Listed[UserShape]))
async def list_users(_: Admin, request: Request, context: Ctx, wish: PageWish) -> JSONResponse:
    async with context.db.read() as session:
        page = await users.listed(session, wish)
    return reply_page(request, page.map(user_document))


@router.get("/{ref}", responses=shows(UserShape))
async def show_user(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        user = await users.by_ref(session, ref)
    return reply(request, user_document(user))


@router.patch("/{ref}", responses=shows(UserShape))
async def change_user(ref: str, body: UserPatch, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, user_document(await people.change(context, signed_in.caller, ref, body)))


@router.delete("/{ref}", status_code=204)
async def delete_user(ref: str, _: Admin, context: Ctx) -> Response:
    await people.delete(context, ref)
    return Response(status_code=204)


@router.post("/{ref}/reset-password", responses=shows(PasswordReset))
async def reset_password(ref: str, signed_in: Admin, context: Ctx) -> JSONResponse:
    if refused := rights.refuse_account(signed_in.caller):
        raise refused
    user, password = await accounts.reset_password(context, ref)
    return JSONResponse({"username": user.username, "password": password, "must_change_password": True})
