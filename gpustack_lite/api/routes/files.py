"""/v1/files, as OpenAI has it."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, JSONResponse

from gpustack_lite.api import filing
from gpustack_lite.api.auth import Asker, CredentialFirst
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.keymaking import owner_of
from gpustack_lite.db.queries import files
from gpustack_lite.errors import NotFound
from gpustack_lite.filestore import FileStore

router = APIRouter(prefix="/v1/files", tags=["files"], route_class=CredentialFirst)
After = Annotated[str | None, Query(max_length=200, pattern="^[A-Za-z0-9_-]+$")]


@router.post("")
async def upload_file(signed_in: Asker, request: Request, context: Ctx) -> JSONResponse:
    """A form with `file`, `purpose` and, if wanted, `expires_after[anchor]` and `expires_after[seconds]`."""
    return JSONResponse(filing.document(await filing.take_in(context, signed_in.caller, request)))


@router.get("")
async def list_files(
    *,
    signed_in: Asker,
    context: Ctx,
    purpose: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    after: After = None,
    order: Literal["asc", "desc"] = "desc",
) -> JSONResponse:
    owner, oldest_first = owner_of(signed_in.caller), order == "asc"
    async with context.db.read() as session:
        rows, has_more = await files.listed(session, owner, purpose, limit, after, oldest_first=oldest_first)
    return JSONResponse(filing.page_document([filing.document(row) for row in rows], has_more=has_more))


@router.get("/{file_id}")
async def show_file(file_id: str, signed_in: Asker, context: Ctx) -> JSONResponse:
    async with context.db.read() as session:
        return JSONResponse(filing.document(await files.by_id(session, file_id, owner_of(signed_in.caller))))


@router.get("/{file_id}/content")
async def file_content(file_id: str, signed_in: Asker, context: Ctx) -> FileResponse:
    async with context.db.read() as session:
        row = await files.by_id(session, file_id, owner_of(signed_in.caller))
    path = FileStore(context.data_dir).path(row.id)
    if not path.is_file():
        raise NotFound("file", file_id)
    return FileResponse(path, media_type="application/octet-stream", filename=row.filename)


@router.delete("/{file_id}")
async def delete_file(file_id: str, signed_in: Asker, context: Ctx) -> JSONResponse:
    await filing.delete(context, file_id, owner_of(signed_in.caller))
    return JSONResponse({"id": file_id, "object": "file", "deleted": True})
