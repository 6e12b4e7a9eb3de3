"""Forgets, now and then, what is kept only for a while: old changes and events, expired sessions, requests."""

from datetime import timedelta

from gpustack_lite.db.queries import changes, cluster, events, sessions, spending, usage_days
from gpustack_lite.server.core import Core

EVERY_SECONDS = 60.0
ROWS_AT_ONCE = 2000
"""In one transaction: gateways that report usage wait behind it."""
AGAIN_SECONDS = 0.5


async def step(core: Core) -> float | None:
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        await changes.trim(session, core.settings.change_retention)
        await events.trim(session, core.settings.event_retention)
        await spending.trim(session, core.ports.clock.wall())
        await sessions.forget_expired(session, core.ports.clock.wall())
    return await _forget_requests(core)


async def _forget_requests(core: Core) -> float | None:
    """The sums of what is forgotten stay. A backlog is worked off in turns, so that others come in between."""
    before = core.ports.clock.wall() - timedelta(days=core.settings.request_retention_days)
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        forgotten = await usage_days.forget(session, before, ROWS_AT_ONCE)
    return AGAIN_SECONDS if forgotten == ROWS_AT_ONCE else None
