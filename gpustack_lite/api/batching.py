"""Batches of people: made, shown and cancelled here; sent by the server's reconciler."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr

from gpustack_lite.api import rules
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller
from gpustack_lite.api.file_forms import checked_seconds
from gpustack_lite.api.schemas.bodies import Body
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import batches, files
from gpustack_lite.db.tables import Batch
from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import Language, text

WINDOW = timedelta(hours=24)
Endpoint = Literal["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"]
Note = Annotated[StrictStr, Field(max_length=512)]


class ExpiresAfter(Body):
    anchor: Literal["created_at"]
    seconds: StrictInt


class BatchCreate(Body):
    input_file_id: Annotated[StrictStr, Field(max_length=200, pattern="^[A-Za-z0-9_-]+$")]
    endpoint: Endpoint
    completion_window: Literal["24h"]
    metadata: Annotated[dict[Annotated[str, Field(max_length=64)], Note], Field(max_length=16)] | None = None
    output_expires_after: ExpiresAfter | None = None


async def create(context: Context, caller: Caller, body: BatchCreate) -> Batch:
    """
    Raises:
        NotFound: no such file.
        Refusal: `batch_file_purpose`, `file_expiry_bad` or `batches_too_many`.
    """
    rules.check_plain(body.metadata or {}, "metadata")
    now = context.ports.clock.wall()
    keep = None if body.output_expires_after is None else checked_seconds(body.output_expires_after.seconds)
    row = Batch(
        id="batch_" + context.ports.randomness.unique_id().replace("-", ""),
        user_id=caller.user_id,
        key_id=caller.id if caller.kind == "key" else None,
        endpoint=body.endpoint,
        input_file_id=body.input_file_id,
        notes=body.metadata,
        output_expires_seconds=keep,
        created_at=now,
        expires_at=now + WINDOW,
    )
    async with context.db.write() as session:
        file = await files.by_id(session, body.input_file_id, None if caller.is_admin else caller.user_id)
        if file.purpose != "batch":
            raise Refusal("batch_file_purpose", param="input_file_id", file=file.id, purpose=file.purpose)
        await batches.insert(session, row)
    context.signals.touch("batches")
    return row


async def cancel(context: Context, batch_id: str, owner: int | None) -> Batch:
    """Asked twice, it answers twice.

    Raises:
        Refusal: `batch_ended` (409).
    """
    async with context.db.write() as session:
        row = await batches.by_id(session, batch_id, owner)
        if row.status not in {*batches.OPEN, "cancelled"}:
            raise Refusal("batch_ended", status=409, batch=row.id, state=row.status)
        if row.status in batches.OPEN:
            row.status = "cancelling"
            auditing.note(session, "cancel", "batch", row.id, row.id)
            session.add(row)
    context.signals.touch("batches")
    return row


def document(row: Batch, language: Language) -> dict[str, Any]:
    """Whoever wrote it, `errors` are told in the language of who reads them."""
    ended: dict[str, int | None] = {f"{status}_at": None for status in ("completed", "failed", "expired", "cancelled")}
    if row.ended_at is not None:
        ended[f"{row.status}_at"] = _seconds(row.ended_at)
    return {
        "id": row.id,
        "object": "batch",
        "endpoint": row.endpoint,
        "errors": {"object": "list", "data": [_error(each, language) for each in row.errors]} if row.errors else None,
        "input_file_id": row.input_file_id,
        "completion_window": "24h",
        "status": row.status,
        "output_file_id": row.output_file_id,
        "error_file_id": row.error_file_id,
        "created_at": _seconds(row.created_at),
        "in_progress_at": _seconds(row.began_at),
        "expires_at": _seconds(row.expires_at),
        "finalizing_at": None,
        "cancelling_at": None,
        **ended,
        "request_counts": {"total": row.lines, "completed": row.completed, "failed": row.failed},
        "metadata": row.notes,
    }


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def _error(said: dict[str, Any], language: Language) -> dict[str, Any]:
    message = text(Sentence(said["code"], said.get("params", {})), language)
    return {"code": said["code"], "message": message, "param": said.get("param"), "line": said.get("line")}
