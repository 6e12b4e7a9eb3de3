"""The reconciler that notices silent workers and has their instances replaced."""

import logging

from gpustack_lite.db.queries import cluster, liveness
from gpustack_lite.server.core import Core
from gpustack_lite.server.heartbeats import Heartbeats, Silence
from gpustack_lite.settings import Settings

log = logging.getLogger(__name__)
MISSED_BEATS = 3


def silent_after_seconds(settings: Settings) -> float:
    """From then on a worker gets nothing new; what it has is LOST only after `grace_seconds`."""
    return min(MISSED_BEATS * settings.heartbeat_seconds, settings.grace_seconds)


async def step(core: Core, heartbeats: Heartbeats, silence: Silence) -> float | None:
    async with core.db.read() as session:
        workers = await liveness.workers(session)
        seconds = {worker.id or 0: silence.seconds(worker) for worker in workers if worker.state != "joining"}
        ready = {worker.id for worker in workers if worker.state == "ready"}
        gone = {key: value for key, value in seconds.items() if value > core.settings.grace_seconds}
        has_losses = bool(gone) and bool(await liveness.with_something_to_lose(session, list(gone)))
    limit = silent_after_seconds(core.settings)
    silent = [key for key, value in seconds.items() if value > limit and key in ready]
    if silent or has_losses:
        await _write(core, heartbeats, silent, gone)
    return None


async def _write(core: Core, heartbeats: Heartbeats, silent: list[int], gone: dict[int, float]) -> None:
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        await liveness.mark_silent(session, silent, core.ports.clock)
        lost = await liveness.lose(session, gone, core.ports.clock)
    for worker_id in silent:
        heartbeats.forget(worker_id)
        log.warning("worker_silent", extra={"worker_id": worker_id})
    if lost:
        log.warning("instances_lost", extra={"count": lost, "worker_ids": sorted(gone)})
    core.signals.touch("workers", "instances", "changes", "assignments")
