"""Users: the list, what they may use, and a new password for one who lost it."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api import accounts, rights
from gpustack_lite.api.auth import Admin
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.routes.auth import user_document
from gpustack_lite.api.schemas.bodies import UserPatch
from gpustack_lite.api.schemas.public import Listed, PasswordReset, UserShape
from gpustack_lite.db.queries import users

router = APIRouter(tags=["users"])


@router.get("/users", responses=shows(Listed[UserShape]))
async def list_users(_: Admin, request: Request, context: Ctx, wish: PageWish) -> JSONResponse:
    async with context.db.read() as session:
        page = await users.listed(session, wish)
    return reply_page(request, page.map(user_document))


@router.patch("/users/{ref}", responses=shows(UserShape))
async def change_user(ref: str, body: UserPatch, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, user_document(await accounts.limit(context, ref, body)))


@router.post("/users/{ref}/reset-password", responses=shows(PasswordReset))
async def reset_password(ref: str, signed_in: Admin, context: Ctx) -> JSONResponse:
    if refused := rights.refuse_reset(signed_in.caller):
        raise refused
    user, password = await accounts.reset_password(context, ref)
    return JSONResponse({"username": user.username, "password": password, "must_change_password": True})
