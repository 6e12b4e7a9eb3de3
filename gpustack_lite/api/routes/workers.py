"""Workers and the tokens they join with."""

from datetime import timedelta

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api.auth import Admin, Reader
from gpustack_lite.api.context import Context, Ctx
from gpustack_lite.api.credentials import digest
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.public import JoinTokenShape, Listed, WorkerShape
from gpustack_lite.db import auditing
from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries import tokens, workers

router = APIRouter(prefix="/workers", tags=["workers"])
TOKEN_HOURS = 24


@router.get("", responses=shows(Listed[WorkerShape]))
async def list_workers(_: Reader, request: Request, context: Ctx, wish: PageWish) -> JSONResponse:
    async with context.db.read() as session:
        page = await workers.listed(session, wish)
    return reply_page(request, page)


@router.post("/token", status_code=201, responses=shows(JoinTokenShape, 201))
async def create_token(signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    token = f"glj_{context.ports.randomness.token()}"
    now = context.ports.clock.wall()
    expires_at = now + timedelta(hours=TOKEN_HOURS)
    maker = signed_in.caller.user_id
    async with context.db.write() as session:
        await tokens.insert(session, digest(token), created_by=maker, now=now, expires_at=expires_at)
    command = f"gpustack-lite join {request.base_url.scheme}://{request.headers['host']} --token {token}"
    return JSONResponse({"token": token, "expires_at": iso(expires_at), "command": command}, status_code=201)


@router.get("/{ref}", responses=shows(WorkerShape))
async def show_worker(ref: str, _: Reader, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        document = await workers.document(session, await workers.by_ref(session, ref))
    return reply(request, document)


@router.post("/{ref}/drain", responses=shows(WorkerShape))
async def drain_worker(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    """Nothing new is placed there; what runs goes on."""
    return await _set_drained(ref, request, context, drained=True)


@router.post("/{ref}/resume", responses=shows(WorkerShape))
async def resume_worker(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return await _set_drained(ref, request, context, drained=False)


async def _set_drained(ref: str, request: Request, context: Context, *, drained: bool) -> JSONResponse:
    async with context.db.write() as session:
        worker = await workers.by_ref(session, ref)
        auditing.note(session, "drain" if drained else "resume", "worker", worker.id, worker.name)
        await workers.set_drained(session, worker, context.ports.clock, drained=drained)
        document = await workers.document(session, worker)
    context.signals.touch("workers", "changes")
    return reply(request, document)


@router.delete("/{ref}", status_code=204)
async def delete_worker(ref: str, _: Admin, context: Ctx, force: bool = False) -> Response:
    """With `force`, the caller vouches for it that nothing of us lives on that machine any more."""
    async with context.db.write() as session:
        worker = await workers.by_ref(session, ref)
        auditing.note(session, "delete", "worker", worker.id, worker.name, after={"force": force})
        await workers.remove(session, worker, context.ports.clock, force=force)
    context.signals.touch("workers", "instances", "models", "routes", "assignments", "changes")
    return Response(status_code=204)
