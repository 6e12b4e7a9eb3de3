"""Models. Names may hold slashes: `/models/org/name` and `/models/org%2Fname` are the same model."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import deploying, revising, seeing
from gpustack_lite.api.auth import Admin, CredentialFirst, Manager, Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.bodies import ModelCreate, Rollback
from gpustack_lite.api.schemas.public import (
    ImpactShape,
    InstanceShape,
    Listed,
    ModelShape,
    RevisionShape,
    Whole,
    WholeRevisionShape,
)
from gpustack_lite.db.queries import impact, instances, models

router = APIRouter(prefix="/models", tags=["models"], route_class=CredentialFirst)
Generation = Annotated[int, Path(ge=0, lt=2**31)]


@router.post("", status_code=201, responses=shows(ModelShape, 201))
async def create_model(body: ModelCreate, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    document = await deploying.create(context, body, signed_in.caller.user_id)
    return reply(request, document, 201)


@router.get("", responses=shows(Listed[ModelShape]))
async def list_models(signed_in: Reader, request: Request, context: Ctx, wish: PageWish) -> JSONResponse:
    async with context.db.read() as session:
        sight = await seeing.sight_of(session, signed_in.caller)
        page = await models.listed(session, wish, sight.models)
    return reply_page(request, page)


# The paths below a model come first: the converter of its name takes everything.


@router.get("/{ref:path}/instances", responses=shows(Listed[InstanceShape]))
async def list_instances_of_model(
    ref: str, signed_in: Reader, request: Request, context: Ctx, wish: PageWish
) -> JSONResponse:
    async with context.db.read() as session:
        model = await seeing.model(session, signed_in.caller, ref)
        page = await instances.listed(session, wish, model_id=model.id)
    return reply_page(request, page)


@router.post("/{ref:path}/start", responses=shows(ModelShape))
async def start_model(ref: str, signed_in: Manager, request: Request, context: Ctx) -> JSONResponse:
    await seeing.must_manage(context, signed_in.caller, ref)
    return reply(request, await deploying.start(context, ref))


@router.post("/{ref:path}/stop", responses=shows(ModelShape))
async def stop_model(ref: str, signed_in: Manager, request: Request, context: Ctx) -> JSONResponse:
    await seeing.must_manage(context, signed_in.caller, ref)
    return reply(request, await deploying.stop(context, ref))


@router.get("/{ref:path}/impact", responses=shows(ImpactShape))
async def show_impact_of_model(ref: str, signed_in: Reader, request: Request, context: Ctx) -> JSONResponse:
    """What would break if it ended now: for those who manage it, because it names the keys of others."""
    await seeing.must_manage(context, signed_in.caller, ref)
    async with context.db.read() as session:
        model = await models.by_ref(session, ref)
        found = await impact.of_model(session, model, context.ports.clock.wall())
    return reply(request, found)


@router.get("/{ref:path}/history", responses=shows(Whole[RevisionShape]))
async def list_history_of_model(ref: str, signed_in: Reader, request: Request, context: Ctx) -> JSONResponse:
    """The newest first; by whom is told to those who manage the model."""
    items = await revising.listed(context, signed_in.caller, ref)
    return reply(request, {"items": items, "next_cursor": None, "total": len(items)})


@router.get("/{ref:path}/history/{generation}", responses=shows(WholeRevisionShape))
async def show_history_of_model(
    ref: str, generation: Generation, signed_in: Reader, request: Request, context: Ctx
) -> JSONResponse:
    return reply(request, await revising.shown(context, signed_in.caller, ref, generation))


@router.post("/{ref:path}/rollback", responses=shows(ModelShape))
async def roll_back_model(ref: str, body: Rollback, signed_in: Manager, request: Request, context: Ctx) -> JSONResponse:
    """A change to what it was, with all that is checked in a change; the generation goes on, never back."""
    return reply(request, await revising.rollback(context, signed_in.caller, ref, body.generation))


@router.get("/{ref:path}", responses=shows(ModelShape))
async def show_model(ref: str, signed_in: Reader, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        document = await models.document(session, await seeing.model(session, signed_in.caller, ref))
    return reply(request, document)


@router.patch("/{ref:path}", responses=shows(ModelShape))
async def change_model(
    ref: str, patch: dict[str, Any], signed_in: Manager, request: Request, context: Ctx
) -> JSONResponse:
    await seeing.must_manage(context, signed_in.caller, ref, patch)
    return reply(request, await deploying.change(context, ref, patch))


@router.delete("/{ref:path}", status_code=204)
async def delete_model(ref: str, _: Admin, context: Ctx) -> Response:
    await deploying.delete(context, ref)
    return Response(status_code=204)
