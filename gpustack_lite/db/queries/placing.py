"""The snapshot that placements are decided on, and the one transaction that writes a round of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import true
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db import members
from gpustack_lite.db.queries import cluster, inspections, learning, model_files, moves
from gpustack_lite.db.queries.model_files import FilesWish
from gpustack_lite.db.tables import CustomBackend, Inspection, Model, ModelFile, ModelInstance, Worker, WorkerDevice
from gpustack_lite.domain import Claim
from gpustack_lite.lifecycle import State
from gpustack_lite.planning.learning import Lesson
from gpustack_lite.ports import Clock


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Read in one transaction. `holding` are the instances whose claims count, whatever their state."""

    revision: int
    """Of counter "cluster": whoever writes placements must find it unmoved."""
    workers: Sequence[Worker]
    devices: Mapping[int, Sequence[WorkerDevice]]
    holding: Sequence[ModelInstance]
    pending: Sequence[ModelInstance]
    models: Mapping[int, Model]
    inspections: Mapping[tuple[str, int], Inspection]
    custom_backends: Mapping[str, Mapping[str, Any]]
    lessons: Mapping[str, Lesson] = field(default_factory=dict)
    """By key: what earlier loads of the sources took."""
    files: Sequence[ModelFile] = ()
    """What workers hold of hubs."""


@dataclass(frozen=True, slots=True)
class Place:
    """One decision of a round: `assigned` is the immutable AssignedInstance document without its engine key."""

    instance_id: int
    worker_id: int
    devices: tuple[int, ...]
    claim: dict[str, Any]
    memory: dict[str, Any] | None
    context_length: int | None
    assigned: dict[str, Any]
    measurement_key: str | None = None
    files: FilesWish | None = None
    """What it needs of a hub."""
    members: tuple["PlaceMember", ...] = ()
    """All its shares, the leader's first, where several workers carry it."""


@dataclass(frozen=True, slots=True)
class PlaceMember:
    """One worker's share; `assigned` are the fields of AssignedInstance that differ there."""

    worker_id: int
    worker: str
    devices: tuple[int, ...]
    assigned: dict[str, Any]
    files: FilesWish | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    """Why an instance is nowhere yet, as its row keeps it."""

    instance_id: int
    said: dict[str, Any]
    reasons: list[dict[str, Any]]
    reason_counts: dict[str, int]
    remedies: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Ask:
    """Workers whose facts about a source are wanted."""

    source: str
    worker_ids: tuple[int, ...]


async def snapshot(session: AsyncSession, sources: Iterable[str] = (), *, whole: bool = False) -> Snapshot:
    """What workers said of the sources of pending instances, and of `sources`; `whole`: of those that run, too."""
    pending = await _instances(session, col(ModelInstance.state) == State.PENDING)
    models = await _models_of(session, await _instances(session, true()) if whole else pending)
    wanted = {each for model in models.values() for each in (model.source, model.files_source)}.union(sources)
    rows = await inspections.of_sources(session, wanted)
    customs = await session.exec(select(CustomBackend))
    return Snapshot(
        revision=await cluster.counter(session, cluster.CLUSTER),
        workers=list(await session.exec(select(Worker).order_by(col(Worker.id)))),
        devices=await _devices(session),
        holding=await _instances(session, col(ModelInstance.holds_claim).is_(True)),
        pending=pending,
        models=models,
        inspections={(row.source, row.worker_id): row for row in rows},
        custom_backends={custom.name: {"name": custom.name, **custom.spec} for custom in customs},
        lessons=await learning.of_sources(session, wanted),
        files=list(await session.exec(select(ModelFile).where(col(ModelFile.wanted) != "absent"))),
    )


async def has_pending(session: AsyncSession) -> bool:
    one = select(ModelInstance.id).where(ModelInstance.state == str(State.PENDING)).limit(1)
    return (await session.exec(one)).first() is not None


async def commit(
    session: AsyncSession, seen: int, decided: Iterable[Place | Explain | Ask], clock: Clock
) -> int | None:
    """Write decisions, and say the revision that they lead to; None, and nothing is written, when a claim or an
    Assignment moved since the one that was `seen`.
    """
    decisions = list(decided)
    places = [each for each in decisions if isinstance(each, Place)]
    revision: int | None = seen
    if places:
        revision = await cluster.advance_if_unmoved(session, cluster.CLUSTER, seen)
        if revision is None:
            return None
        async with moves.telling_models_once(session, clock):
            for place in places:
                await _place(session, place, revision, clock)
    async with moves.telling_models_once(session, clock):
        for decision in decisions:
            if isinstance(decision, Explain):
                await _explain(session, decision, clock)
            elif isinstance(decision, Ask):
                await inspections.ask(session, decision.source, decision.worker_ids, clock)
    return revision


