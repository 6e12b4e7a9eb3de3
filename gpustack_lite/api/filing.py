"""Files of people: taken in without holding them in memory, shown, and removed."""

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller
from gpustack_lite.api.file_forms import FileForm, Told
from gpustack_lite.db.queries import files
from gpustack_lite.db.tables import StoredFile
from gpustack_lite.errors import Refusal
from gpustack_lite.filestore import FileStore, Incoming

PIECE_BYTES = 256 * 1024
_FORM_BYTES = 64 * 1024
"""What a form may hold beside its file."""


async def take_in(context: Context, caller: Caller, request: Request) -> StoredFile:
    """The file is on the disk, and then in the database, when this returns.

    Raises:
        Refusal: what FileForm raises; `upload_too_large`, `files_quota` (413), `server_busy` (503),
            `upload_disk_failed` (507).
    """
    limit = context.settings.upload_bytes
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length[:18]) > limit + _FORM_BYTES:
        raise Refusal("upload_too_large", status=413, limit_bytes=limit)
    if context.uploads.locked():
        raise Refusal("server_busy", status=503, seconds=5)
    async with context.uploads:
        return await _receive(context, caller, request, limit)


async def _receive(context: Context, caller: Caller, request: Request, limit: int) -> StoredFile:
    form = FileForm(request.headers.get("content-type", "").encode("latin-1"))
    file_id = "file-" + context.ports.randomness.unique_id().replace("-", "")
    try:
        incoming = await asyncio.to_thread(FileStore(context.data_dir).incoming, file_id)
        with contextlib.ExitStack() as undo:
            undo.callback(incoming.discard)
            size = await _pour(request, form, incoming, limit)
            row = _row(context, caller, file_id, form.end(), size)
            await asyncio.to_thread(incoming.keep)
            undo.pop_all()
    except OSError as error:
        raise Refusal("upload_disk_failed", status=507, why=error.strerror or str(error)) from error
    await _note(context, row)
    return row


async def _pour(request: Request, form: FileForm, incoming: Incoming, limit: int) -> int:
    """How many bytes the file has."""
    waiting, size, beside = bytearray(), 0, 0
    try:
        async for data in request.stream():
            pieces = form.feed(data)
            waiting += b"".join(pieces)
            size += (more := sum(map(len, pieces)))
            beside += len(data) - more
            if size > limit or beside > _FORM_BYTES:
                raise Refusal("upload_too_large", status=413, limit_bytes=limit)
            if len(waiting) >= PIECE_BYTES:
                await asyncio.to_thread(incoming.append, waiting)
                waiting = bytearray()
    except ClientDisconnect as error:
        raise Refusal("form_ends_early") from error
    await asyncio.to_thread(incoming.append, waiting)
    return size


def _row(context: Context, caller: Caller, file_id: str, told: Told, size: int) -> StoredFile:
    now = context.ports.clock.wall()
    kept = timedelta(days=context.settings.file_retention_days)
    return StoredFile(
        id=file_id,
        user_id=caller.user_id,
        key_id=caller.id if caller.kind == "key" else None,
        filename=told.filename,
        purpose=told.purpose,
        size_bytes=size,
        created_at=now,
        expires_at=now + (kept if told.keep_seconds is None else timedelta(seconds=told.keep_seconds)),
    )


async def _note(context: Context, row: StoredFile) -> None:
    """A file without a row would be nobody's: tidying finds what a killed server leaves of this kind."""
    try:
        async with context.db.write() as session:
            await files.insert(session, row, context.settings.user_files_bytes)
    except Refusal:
        await asyncio.to_thread(FileStore(context.data_dir).remove, row.id)
        raise


async def delete(context: Context, file_id: str, owner: int | None) -> None:
    async with context.db.write() as session:
        row = await files.by_id(session, file_id, owner)
        await files.refuse_in_use(session, row)
        await session.delete(row)
    await asyncio.to_thread(FileStore(context.data_dir).remove, file_id)


def document(row: StoredFile) -> dict[str, Any]:
    return {
        "id": row.id,
        "object": "file",
        "bytes": row.size_bytes,
        "created_at": int(row.created_at.timestamp()),
        "expires_at": None if row.expires_at is None else int(row.expires_at.timestamp()),
        "filename": row.filename,
        "purpose": row.purpose,
        "status": "processed",
        "status_details": None,
    }


def page_document(items: list[dict[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """A list as OpenAI's clients page through it."""
    ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {"first_id": None, "last_id": None}
    return {"object": "list", "data": items, "has_more": has_more, **ends}
