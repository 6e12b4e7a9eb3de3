"""Routes of models: aliases, and names with weights and a fallback. Names may hold slashes, as models' may."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import routing, seeing
from gpustack_lite.api.auth import Admin, CredentialFirst, Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.bodies import ModelRouteCreate, ModelRoutePatch
from gpustack_lite.api.schemas.public import Listed, ModelRouteShape
from gpustack_lite.db.queries import model_routes
from gpustack_lite.errors import NotFound

router = APIRouter(prefix="/model-routes", tags=["model-routes"], route_class=CredentialFirst)


@router.post("", status_code=201, responses=shows(ModelRouteShape, 201))
async def create_route(body: ModelRouteCreate, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await routing.create(context, body, signed_in.caller.user_id), 201)


@router.get("", responses=shows(Listed[ModelRouteShape]))
async def list_routes(signed_in: Reader, request: Request, context: Ctx, wish: PageWish) -> JSONResponse:
    async with context.db.read() as session:
        sight = await seeing.sight_of(session, signed_in.caller)
        page = await model_routes.listed(session, wish, sight.names)
    return reply_page(request, page)


@router.get("/{ref:path}", responses=shows(ModelRouteShape))
async def show_route(ref: str, signed_in: Reader, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        row = await model_routes.by_ref(session, ref)
        if row.name in (await seeing.sight_of(session, signed_in.caller)).names:
            raise NotFound("route", ref)
        document = await model_routes.document(session, row)
    return reply(request, document)


@router.patch("/{ref:path}", responses=shows(ModelRouteShape))
async def change_route(ref: str, body: ModelRoutePatch, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await routing.change(context, ref, body))


@router.delete("/{ref:path}", status_code=204)
async def delete_route(ref: str, _: Admin, context: Ctx) -> Response:
    await routing.delete(context, ref)
    return Response(status_code=204)
