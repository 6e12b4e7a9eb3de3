"""Forgets, now and then, what is kept only for a while: old changes and events, expired sessions."""

from gpustack_lite.db.queries import changes, cluster, events, sessions
from gpustack_lite.server.core import Core

EVERY_SECONDS = 60.0


async def step(core: Core) -> float | None:
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        await changes.trim(session, core.settings.change_retention)
        await events.trim(session, core.settings.event_retention)
        await sessions.forget_expired(session, core.ports.clock.wall())
    return None
