"""Model files that somebody asks for, pauses or deletes: checked, written, and left to the worker."""

from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.api import rules
from gpustack_lite.api.context import Context
from gpustack_lite.api.schemas.bodies import FilesCreate
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import events, model_files, moves, workers
from gpustack_lite.db.queries.model_files import FilesWish
from gpustack_lite.db.tables import ModelFile, Worker
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import sources


async def add(context: Context, body: FilesCreate, created_by: int) -> dict[str, Any]:
    """The same files on the same worker are one thing, however often they are asked for."""
    rules.check_plain(body.model_dump(), "files")
    _must_be_remote(body.source)
    clock = context.ports.clock
    wish = FilesWish(body.source, body.revision, tuple(body.include), body.format)
    async with context.db.write() as session:
        worker = await _worker(session, body.worker)
        row = await model_files.ensure(session, worker.id or 0, wish, clock, created_by)
        auditing.note(session, "add", "model_file", row.id, row.source)
        await moves.change_assignment(session, worker.id or 0)
        params = {"source": row.source, "files_id": row.id}
        await events.insert_event(session, clock, "files_added", worker=worker, params=params)
        document = await model_files.document(session, row)
    context.signals.touch("assignments", "files", "changes")
    return document


def _must_be_remote(source: str) -> None:
    """Raises:
    Refusal: `files_not_remote`, or how the source is no repository.
    """
    if not sources.is_remote(source):
        raise Refusal("files_not_remote", param="source", source=source)
    sources.repository(source)


async def _worker(session: AsyncSession, ref: str | None) -> Worker:
    """The only one there is, where nobody said which.

    Raises:
        Refusal: `files_which_worker` or `no_workers`.
    """
    if ref is not None:
        return await workers.by_ref(session, ref)
    every = await workers.all_rows(session)
    if len(every) != 1:
        names = ", ".join(each.name for each in every[:10]) or "-"
        raise Refusal("files_which_worker", param="worker", names=names)
    return every[0]


async def want(context: Context, ref: str, wanted: str) -> dict[str, Any]:
    async with context.db.write() as session:
        row = await model_files.by_ref(session, ref)
        if row.wanted == "absent":
            raise Refusal("files_being_deleted", status=409, id=row.id, source=row.source)
        return await _write(context, session, row, wanted)


async def delete(context: Context, ref: str) -> dict[str, Any]:
    async with context.db.write() as session:
        row = await model_files.by_ref(session, ref)
        await model_files.must_be_free(session, row)
        return await _write(context, session, row, "absent")


async def _write(context: Context, session: AsyncSession, row: ModelFile, wanted: str) -> dict[str, Any]:
    called = {"present": "resume", "paused": "pause", "absent": "delete"}[wanted]
    auditing.note(session, called, "model_file", row.id, row.source)
    await model_files.want(session, row, wanted, context.ports.clock)
    context.signals.touch("assignments", "files", "changes")
    return await model_files.document(session, row)
