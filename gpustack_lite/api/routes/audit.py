"""The audit log: who changed what. Nothing here changes it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from gpustack_lite.api import auditlog, failing
from gpustack_lite.api.auth import Admin
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.replies import PageWish, moment, reply, reply_page, shows
from gpustack_lite.api.schemas.public import AuditCheck, AuditShape, Listed
from gpustack_lite.db.queries import audit
from gpustack_lite.db.queries.audit import Sought

router = APIRouter(prefix="/audit", tags=["audit"])
Word = Annotated[str | None, Query(max_length=400)]


def _sought(
    *,
    actor: Word = None,
    kind: Word = None,
    name: Word = None,
    action: Word = None,
    address: Word = None,
    since: Word = None,
    until: Word = None,
) -> Sought:
    return Sought(actor, kind, name, action, address, moment(since, "since"), moment(until, "until"))


Wanted = Annotated[Sought, Depends(_sought)]


@router.get("", responses=shows(Listed[AuditShape]))
async def list_audit(_: Admin, request: Request, context: Ctx, wish: PageWish, wanted: Wanted) -> JSONResponse:
    """The newest first."""
    await failing.flush(context)
    async with context.db.read() as session:
        page = await audit.listed(session, wish, wanted)
    return reply_page(request, page)


@router.get("/verify", responses=shows(AuditCheck))
async def verify_audit(
    _: Admin, request: Request, context: Ctx, noted: Annotated[str | None, Query(max_length=100)] = None
) -> JSONResponse:
    """Whether the chain is whole; `noted` is a `head` that was written down elsewhere, and must still be in it."""
    return reply(request, await auditlog.verify(context, noted))


@router.get("/export", response_class=Response, responses={200: {"content": {"text/csv": {}, "application/jsonl": {}}}})
async def export_audit(_: Admin, context: Ctx, wanted: Wanted, format: auditlog.Format = "jsonl") -> StreamingResponse:
    """All rows that are wanted, the oldest first, in one stream."""
    await failing.flush(context)
    media = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}[format]
    kept_as = {"Content-Disposition": f'attachment; filename="audit.{format}"'}
    return StreamingResponse(auditlog.exported(context, wanted, format), media_type=media, headers=kept_as)
