"""Models whose number of replicas follows their load."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import models, publishing
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import GatewayRow, Model, ModelInstance
from gpustack_lite.planning.autoscale import Decision
from gpustack_lite.ports import Clock


@dataclass(frozen=True, slots=True)
class Scaled:
    """Only such models, and only their instances."""

    models: Mapping[int, Model]
    instances: Mapping[int, Sequence[ModelInstance]]
    gateways: Sequence[GatewayRow]


async def read(session: AsyncSession, clock: Clock) -> Scaled:
    every = await session.exec(select(Model).where(col(Model.autoscale).is_not(None)).order_by(col(Model.id)))
    found = {each.id or 0: each for each in every if each.autoscale}
    if not found:
        return Scaled({}, {}, ())
    instances: dict[int, list[ModelInstance]] = defaultdict(list)
    of_them = select(ModelInstance).where(col(ModelInstance.model_id).in_(found)).order_by(col(ModelInstance.id))
    for instance in await session.exec(of_them):
        instances[instance.model_id].append(instance)
    return Scaled(found, instances, await publishing.counted_gateways(session, clock))


async def change(session: AsyncSession, seen: Model, decision: Decision, code: str, clock: Clock) -> bool:
    """False where somebody changed the model meanwhile: what was decided was about another one."""
    model = await session.get(Model, seen.id)
    if model is None or _as_decided(model) != _as_decided(seen):
        return False
    params = {"before": model.replicas, "replicas": decision.replicas, "seconds": round(decision.seconds)}
    params |= {"in_flight": decision.load.in_flight, "queued": decision.load.queued}
    model.replicas = decision.replicas
    await insert_event(session, clock, "model_scaled", model=model, code=code, params=params)
    await models.record_put(session, model, clock)
    return True


def _as_decided(model: Model) -> tuple[object, ...]:
    return model.generation, model.replicas, model.autoscale, model.asleep, model.stopped
