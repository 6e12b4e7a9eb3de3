"""The reconciler that puts idle models to sleep, and wakes those that may sleep no more."""

import logging
from datetime import datetime

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.idleness import COARSENESS, Idle, may_sleep, sleep_after
from gpustack_lite.db.queries import cluster, publishing, replicas, sleep
from gpustack_lite.db.tables import GatewayRow, Model
from gpustack_lite.server.core import Core

log = logging.getLogger(__name__)
SELDOM_SECONDS = 30.0
LEAST_SECONDS = 0.2


class Sleeping:
    """`since` is when this server began to lead: of the time before it, it knows no use."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._since = core.ports.clock.wall()

    async def step(self) -> float | None:
        core = self._core
        async with core.db.read() as session:
            fleet = await replicas.fleet(session)
            limits = [limit for each in fleet.models.values() if (limit := sleep_after(each)) is not None]
            gateways = await publishing.counted_gateways(session, core.ports.clock) if limits else []
        idle, restless = self._due(fleet, gateways, core.ports.clock.wall())
        if idle or restless:
            await self._write()
        return max(LEAST_SECONDS, min([SELDOM_SECONDS, *(limit / COARSENESS / 2 for limit in limits)]))

    def _due(
        self, fleet: replicas.Fleet, gateways: list[GatewayRow], now: datetime
    ) -> tuple[list[tuple[Model, Idle]], list[Model]]:
        found = [
            (model, idle)
            for key, model in fleet.models.items()
            if (idle := may_sleep(model, fleet.instances.get(key, ()), gateways, now, self._since)) is not None
        ]
        return found, [each for each in fleet.models.values() if each.asleep and sleep_after(each) is None]

    async def _write(self) -> None:
        """Decided again on what is there now: somebody may have asked meanwhile."""
        core = self._core
        async with core.db.write() as session:
            await cluster.guard(session, core.epoch)
            fleet = await replicas.fleet(session)
            gateways = await publishing.counted_gateways(session, core.ports.clock)
            idle, restless = self._due(fleet, gateways, core.ports.clock.wall())
            for model, found in idle:
                await self._put_to_sleep(session, model, found)
            for model in restless:
                await sleep.wake(session, model, core.ports.clock)
        core.signals.touch("models", "changes")

    async def _put_to_sleep(self, session: AsyncSession, model: Model, idle: Idle) -> None:
        await sleep.put_to_sleep(session, model, idle.seconds, self._core.ports.clock)
        log.info("model_sleeps", extra={"model": model.name, "idle_seconds": round(idle.seconds, 1)})
