"""The reconciler that releases STOPPING instances once nobody is served by them."""

import logging

from gpustack_lite.db.queries import cluster, publishing
from gpustack_lite.server.core import Core
from gpustack_lite.server.drain import is_drained

log = logging.getLogger(__name__)


async def step(core: Core) -> float | None:
    async with core.db.read() as session:
        if not await publishing.draining(session):
            return None
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        waiting = await publishing.draining(session)
        gateways = await publishing.counted_gateways(session, core.ports.clock)
        now, limit = core.ports.clock.wall(), core.settings.drain_seconds
        done = [each for each in waiting if is_drained(each, gateways, epoch=core.epoch, now=now, drain_seconds=limit)]
        await publishing.release(session, done, core.ports.clock)
    if done:
        log.info("instances_released", extra={"instance_ids": [each.id for each in done]})
        core.signals.touch("assignments", "changes")
    return 1.0
