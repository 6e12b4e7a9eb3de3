"""Which build of a backend a worker would run; pure."""

from collections.abc import Sequence
from typing import Any

from gpustack_lite.db.tables import Worker
from gpustack_lite.domain import Claim, Reason


def pick_version(worker: Worker, backend: str, wanted: str | None, kinds: frozenset[str]) -> str | None:
    """The wanted one, else the best that serves one of these device kinds: installed before installable."""
    if wanted is not None:
        return wanted
    offered = _offered(worker, backend)
    serving = [each for each in offered if kinds.intersection(each["device_kinds"])] or offered
    installed = [each for each in serving if each["installed"]]
    best = next(iter(installed or serving), None)
    return None if best is None else str(best["version"])


def builds_of(workers: Sequence[Worker], backend: str, wanted: str | None, kinds: frozenset[str]) -> tuple[str, ...]:
    """Every version that some worker would pick; a worker that offers none is not asked."""
    offering = [each for each in workers if _offered(each, backend)]
    return tuple(sorted({str(pick_version(each, backend, wanted, kinds)) for each in offering}))


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
