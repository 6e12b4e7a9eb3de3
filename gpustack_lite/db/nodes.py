"""What the rows of a snapshot leave free: the workers as the scheduler sees them; pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from gpustack_lite.db.members import devices_on, holders
from gpustack_lite.db.queries.placing import Snapshot, claim_of
from gpustack_lite.db.tables import ModelInstance, Worker, WorkerDevice
from gpustack_lite.domain import Claim, Device, Withheld
from gpustack_lite.lifecycle import State
from scheduler import Node, occupied

SERVING = frozenset({State.READY, State.UNHEALTHY})
ALWAYS_THERE = frozenset({"echo", "custom"})
"""Backends that need nothing installed."""


class DeviceUse(NamedTuple):
    """Bytes on one device: what our placements hold, and what others use (None where there is no reading)."""

    claimed_bytes: int
    foreign_bytes: int | None


def nodes(snapshot: Snapshot, now: datetime | None = None, without: Collection[int] = ()) -> tuple[Node, ...]:
    """`without` are ids of instances whose claims are left out: what if they were gone?

    With `now`, readings have an age; a worker whose last heartbeat is old may be used by anybody.
    """
    held: dict[int, list[ModelInstance]] = defaultdict(list)
    for instance in snapshot.holding:
        for worker_id in holders(instance):
            held[worker_id].append(instance)
    sources: dict[int, set[str]] = defaultdict(set)
    for (source, worker_id), row in snapshot.inspections.items():
        if row.facts is not None and row.facts.get("path"):
            sources[worker_id].add(source)
    read = _Read(snapshot, held, sources, now, without)
    return tuple([_node(read, worker) for worker in snapshot.workers])


class _Read(NamedTuple):
    """The rows by worker id."""

    snapshot: Snapshot
    held: Mapping[int, Sequence[ModelInstance]]
    sources: Mapping[int, Collection[str]]
    now: datetime | None
    without: Collection[int]


def distinct(rows: Iterable[WorkerDevice]) -> tuple[Device, ...]:
    """One device of each kind, chip and size: examples of what there is."""
    found = {(each.kind, each.chip, each.memory_total_bytes): each for each in rows}
    return tuple(_device("", each) for _, each in sorted(found.items(), key=lambda pair: str(pair[0])))


def runnable(workers: Iterable[Worker]) -> frozenset[str]:
    """The backends that some worker can run or install."""
    return frozenset(each["backend"] for worker in workers for each in worker.backend_versions)


def _node(read: _Read, worker: Worker) -> Node:
    id_, snapshot = worker.id or 0, read.snapshot
    devices, held = snapshot.devices.get(id_, ()), read.held.get(id_, ())
    used_by_others = {device.index: foreign_bytes(device, held) for device in devices}
    node = Node(
        name=worker.name,
        alive=worker.state == "ready",
        drained=worker.drained,
        labels=worker.labels,
        devices=tuple(_device(worker.name, each) for each in devices),
        foreign={index: used for index, used in used_by_others.items() if used is not None},
        ram_total_bytes=worker.ram_total_bytes,
        ram_reserve_bytes=worker.ram_reserve_bytes,
        ram_foreign_bytes=_foreign_ram(worker, _unified_bytes(devices, held)),
        device_reserve_bytes=worker.device_reserve_bytes,
        disk_free_bytes=worker.disk_free_bytes,
        bringing=_bringing(held),
        reading_age_seconds=_age_seconds(worker, read.now),
        backends=_names(worker.backend_versions) | ALWAYS_THERE | set(snapshot.custom_backends),
        engines=_names([each for each in worker.backend_versions if each["installed"]]),
        sources=frozenset(read.sources.get(id_, ())),
    )
    for instance in held:
        if instance.id not in read.without:
            node = occupied(node, [(devices_on(instance, id_), claim_of(instance.claim))], model=instance.model_name)
    return node


def _names(versions: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset({each["backend"] for each in versions})


def _age_seconds(worker: Worker, now: datetime | None) -> float | None:
    """Both are times of servers; one that is ahead of the other makes nothing old."""
    return None if now is None or worker.seen_at is None else max(0.0, (now - worker.seen_at).total_seconds())


def foreign_bytes(device: WorkerDevice, held: Iterable[ModelInstance]) -> int | None:
    """Used less what our instances hold there; one that still loads has not filled its claim yet."""
    if device.memory_used_bytes is None:
        return None
    return max(0, device.memory_used_bytes - _claimed(device, [each for each in held if has_filled(each)]))


def has_filled(instance: ModelInstance) -> bool:
    """Whether its claim is in the readings: it serves, or it is drained after it has served."""
    return instance.state in SERVING or (instance.state == State.STOPPING and instance.ready_at is not None)


def device_use(device: WorkerDevice, held: Sequence[ModelInstance]) -> DeviceUse:
    """`held` are the instances that hold claims on the device's worker."""
    return DeviceUse(_claimed(device, held), foreign_bytes(device, held))


def _claimed(device: WorkerDevice, held: Iterable[ModelInstance]) -> int:
    claims: list[Claim] = [claim_of(each.claim) for each in held if device.index in devices_on(each, device.worker_id)]
    return sum(claim.bytes_per_device for claim in claims)


def _foreign_ram(worker: Worker, unified_bytes: int) -> int | None:
    """What our processes hold of the RAM may leave out what their devices take from it, so the larger counts."""
    own_bytes = max(worker.ram_own_bytes, unified_bytes)
    return None if worker.ram_used_bytes is None else max(0, worker.ram_used_bytes - own_bytes)


def _unified_bytes(devices: Iterable[WorkerDevice], held: Sequence[ModelInstance]) -> int:
    serving = [each for each in held if has_filled(each)]
    return sum([_claimed(device, serving) for device in devices if device.unified_memory])


def _bringing(held: Iterable[ModelInstance]) -> dict[str, int]:
    """Files that are yet to come, for those that do not serve yet; they may be here in part."""
    loading = [each for each in held if each.state not in SERVING and each.state != State.STOPPING]
    claims = [((each.assigned or {}).get("source"), claim_of(each.claim).disk_bytes) for each in loading]
    return {str(source): size for source, size in claims if source and size}


def _withheld(row: WorkerDevice) -> Withheld | None:
    """A person's word before the device's own."""
    if row.cordoned:
        return Withheld("cordoned", row.cordoned_by, row.cordon_note)
    if row.is_isolated:
        return Withheld("isolated", (row.standing or {}).get("code"))
    return None


def _device(worker: str, row: WorkerDevice) -> Device:
    return Device(
        worker=worker,
        index=row.index,
        kind=row.kind,  # type: ignore[arg-type]  # DeviceReport checked it
        chip=row.chip,
        memory_total_bytes=row.memory_total_bytes,
        memory_used_bytes=row.memory_used_bytes,
        physical_id=row.physical_id,
        serial=row.serial,
        health=row.health,  # type: ignore[arg-type]
        schedulable=row.takes_instances,
        withheld=_withheld(row),
        utilization=row.utilization,
        temperature_c=row.temperature_c,
        power_w=row.power_w,
        simulated=row.simulated,
        group=row.group,
        numa=row.numa,
        unified_memory=row.unified_memory,
        compute_capability=row.compute_capability,
        error_codes=tuple(row.error_codes),
    )
