"""Groups of users."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import grouping
from gpustack_lite.api.auth import Admin, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.bodies import GroupCreate, GroupPatch
from gpustack_lite.api.schemas.public import GroupShape, Listed
from gpustack_lite.db.queries import groups

router = APIRouter(prefix="/groups", tags=["users"], route_class=CredentialFirst)


@router.post("", status_code=201, responses=shows(GroupShape, 201))
async def create_group(body: GroupCreate, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await grouping.create(context, body), 201)


@router.get("", responses=shows(Listed[GroupShape]))
async def list_groups(_: Admin, request: Request, context: Ctx, wish: PageWish) -> JSONResponse:
    async with context.db.read() as session:
        page = await groups.listed(session, wish)
    return reply_page(request, page)


@router.get("/{ref}", responses=shows(GroupShape))
async def show_group(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        document = await groups.document(session, await groups.by_ref(session, ref))
    return reply(request, document)


@router.patch("/{ref}", responses=shows(GroupShape))
async def change_group(ref: str, body: GroupPatch, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await grouping.change(context, ref, body))


@router.delete("/{ref}", status_code=204)
async def delete_group(ref: str, _: Admin, context: Ctx) -> Response:
    await grouping.delete(context, ref)
    return Response(status_code=204)


@router.put("/{ref}/members/{user}", responses=shows(GroupShape))
async def add_member(ref: str, user: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await grouping.put_member(context, ref, user, is_in=True))


@router.delete("/{ref}/members/{user}", responses=shows(GroupShape))
async def remove_member(ref: str, user: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await grouping.put_member(context, ref, user, is_in=False))
