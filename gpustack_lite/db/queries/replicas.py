"""What the models want and which instances there are; creating and retiring them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import inspections, moves
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Clock


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every model, and every instance by the id of its model; a deleted model's instances are there without it."""

    models: Mapping[int, Model]
    instances: Mapping[int, Sequence[ModelInstance]]


async def fleet(session: AsyncSession) -> Fleet:
    models = {each.id or 0: each for each in await session.exec(select(Model).order_by(col(Model.id)))}
    by_model: dict[int, list[ModelInstance]] = defaultdict(list)
    for instance in await session.exec(select(ModelInstance).order_by(col(ModelInstance.id))):
        by_model[instance.model_id].append(instance)
    return Fleet(models, by_model)


async def create(session: AsyncSession, model: Model, clock: Clock) -> ModelInstance:
    now = clock.wall()
    instance = ModelInstance(
        model_id=model.id or 0,
        model_name=model.name,
        generation=model.launch_generation,
        created_at=now,
        state_since=now,
    )
    session.add(instance)
    await session.flush()
    await insert_event(session, clock, "instance_created", instance=instance, to_state=State.PENDING)
    await moves.put_instance(session, instance, clock)
    await moves.put_model(session, instance.model_id, clock)
    return instance


async def retry(session: AsyncSession, model: Model, clock: Clock) -> int:
    """A person wants those that gave up to be tried again: they end, and new ones take their places.

    The number of them. Touch "instances", "assignments" and "changes" after the commit.
    """
    await inspections.forget_refusals(session, source=model.files_source)
    gave_up = [each for each in await moves.instances_of(session, model.id or 0) if each.gave_up]
    ended = [each for each in gave_up if each.state == State.FAILED]
    for instance in ended:
        await moves.retire(session, instance, clock)
    return len(ended)
