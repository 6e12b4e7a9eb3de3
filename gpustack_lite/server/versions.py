"""Which build of a backend a worker would run; pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpustack_lite.db.tables import Worker, WorkerDevice
from gpustack_lite.domain import Claim, DeviceKind, Reason


def pick_version(worker: Worker, backend: str, wanted: str | None, kinds: frozenset[str]) -> str | None:
    """The wanted one, else the best that serves one of these device kinds: the default that somebody chose, then
    installed before installable."""
    if wanted is not None:
        return wanted
    offered = _offered(worker, backend)
    serving = [each for each in offered if kinds.intersection(each["device_kinds"])] or offered
    chosen = [each for each in serving if each.get("is_default")]
    installed = [each for each in serving if each["installed"]]
    best = next(iter(chosen or installed or serving), None)
    return None if best is None else str(best["version"])


def builds_of(workers: Sequence[Worker], backend: str, wanted: str | None, kinds: frozenset[str]) -> tuple[str, ...]:
    """Every version that some worker would pick; a worker that offers none is not asked."""
    offering = [each for each in workers if _offered(each, backend)]
    return tuple(sorted({str(pick_version(each, backend, wanted, kinds)) for each in offering}))


def build_kinds(
    workers: Sequence[Worker], devices: Mapping[int, Sequence[WorkerDevice]], backend: str
) -> frozenset[DeviceKind]:
    """Kinds of device that have a build wherever they are: else what was placed for a device would run on the CPU."""
    offering = {each.id or 0: _served(each, backend) for each in workers if _offered(each, backend)}
    there = {(worker_id, each.kind) for worker_id in offering for each in devices.get(worker_id, ())}
    kinds = frozenset[DeviceKind]().union(*offering.values())
    return frozenset(kind for kind in kinds if all(kind in offering[id_] for id_, of_it in there if of_it == kind))


def _served(worker: Worker, backend: str) -> frozenset[DeviceKind]:
    return frozenset(kind for each in _offered(worker, backend) for kind in each["device_kinds"])


def lacks_version(worker: Worker, backend: str, wanted: str | None) -> Reason | None:
    """Why this worker cannot run the version that the user named."""
    offered = _offered(worker, backend)
    if wanted is None or not offered or any(each["version"] == wanted for each in offered):
        return None
    params = {"worker": worker.name, "backend": backend, "version": wanted}
    return Reason(worker.name, "model", "backend_version_missing", params)


def kinds_of(claim: Claim) -> frozenset[str]:
    return frozenset({"cpu"}) if claim.device_count == 0 else frozenset(claim.device_kinds)


def _offered(worker: Worker, backend: str) -> Sequence[dict[str, Any]]:
    return [each for each in worker.backend_versions if each["backend"] == backend]
