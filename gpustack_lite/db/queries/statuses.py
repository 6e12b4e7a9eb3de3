"""Takes in the reports of workers: level based, so that a lost, repeated or late one does no harm."""

import logging
from datetime import datetime, timedelta

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import lifecycle
from gpustack_lite.db import members
from gpustack_lite.db.members import devices_on, holders, workers_of
from gpustack_lite.db.queries import cluster, inspections, learning, model_files, moves
from gpustack_lite.db.queries.assignments import is_assigned
from gpustack_lite.db.queries.members import on_worker
from gpustack_lite.db.tables import ModelInstance, Worker, WorkerDevice
from gpustack_lite.lifecycle import ENDING, State
from gpustack_lite.ports import Clock
from gpustack_lite.wire import InstanceStatus, Measured, Progress, Said, StatusReport

log = logging.getLogger(__name__)
_COPIED = ("pid", "port", "attempt", "gave_up", "context_length", "simulated", "launch")
_REPORTABLE = frozenset({State.PREPARING, State.STARTING, State.READY, State.UNHEALTHY, State.FAILED})
_SERVING = frozenset({State.READY, State.UNHEALTHY})
_SAME_TRY = timedelta(seconds=2)


async def apply(session: AsyncSession, worker_id: int, report: StatusReport, clock: Clock) -> frozenset[str]:
    """Write what the report says; the answer is the topics to touch after the commit.

    A report under an older epoch is of a time before this database's present and is ignored.
    """
    worker = await session.get(Worker, worker_id)
    if worker is None or report.epoch != await cluster.epoch(session):
        return frozenset()
    topics: set[str] = set()
    placed = {each.id: each for each in await on_worker(session, worker_id)}
    for status in report.instances:
        instance = placed.get(status.id)
        if instance is not None:
            topics |= await _take_one(session, instance, worker_id, status, clock)
    topics |= await _bury(session, worker, report, list(placed.values()), clock)
    for facts in report.facts:
        topics |= {"inspections"} if await inspections.answer(session, worker_id, facts, clock) else set()
    topics |= await model_files.take(session, worker_id, report.files, clock)
    if report.revision > worker.applied_revision:
        worker.applied_revision = report.revision
        session.add(worker)
    return frozenset(topics)


async def _take_one(
    session: AsyncSession, instance: ModelInstance, worker_id: int, status: InstanceStatus, clock: Clock
) -> set[str]:
    """Of one that several workers carry, what follows from all of them; a share that fails calls the next round."""
    if not instance.members:
        return await _apply_one(session, instance, status, clock)
    if State(instance.state) in ENDING or instance.gave_up or status.state not in _REPORTABLE:
        return set()
    met = list(members.meeting_ports(instance))
    has_changed = members.take(instance, worker_id, status)
    topics = await _apply_one(session, instance, _of_all(instance, worker_id, status, clock), clock)
    if has_changed and not topics:
        await moves.put_instance(session, instance, clock)
        topics = {"progress", "changes"}
    return topics | await _next_round(session, instance, met)


async def _next_round(session: AsyncSession, instance: ModelInstance, met: list[int]) -> set[str]:
    """Also where the leader has said where the others are to meet it."""
    is_over = members.is_over(instance) and not instance.gave_up
    if is_over:
        instance.round += 1
        session.add(instance)
    if not is_over and met == list(members.meeting_ports(instance)):
        return set()
    await moves.change_assignment(session, *workers_of(instance))
    return {"assignments"}


def _of_all(instance: ModelInstance, worker_id: int, status: InstanceStatus, clock: Clock) -> InstanceStatus:
    """As if the leader had said of itself what holds for all."""
    found = members.joint(instance)
    base = status if worker_id == instance.worker_id else _of_row(instance, clock)
    said = None if found.said is None else Said.model_validate(found.said)
    return base.model_copy(update={"state": found.state, "said": said, "gave_up": status.gave_up})


def _of_row(instance: ModelInstance, clock: Clock) -> InstanceStatus:
    wait = None if instance.next_try_at is None else (instance.next_try_at - clock.wall()).total_seconds()
    return InstanceStatus(
        id=instance.id or 0,
        state=State(instance.state),
        pid=instance.pid,
        port=instance.port,
        attempt=instance.attempt,
        next_try_seconds=wait,
        progress=None if instance.progress is None else Progress.model_validate(instance.progress),
        context_length=instance.context_length,
        simulated=instance.simulated,
        launch=instance.launch,
        measured=None if instance.measured is None else Measured.model_validate(instance.measured),
    )


async def _apply_one(session: AsyncSession, instance: ModelInstance, status: InstanceStatus, clock: Clock) -> set[str]:
    """Status columns and state; an ending instance ends, whatever its worker says of it."""
    status = _unless_stuck(instance, status)
    if State(instance.state) in ENDING or instance.gave_up or status.state not in _REPORTABLE:
        return set()
    steps = lifecycle.path(State(instance.state), status.state)
    if steps is None:
        log.warning("status_ignored", extra={"instance_id": instance.id, "state": instance.state})
        return set()
    has_changed = _copy(instance, status, clock.wall())
    has_changed |= await _learn(session, instance, status, is_news=bool(steps), clock=clock)
    for step in steps:
        await _step(session, instance, step, status, clock)
    if steps:
        return {"instances", "changes"} | (await _give_up(session, instance) if instance.gave_up else set())
    if has_changed:
        await moves.put_instance(session, instance, clock)
        return {"progress", "changes"} | (await _give_up(session, instance) if instance.gave_up else set())
    return set()


