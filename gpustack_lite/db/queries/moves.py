"""How rows change so that everyone hears of it: moves of instances with their events, and the changes of each noun."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import lifecycle
from gpustack_lite.db.documents import instance_document, model_document, worker_document
from gpustack_lite.db.queries import changes, cluster
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import Model, ModelInstance, Worker
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Clock

_LATER = "models_to_tell"


async def move(
    session: AsyncSession,
    instance: ModelInstance,
    target: State,
    clock: Clock,
    *,
    said: Mapping[str, Any] | None = None,
    numbers: Mapping[str, Any] | None = None,
) -> None:
    """Change the state as `lifecycle` allows, write the event and record the change. Set other columns before.

    Raises:
        Refusal: `move_not_allowed`.
    """
    before, now = State(instance.state), clock.wall()
    seconds = round((now - instance.state_since).total_seconds(), 3)
    instance.state = str(lifecycle.move(before, target))
    instance.state_since = now
    await insert_event(
        session,
        clock,
        "move",
        instance=instance,
        worker=await worker_of(session, instance),
        from_state=before,
        to_state=target,
        code=said["code"] if said else None,
        params={"seconds": seconds, **(numbers or {}), **(said["params"] if said else {})},  # a sentence keeps its own
    )
    await put_instance(session, instance, clock)
    await put_model(session, instance.model_id, clock)


async def worker_of(session: AsyncSession, instance: ModelInstance) -> Worker | None:
    return None if instance.worker_id is None else await session.get(Worker, instance.worker_id)


async def put_instance(session: AsyncSession, instance: ModelInstance, clock: Clock) -> None:
    """Save the row and record it; what only tells of progress needs no more than this."""
    session.add(instance)
    await session.flush()
    worker = await worker_of(session, instance)
    document = instance_document(instance, worker.name if worker else None)
    await changes.record(session, "instance", "put", instance.id or 0, document, clock)


@asynccontextmanager
async def telling_models_once(session: AsyncSession, clock: Clock) -> AsyncIterator[None]:
    """Within it models are told at the end, each once: to tell of one all its instances are read. Not nested."""
    later: dict[int, None] = {}
    session.info[_LATER] = later
    try:
        yield
    finally:
        del session.info[_LATER]
    for model_id in later:
        await put_model(session, model_id, clock)


async def put_model(session: AsyncSession, model_id: int, clock: Clock) -> None:
    """Record the model as it follows from its row and its instances; nothing where it was deleted."""
    if _LATER in session.info:
        session.info[_LATER][model_id] = None
        return
    model = await session.get(Model, model_id)
    if model is not None:
        instances = await instances_of(session, model_id)
        await changes.record(session, "model", "put", model_id, model_document(model, instances), clock)


async def put_worker(session: AsyncSession, worker: Worker, clock: Clock) -> None:
    session.add(worker)
    await session.flush()
    await changes.record(session, "worker", "put", worker.id or 0, worker_document(worker), clock)


async def instances_of(session: AsyncSession, model_id: int) -> list[ModelInstance]:
    found = await session.exec(
        select(ModelInstance).where(ModelInstance.model_id == model_id).order_by(col(ModelInstance.id))
    )
    return list(found)


async def remove_instance(session: AsyncSession, instance: ModelInstance, clock: Clock) -> None:
    """The end of an instance of which nothing lives any more. Its events stay."""
    await insert_event(
        session,
        clock,
        "instance_gone",
        instance=instance,
        worker=await worker_of(session, instance),
        from_state=instance.state,
    )
    await session.delete(instance)
    await session.flush()
    await changes.record(session, "instance", "delete", instance.id or 0, None, clock)
    await put_model(session, instance.model_id, clock)


async def retire(
    session: AsyncSession, instance: ModelInstance, clock: Clock, *, said: dict[str, Any] | None = None
) -> None:
    """Ask for the end of an instance, and say why; one that holds nothing ends here and now."""
    if not instance.holds_claim:
        await remove_instance(session, instance, clock)
        return
    instance.stopping_since = clock.wall()
    instance.said = said
    instance.progress = None
    await move(session, instance, State.STOPPING, clock, said=said)


async def change_assignment(session: AsyncSession, *worker_ids: int) -> int:
    """The Assignments of these workers have a new content: number it. Touch "assignments" after the commit."""
    revision = await cluster.next_counter(session, cluster.CLUSTER)
    for worker_id in sorted(set(worker_ids)):
        worker = await session.get(Worker, worker_id)
        if worker is not None:
            worker.assignment_revision = revision
            session.add(worker)
    return revision
