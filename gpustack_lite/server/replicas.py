"""The reconciler that makes the instances of every model as many as it wants."""

from collections.abc import Sequence

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import cluster, moves, placing, replicas
from gpustack_lite.db.queries.replicas import Fleet
from gpustack_lite.db.tables import ModelInstance
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Clock
from gpustack_lite.server.core import MOST_AT_ONCE, Core
from gpustack_lite.server.rollout import Action, Create, replica_actions, surplus_that_serves
from gpustack_lite.server.usefulness import least_missed

REPLACEMENTS_PER_SECOND = 8
"""Of LOST instances: a whole rack that fell silent does not load every weight at the same moment."""


async def step(core: Core) -> float | None:
    async with core.db.read() as session:
        if not _due(await replicas.fleet(session)):
            return None
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        fleet = await replicas.fleet(session)
        due = _due(fleet, await _least_missed(session, fleet, core.ports.clock))
        now = _now(due, fleet)
        async with moves.telling_models_once(session, core.ports.clock):
            for model_id, action in now:
                await _carry_out(session, fleet, model_id, action, core.ports.clock)
    core.signals.touch("instances", "changes", "drain")
    if len(now) == len(due):
        return None
    return 0.0 if len(now) == MOST_AT_ONCE else 1.0


async def _least_missed(session: AsyncSession, fleet: Fleet, clock: Clock) -> list[int]:
    """The workers are read only where replicas that serve alike have to be chosen from."""
    choices = [surplus_that_serves(model, fleet.instances.get(id_, ())) for id_, model in fleet.models.items()]
    candidates = {id_ for each in choices for id_ in each}
    if not candidates:
        return []
    return least_missed(await placing.snapshot(session), candidates, clock.wall())


def _due(fleet: Fleet, least_missed: Sequence[int] = ()) -> list[tuple[int, Action]]:
    model_ids = sorted(set(fleet.models) | set(fleet.instances))
    return [
        (model_id, action)
        for model_id in model_ids
        for action in replica_actions(fleet.models.get(model_id), fleet.instances.get(model_id, ()), least_missed)
    ]


def _now(due: list[tuple[int, Action]], fleet: Fleet) -> list[tuple[int, Action]]:
    """What one transaction takes, without the replacements of LOST instances that are too many for this second."""
    with_lost = {key for key, each in fleet.instances.items() if any(one.state == State.LOST for one in each)}
    replacements = [each for each in due if isinstance(each[1], Create) and each[0] in with_lost]
    others = [each for each in due if not (isinstance(each[1], Create) and each[0] in with_lost)]
    return (others + replacements[:REPLACEMENTS_PER_SECOND])[:MOST_AT_ONCE]


async def _carry_out(session: AsyncSession, fleet: Fleet, model_id: int, action: Action, clock: Clock) -> None:
    if isinstance(action, Create):
        await replicas.create(session, fleet.models[model_id], clock)
        return
    instance = await session.get(ModelInstance, action.instance_id)
    if instance is not None:
        await moves.retire(session, instance, clock)