async def _place(session: AsyncSession, place: Place, revision: int, clock: Clock) -> None:
    instance = await session.get(ModelInstance, place.instance_id, populate_existing=True)
    carriers = [await session.get(Worker, id_) for id_ in _workers(place)]
    if instance is None or None in carriers or instance.state != State.PENDING or instance.holds_claim:
        return
    for worker in filter(None, carriers):
        worker.assignment_revision = revision
        session.add(worker)
    instance.worker_count = len(carriers)
    instance.members = [await _member(session, rank, each, clock) for rank, each in enumerate(place.members)]
    instance.worker_id = place.worker_id
    instance.device_indices = list(place.devices)
    files = None if place.files is None else await model_files.ensure(session, place.worker_id, place.files, clock)
    instance.claim, instance.memory = place.claim, place.memory
    instance.assigned = place.assigned if files is None else {**place.assigned, "files_id": files.id}
    instance.context_length = place.context_length
    instance.measurement_key, instance.measured = place.measurement_key, None
    instance.holds_claim = True
    instance.said, instance.reasons, instance.reason_counts, instance.remedies = None, [], {}, []
    await moves.move(session, instance, State.SCHEDULED, clock, numbers=_numbers(place))


def _workers(place: Place) -> tuple[int, ...]:
    return tuple([each.worker_id for each in place.members]) or (place.worker_id,)


async def _member(session: AsyncSession, rank: int, share: PlaceMember, clock: Clock) -> members.Member:
    files = None if share.files is None else await model_files.ensure(session, share.worker_id, share.files, clock)
    assigned = share.assigned if files is None else {**share.assigned, "files_id": files.id}
    return members.begun(rank, share.worker_id, share.worker, share.devices, **assigned)


def _numbers(place: Place) -> dict[str, Any]:
    names = ("device_count", "bytes_per_device", "ram_bytes")
    return {name: place.claim[name] for name in names} | {"devices": ",".join(map(str, place.devices))}


async def _explain(session: AsyncSession, why: Explain, clock: Clock) -> None:
    """Only what differs is written, so that a waiting instance does not fill the change log."""
    instance = await session.get(ModelInstance, why.instance_id)
    if instance is None or instance.state != State.PENDING:
        return
    if is_written(instance, why):
        return
    instance.said, instance.reasons = why.said, why.reasons
    instance.reason_counts, instance.remedies = why.reason_counts, why.remedies
    await moves.put_instance(session, instance, clock)
    await moves.put_model(session, instance.model_id, clock)


def is_written(instance: ModelInstance, why: Explain) -> bool:
    row = (instance.said, instance.reasons, instance.reason_counts, instance.remedies)
    return row == (why.said, why.reasons, why.reason_counts, why.remedies)


async def _instances(session: AsyncSession, condition: Any) -> list[ModelInstance]:
    return list(await session.exec(select(ModelInstance).where(condition).order_by(col(ModelInstance.id))))


async def _models_of(session: AsyncSession, instances: Iterable[ModelInstance]) -> dict[int, Model]:
    ids = {each.model_id for each in instances}
    return {each.id or 0: each for each in await session.exec(select(Model).where(col(Model.id).in_(ids)))}


async def _devices(session: AsyncSession) -> dict[int, list[WorkerDevice]]:
    by_worker: dict[int, list[WorkerDevice]] = defaultdict(list)
    ordered = select(WorkerDevice).order_by(col(WorkerDevice.worker_id), col(WorkerDevice.index))
    for device in await session.exec(ordered):
        by_worker[device.worker_id].append(device)
    return by_worker


def claim_of(document: Mapping[str, Any] | None) -> Claim:
    """A ClaimDoc as the row keeps it."""
    found = document or {}
    return Claim(
        device_count=found.get("device_count", 0),
        bytes_per_device=found.get("bytes_per_device", 0),
        ram_bytes=found.get("ram_bytes", 0),
        device_kinds=frozenset(found.get("device_kinds", ("cpu",))),
        worker_count=found.get("worker_count", 1),
        chips=frozenset(found.get("chips", ())),
        disk_bytes=found.get("disk_bytes", 0),
        may_share=found.get("may_share", False),
    )
