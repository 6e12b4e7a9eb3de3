"""A database that was put back to an earlier time: its numbers must outrun those that machines remember.

They take nothing that is older than what they have, so they would not listen to it any more.
"""

import logging

from gpustack_lite.api.context import Context
from gpustack_lite.db.queries import cluster
from gpustack_lite.db.tables import Worker

log = logging.getLogger(__name__)


async def heed_worker(context: Context, worker_id: int, epoch: int, revision: int) -> None:
    async with context.db.read() as session:
        worker = await session.get(Worker, worker_id)
        ours = await cluster.epoch(session), 0 if worker is None else worker.assignment_revision
    if (epoch, revision) > ours:
        await _outrun(context, epoch)


async def heed_gateway(context: Context, epoch: int, models: int, credentials: int) -> None:
    if context.published.newer(epoch, models, credentials) is None:
        return
    async with context.db.read() as session:
        ours = await cluster.epoch(session)
        numbers = await cluster.counter(session, cluster.MODELS), await cluster.counter(session, cluster.CREDENTIALS)
    if epoch > ours or (epoch == ours and (models > numbers[0] or credentials > numbers[1])):
        await _outrun(context, epoch)


async def _outrun(context: Context, epoch: int) -> None:
    async with context.db.write() as session:
        if not await cluster.overtake(session, epoch):
            return
    log.warning("database_is_older_than_its_machines", extra={"their_epoch": epoch})
    context.signals.touch("assignments")
