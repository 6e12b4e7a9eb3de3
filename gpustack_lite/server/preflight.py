"""Whether the host of a worker can run the build of an engine that it would take; pure."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from backends.compatibility import Host, Verdict, verdict
from gpustack_lite.db.tables import Worker, WorkerDevice
from gpustack_lite.domain import DeviceKind, Reason, Remedy
from gpustack_lite.server.versions import pick_version


class Unfit(NamedTuple):
    """`remedy` names the right combination, where one is documented."""

    reason: Reason
    remedy: Remedy | None


class Seen(NamedTuple):
    """A worker's host and its different accelerators, as (kind, chip, compute capability)."""

    host: Host
    chips: tuple[tuple[str, str, str | None], ...]


Hosts = dict[int, Seen]
"""By worker: read once in a round, however many models ask."""


def unfit(worker: Worker, seen: Seen, backend: str, wanted: str | None, kinds: frozenset[DeviceKind]) -> Unfit | None:
    """None unless the build is documented not to run on any accelerator of the worker.

    A worker that has the engine for its CPU too may still run it there.
    """
    ours = [each for each in seen.chips if each[0] in kinds]
    if not ours:
        return None
    version = pick_version(worker, backend, wanted, kinds - {"cpu"})
    row = _row(worker, backend, version)
    if "cpu" in row.get("device_kinds", ()):
        return None
    in_image = row.get("source") == "image"
    found = [
        verdict(seen.host, chip, backend, version, brings_cann=in_image, compute=compute) for _, chip, compute in ours
    ]
    return _told(worker.name, found[0]) if all(each.status == "wrong" for each in found) else None


def seen_of(worker: Worker, devices: Sequence[WorkerDevice], known: Hosts) -> Seen:
    id_ = worker.id or 0
    if id_ not in known:
        chips = {(each.kind, each.chip, each.compute_capability) for each in devices if each.kind != "cpu"}
        known[id_] = Seen(Host.of(worker.host, worker.name), tuple(sorted(chips, key=str)))
    return known[id_]


def _told(worker: str, found: Verdict) -> Unfit:
    params = {**found.said.params, "worker": worker}
    remedy = None if found.remedy is None else Remedy(found.remedy.code, {**found.remedy.params, "worker": worker})
    return Unfit(Reason(worker, "preflight", found.said.code, params), remedy)


def _row(worker: Worker, backend: str, version: str | None) -> dict[str, Any]:
    rows = [each for each in worker.backend_versions if each["backend"] == backend and each["version"] == version]
    return rows[0] if rows else {}
