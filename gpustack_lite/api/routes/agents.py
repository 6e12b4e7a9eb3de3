"""What workers ask and report. They dial out; nothing here ever calls them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from gpustack_lite.acting import Actor
from gpustack_lite.api import restored, rules, secrets
from gpustack_lite.api.addresses import client_address
from gpustack_lite.api.auth import AsWorker, CredentialFirst
from gpustack_lite.api.context import Context, Ctx
from gpustack_lite.api.credentials import digest, same
from gpustack_lite.api.log_desk import TOPIC, pour
from gpustack_lite.api.streams import poll
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import assignments, inspections, statuses, tokens, workers
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.wire import Assignment, Heartbeat, HubToken, Join, Joined, LogRequest, StatusReport, Wire

router = APIRouter(prefix="/api/agent/v1", tags=["agents"], include_in_schema=False, route_class=CredentialFirst)
POLL_SECONDS = 25.0


@router.post("/join")
async def join(body: Join, request: Request, context: Ctx) -> Response:
    """The token stands in the body: who joins has no credential yet."""
    if not await _may_join(context, body.token):
        raise Refusal("join_token_refused", status=401)
    rules.check_worker_name(body.name)
    credential = f"glw_{context.ports.randomness.token()}"
    async with context.db.write() as session:
        worker = await workers.join(session, body, digest(credential), context.ports.clock)
        if worker.state == "joining":
            actor = Actor(None, worker.name, "token", None, client_address(request), request.scope["request_id"])
            auditing.note(session, "join", "worker", worker.id, worker.name, actor=actor)
        await inspections.forget_refusals(session, worker_id=worker.id)
    context.heartbeats.forget(worker.id or 0)
    context.signals.touch("workers", "changes")
    return _answer(Joined(worker_id=worker.id or 0, name=worker.name, credential=credential))


async def _may_join(context: Context, token: str) -> bool:
    if same(token, context.tokens.join):
        return True
    async with context.db.read() as session:
        return await tokens.is_valid(session, digest(token), context.ports.clock.wall())


@router.post("/heartbeat", status_code=204)
async def heartbeat(body: Heartbeat, worker: AsWorker, context: Ctx) -> Response:
    context.heartbeats.heard(worker.id or 0, body)
    return Response(status_code=204)


@router.get("/assignment")
async def assignment(
    worker: AsWorker,
    context: Ctx,
    after: int = -1,
    epoch: int = -1,
    wait: Annotated[float, Query(ge=0, le=60)] = POLL_SECONDS,
) -> Response:
    """At once when (epoch, revision) differ from the worker's, else when they do; 204 when nothing came."""

    await restored.heed_worker(context, worker.id or 0, epoch, after)

    async def look() -> Assignment | None:
        async with context.db.read() as session:
            return await assignments.newer_than(session, worker.id or 0, epoch, after)

    return _answer(await poll(context, ("assignments",), wait, look))


@router.post("/status", status_code=204)
async def status(body: StatusReport, worker: AsWorker, context: Ctx) -> Response:
    async with context.db.write() as session:
        topics = await statuses.apply(session, worker.id or 0, body, context.ports.clock)
    context.signals.touch(*topics)
    return Response(status_code=204)


@router.get("/hub-tokens/{hub}")
async def hub_token(hub: str, worker: AsWorker, context: Ctx) -> Response:
    """In clear, for a worker that has to do with this hub and no token of its own."""
    async with context.db.read() as session:
        return _answer(HubToken(token=await secrets.hub_token(context, session, worker.id or 0, hub)))


@router.get("/logs")
async def next_log_request(
    worker: AsWorker, context: Ctx, wait: Annotated[float, Query(ge=0, le=60)] = POLL_SECONDS
) -> Response:
    """The next log that somebody wants to read; 204 when nobody does."""

    async def look() -> LogRequest | None:
        return context.logs.next_for(worker.id or 0)

    return _answer(await poll(context, (f"{TOPIC}:{worker.id}",), wait, look))


@router.post("/logs/{ticket}", status_code=204)
async def receive_log(ticket: str, worker: AsWorker, request: Request, context: Ctx) -> Response:
    reading = context.logs.find(ticket, worker.id or 0)
    if reading is None:
        raise NotFound("ticket", ticket)
    await pour(reading, request.stream())
    return Response(status_code=204, headers={"Connection": "close"} if reading.closed.is_set() else None)


def _answer(document: Wire | None) -> Response:
    if document is None:
        return Response(status_code=204)
    return Response(document.model_dump_json(), media_type="application/json")
