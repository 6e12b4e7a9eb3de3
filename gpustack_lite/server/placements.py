"""The reconciler that gives PENDING instances a place: read, decide, write in one guarded transaction."""

import logging
from collections.abc import Sequence

from gpustack_lite.db.queries import cluster, moves, placing
from gpustack_lite.db.queries.placing import Ask, Explain, Place
from gpustack_lite.db.tables import ModelInstance
from gpustack_lite.server.core import MOST_AT_ONCE, Core
from gpustack_lite.server.deciding import Decision, MakeRoom, decide, news
from gpustack_lite.server.rollout import SERVING

log = logging.getLogger(__name__)
ATTEMPTS = 5


async def step(core: Core) -> float | None:
    for _ in range(ATTEMPTS):
        async with core.db.read() as session:
            if not await placing.has_pending(session):
                return None
            snapshot = await placing.snapshot(session)
        decisions = news(snapshot, decide(snapshot, core.ports.clock.wall()))
        if not decisions:
            return None
        if await _commit_all(core, snapshot.revision, decisions):
            return None
    return 0.05


async def _commit_all(core: Core, seen: int, decisions: Sequence[Decision]) -> bool:
    """What is written stays so when somebody else comes in between; only the rest is decided anew."""
    for first in range(0, len(decisions), MOST_AT_ONCE):
        part = decisions[first : first + MOST_AT_ONCE]
        revision = await _commit(core, seen, part)
        if revision is None:
            return False
        _tell(core, part)
        seen = revision
    return True


async def _commit(core: Core, seen: int, decisions: Sequence[Decision]) -> int | None:
    rows = [each for each in decisions if isinstance(each, Place | Explain | Ask)]
    ends = [each.instance_id for each in decisions if isinstance(each, MakeRoom)]
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        revision = await placing.commit(session, seen, rows, core.ports.clock)
        if revision is None:
            return None
        for instance_id in ends:
            instance = await session.get(ModelInstance, instance_id)
            if instance is not None and instance.state in SERVING:
                await moves.retire(session, instance, core.ports.clock)
    return revision


def _tell(core: Core, decisions: Sequence[Decision]) -> None:
    for place in (each for each in decisions if isinstance(each, Place)):
        log.info("instance_placed", extra={"instance_id": place.instance_id, "worker_id": place.worker_id})
    core.signals.touch("changes", "progress")
    if any(isinstance(each, Place | Ask | MakeRoom) for each in decisions):
        core.signals.touch("assignments", "drain")
