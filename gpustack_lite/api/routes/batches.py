"""/v1/batches, as OpenAI has it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from gpustack_lite.api import batching
from gpustack_lite.api.auth import Asker, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.filing import page_document
from gpustack_lite.api.keymaking import owner_of
from gpustack_lite.api.refusals import language
from gpustack_lite.api.routes.files import After
from gpustack_lite.db.queries import batches, files
from gpustack_lite.db.tables import Batch

router = APIRouter(prefix="/v1/batches", tags=["batches"], route_class=CredentialFirst)


@router.post("")
async def create_batch(body: batching.BatchCreate, signed_in: Asker, request: Request, context: Ctx) -> JSONResponse:
    return _shown(await batching.create(context, signed_in.caller, body), request)


@router.get("")
async def list_batches(
    *,
    signed_in: Asker,
    request: Request,
    context: Ctx,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: After = None,
) -> JSONResponse:
    """The newest first."""
    owner = owner_of(signed_in.caller)
    async with context.db.read() as session:
        last = None if after is None else await batches.by_id(session, after, owner)
        where = [] if owner is None else [Batch.user_id == owner]
        rows, has_more = await files.page(session, Batch, where, last, limit)
    return JSONResponse(page_document([batching.document(row, language(request)) for row in rows], has_more=has_more))


@router.get("/{batch_id}")
async def show_batch(batch_id: str, signed_in: Asker, request: Request, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        return _shown(await batches.by_id(session, batch_id, owner_of(signed_in.caller)), request)


@router.post("/{batch_id}/cancel")
async def cancel_batch(batch_id: str, signed_in: Asker, request: Request, context: Ctx) -> JSONResponse:
    return _shown(await batching.cancel(context, batch_id, owner_of(signed_in.caller)), request)


def _shown(row: Batch, request: Request) -> JSONResponse:
    return JSONResponse(batching.document(row, language(request)))
