"""Model files on workers. (/v1/files is another thing: what clients upload, as OpenAI has it.)"""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api import holding
from gpustack_lite.api.auth import Admin, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, reply, reply_page, shows
from gpustack_lite.api.schemas.bodies import FilesCreate
from gpustack_lite.api.schemas.public import FilesShape, Listed
from gpustack_lite.db.queries import model_files, workers

router = APIRouter(prefix="/files", tags=["files"], route_class=CredentialFirst)


@router.get("", responses=shows(Listed[FilesShape]))
async def list_files(
    _: Admin, request: Request, context: Ctx, wish: PageWish, worker: str | None = None
) -> JSONResponse:
    async with context.db.read() as session:
        worker_id = None if worker is None else (await workers.by_ref(session, worker)).id
        page = await model_files.listed(session, wish, worker_id=worker_id)
    return reply_page(request, page)


@router.post("", status_code=201, responses=shows(FilesShape, 201))
async def add_files(body: FilesCreate, signed_in: Admin, request: Request, context: Ctx) -> JSONResponse:
    """Fetched on the worker before anything needs them; what a model needs is fetched without this."""
    return reply(request, await holding.add(context, body, signed_in.caller.user_id), 201)


@router.get("/{ref}", responses=shows(FilesShape))
async def show_files(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        document = await model_files.document(session, await model_files.by_ref(session, ref))
    return reply(request, document)


@router.post("/{ref}/pause", responses=shows(FilesShape))
async def pause_files(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    """What came stays. Instances that need the rest wait."""
    return reply(request, await holding.want(context, ref, "paused"))


@router.post("/{ref}/resume", responses=shows(FilesShape))
async def resume_files(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    return reply(request, await holding.want(context, ref, "present"))


@router.delete("/{ref}", status_code=202, responses=shows(FilesShape, 202))
async def delete_files(ref: str, _: Admin, request: Request, context: Ctx) -> JSONResponse:
    """The worker deletes them; the row goes when it has."""
    return reply(request, await holding.delete(context, ref), 202)
