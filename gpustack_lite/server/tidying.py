"""Forgets what is kept for a while: old changes, events and requests, expired sessions and files, ended batches."""

import asyncio
from datetime import timedelta

from gpustack_lite.db.queries import audit, batches, changes, cluster, events, files, sessions, spending, usage_days
from gpustack_lite.filestore import FileStore, id_of
from gpustack_lite.server.core import Core

EVERY_SECONDS = 60.0
ROWS_AT_ONCE = 2000
"""In one transaction: gateways that report usage wait behind it."""
AUDIT_ROWS_AT_ONCE = 100_000
AGAIN_SECONDS = 0.5
ABANDONED = timedelta(hours=1)
"""An upload that wrote nothing for so long is one that a killed server had begun."""


async def step(core: Core) -> float | None:
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        await changes.trim(session, core.settings.change_retention)
        await events.trim(session, core.settings.event_retention)
        await spending.trim(session, core.ports.clock.wall())
        await sessions.forget_expired(session, core.ports.clock.wall())
    await _trim_audit(core)
    await _tidy_files(core)
    return await _forget_requests(core)


async def _forget_requests(core: Core) -> float | None:
    """The sums of what is forgotten stay. A backlog is worked off in turns, so that others come in between."""
    before = core.ports.clock.wall() - timedelta(days=core.settings.request_retention_days)
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        forgotten = await usage_days.forget(session, before, ROWS_AT_ONCE)
    return AGAIN_SECONDS if forgotten == ROWS_AT_ONCE else None


async def _trim_audit(core: Core) -> None:
    """A day's rows at a time: each time leaves a row that says so."""
    now = core.ports.clock.wall()
    kept_since = now - timedelta(days=core.settings.audit_retention_days)
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        oldest = await audit.oldest(session)
        if oldest is not None and oldest < kept_since - timedelta(days=1):
            await audit.trim(session, kept_since, AUDIT_ROWS_AT_ONCE, now)


async def _tidy_files(core: Core) -> None:
    """The rows first: bytes that nobody knows are found again, a row without bytes would be a promise."""
    now = core.ports.clock.wall()
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        for row in await files.expired(session, now):
            await session.delete(row)
        await batches.forget_ended(session, now - timedelta(days=core.settings.file_retention_days))
        await session.flush()
        known = await files.ids(session)
        known.update(id_of(each, kind) for each in await batches.open_ids(session) for kind in ("output", "error"))
    await asyncio.to_thread(_remove_left_over, FileStore(core.settings.data_dir), known, (now - ABANDONED).timestamp())


def _remove_left_over(store: FileStore, known: set[str], older_than: float) -> None:
    for path in store.left_over(known, older_than):
        path.unlink(missing_ok=True)