async def _learn(
    session: AsyncSession, instance: ModelInstance, status: InstanceStatus, *, is_news: bool, clock: Clock
) -> bool:
    """What its engine took, and under which claim it ran out of memory; True where the row shows something new."""
    if is_news and status.state is State.FAILED and status.said and status.said.code in learning.OUT_OF_MEMORY:
        await learning.remember_failure(session, instance, clock)
    if status.measured is None or status.measured.model_dump() == instance.measured:
        return False
    instance.measured = status.measured.model_dump()
    await learning.remember(session, instance, status.measured, clock)
    return True


def _unless_stuck(instance: ModelInstance, status: InstanceStatus) -> InstanceStatus:
    """An attempt that was found stuck passes every health check, and does not become READY by it."""
    if not instance.stuck_attempt or status.state not in _SERVING or status.attempt > instance.stuck_attempt:
        return status
    said = instance.said if instance.state == State.UNHEALTHY else None
    return status.model_copy(update={"state": State.UNHEALTHY, "said": Said.model_validate(said) if said else None})


def _copy(instance: ModelInstance, status: InstanceStatus, now: datetime) -> bool:
    """Take over what the worker says; True when any of it is new."""
    new = {name: getattr(status, name) for name in _COPIED}
    new["said"] = status.said.model_dump() if status.said else None
    new["progress"] = status.progress.model_dump() if status.progress else None
    new["next_try_at"] = _next_try_at(instance.next_try_at, status, now)
    changed = {name: value for name, value in new.items() if getattr(instance, name) != value}
    for name, value in changed.items():
        setattr(instance, name, value)
    return bool(changed)


def _next_try_at(known: datetime | None, status: InstanceStatus, now: datetime) -> datetime | None:
    """The worker counts down; a time that moved by less than two seconds is the same time."""
    if status.next_try_seconds is None:
        return None
    reported = now + timedelta(seconds=status.next_try_seconds)
    return known if known is not None and abs(reported - known) < _SAME_TRY else reported


async def _step(
    session: AsyncSession, instance: ModelInstance, step: State, status: InstanceStatus, clock: Clock
) -> None:
    """States that the worker went through between two reports are written too: the diary has no forbidden move."""
    is_last = step == status.state
    if step == State.READY:
        instance.ready_at = clock.wall()
    numbers = {"attempt": status.attempt, "port": status.port, "pid": status.pid, "worker_seconds": status.seconds}
    await moves.move(
        session,
        instance,
        step,
        clock,
        said=instance.said if is_last else None,
        numbers={key: value for key, value in numbers.items() if value is not None} if is_last else {"passed": True},
    )


async def _give_up(session: AsyncSession, instance: ModelInstance) -> set[str]:
    """It leaves the Assignment; its claim is freed when the worker confirms that nothing of it lives."""
    await moves.change_assignment(session, *workers_of(instance))
    return {"assignments"}


async def _bury(
    session: AsyncSession, worker: Worker, report: StatusReport, placed: list[ModelInstance], clock: Clock
) -> set[str]:
    """What the worker no longer is to run and no longer reports lives no more, once it knows its present Assignment."""
    if report.revision < worker.assignment_revision:
        return set()
    reported = {status.id for status in report.instances}
    id_ = worker.id or 0
    absent = [each for each in placed if each.holds_claim and each.id not in reported and id_ in holders(each)]
    dead = [each for each in absent if not is_assigned(each)]
    fallen = [each for each in absent if is_assigned(each) and each.state in _SERVING]
    for instance in dead:
        await _bury_one(session, instance, id_, clock)
    for instance in fallen:
        await _start_over(session, instance, id_, clock)
    return {"instances", "changes"} if dead or fallen else set()


async def _start_over(session: AsyncSession, instance: ModelInstance, worker_id: int, clock: Clock) -> None:
    """It is still to run but has no process: its worker was ended and will start it again. It leaves the routes now."""
    if instance.members:
        members.put(instance, worker_id, state=None, pid=None, ports=[])
        instance.round += 1
        await moves.change_assignment(session, *workers_of(instance))
    instance.pid = instance.port = instance.progress = None
    instance.said = {"code": "engine_gone", "params": {}}
    await moves.move(session, instance, State.STARTING, clock, said=instance.said)


async def _bury_one(session: AsyncSession, instance: ModelInstance, worker_id: int, clock: Clock) -> None:
    """The claim on this worker is free; the row holds until every one that carried it has confirmed."""
    await _give_back_device_memory(session, instance, worker_id)
    members.put(instance, worker_id, gone=True, pid=None)
    if instance.members and holders(instance):
        await moves.put_instance(session, instance, clock)
        return
    instance.holds_claim = False
    instance.pid = instance.port = None
    if instance.gave_up and instance.state == State.FAILED:
        await moves.put_instance(session, instance, clock)
        return
    await moves.remove_instance(session, instance, clock)


async def _give_back_device_memory(session: AsyncSession, instance: ModelInstance, worker_id: int) -> None:
    """The last reading of its devices still contains it; until the next one, it would pass for foreign use."""
    indices = devices_on(instance, worker_id)
    if instance.ready_at is None or not indices:
        return
    freed = int((instance.claim or {}).get("bytes_per_device", 0))
    devices = select(WorkerDevice).where(WorkerDevice.worker_id == worker_id)
    for device in await session.exec(devices.where(col(WorkerDevice.index).in_(indices))):
        if device.memory_used_bytes is not None:
            device.memory_used_bytes = max(0, device.memory_used_bytes - freed)
