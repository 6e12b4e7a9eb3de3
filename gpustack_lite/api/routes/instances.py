"""Instances: what runs where, what it said, and ending one so that a new one takes its place."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from gpustack_lite.api import evaluating, reading_logs, seeing
from gpustack_lite.api.auth import Admin, Manager, Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.public import InstanceShape, Listed
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import instances, moves, workers
from gpustack_lite.lifecycle import ENDING, State

router = APIRouter(prefix="/instances", tags=["instances"])


@router.get("", responses=shows(Listed[InstanceShape]))
async def list_instances(
    *,
    signed_in: Reader,
    request: Request,
    context: Ctx,
    wish: PageWish,
    model: str | None = None,
    worker: str | None = None,
) -> JSONResponse:
    async with context.db.read() as session:
        model_id = None if model is None else (await seeing.model(session, signed_in.caller, model)).id
        worker_id = None if worker is None else (await workers.by_ref(session, worker)).id
        hidden = (await seeing.sight_of(session, signed_in.caller)).models
        page = await instances.listed(session, wish, model_id=model_id, worker_id=worker_id, hidden=hidden)
    return reply_page(request, page)


@router.get("/{ref}", responses=shows(InstanceShape))
async def show_instance(ref: str, signed_in: Reader, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        document = await instances.document(session, await seeing.instance(session, signed_in.caller, ref))
    return reply(request, document)


@router.get("/{ref}/decision")
async def show_decision(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    """What the scheduler is asked now, in whole, and its answer; `simulate --replay` answers it again."""
    return reply(request, await evaluating.decision(context, ref))


@router.delete("/{ref}", status_code=204)
async def restart_instance(ref: str, signed_in: Manager, context: Ctx) -> Response:
    """It drains and ends; its model gets a new one."""
    await seeing.must_manage_instance(context, signed_in.caller, ref)
    async with context.db.write() as session:
        instance = await instances.by_id(session, ref)
        name = f"{instance.model_name}/{instance.id}"
        auditing.note(session, "restart", "instance", instance.id, name, before={"state": instance.state})
        if State(instance.state) not in ENDING:
            await moves.retire(session, instance, context.ports.clock)
    context.signals.touch("instances", "models", "routes", "assignments", "changes")
    return Response(status_code=204)


@router.get("/{ref}/logs", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def read_logs(
    *,
    ref: str,
    signed_in: Reader,
    context: Ctx,
    follow: bool = False,
    attempt: Annotated[int | None, Query(ge=0)] = None,
    tail: Annotated[int, Query(ge=0, le=100_000)] = 1000,
    rank: Annotated[int, Query(ge=0)] = 0,
) -> StreamingResponse:
    """`rank`: the share of an instance that several workers carry; 0 is its leader."""
    await seeing.must_read_logs(context, signed_in.caller, ref)
    wanted = reading_logs.Wanted(attempt, tail, follow, rank)
    reading = await reading_logs.open_log(context, ref, wanted)
    text = reading_logs.text(context, signed_in, reading)
    return StreamingResponse(text, media_type="text/plain; charset=utf-8")
