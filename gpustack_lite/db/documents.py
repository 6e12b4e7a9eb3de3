"""The public documents of rows, in the shapes that scripts rely on; `messages.localise` adds texts for one reader."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from gpustack_lite.db import model_state
from gpustack_lite.db.tables import (
    ApiKey,
    Event,
    Group,
    LoginSession,
    Model,
    ModelFile,
    ModelInstance,
    ModelRouteRow,
    User,
    Worker,
    WorkerDevice,
)
from gpustack_lite.wire import Access, Autoscale, Limits, Serving

Document = dict[str, Any]
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|KEY|CREDENTIAL", re.IGNORECASE)
MASK = "***"


def model_document(model: Model, instances: Sequence[ModelInstance]) -> Document:
    """`instances` are all of this model's, ending ones included."""
    return {
        "id": model.id,
        "name": model.name,
        "source": model.source,
        "source_revision": model.source_revision,
        "include": model.include or [],
        "backend": model.backend,
        "backend_version": model.backend_version,
        "chosen_backend": _chosen(instances) or model.backend,
        "replicas": model.replicas,
        "autoscale": Autoscale.model_validate(model.autoscale).model_dump(mode="json") if model.autoscale else None,
        "ready_replicas": model_state.ready_count(instances),
        "state": str(model_state.state_of(model, instances)),
        "said": model_state.why_not_ready(model, instances),
        "options": model.options,
        "env": masked(model.env),
        "placement": model.placement,
        "trust_remote_code": model.trust_remote_code,
        "allow_pickle": model.allow_pickle,
        "trusts_remote_code": model.trust_remote_code,
        "restart_limit": model.restart_limit,
        "stopped": model.stopped,
        "asleep": model.asleep,
        "serving": Serving.model_validate(model.serving).model_dump(mode="json"),
        "access": access_document(model.access),
        "generation": model.generation,
        "launch_generation": model.launch_generation,
        "created_at": iso(model.created_at),
        "updated_at": iso(model.updated_at),
    }


def _chosen(instances: Sequence[ModelInstance]) -> str | None:
    """What runs the newest placed replica; None where nothing was placed yet."""
    named = [each.assigned.get("backend") for each in instances if each.assigned]
    return named[-1] if named else None


def model_route_document(row: ModelRouteRow, missing: Collection[str]) -> Document:
    """`missing` are names of models that do not exist."""
    named = [*(each["model"] for each in row.targets), *row.fallback]
    gone = [name for name in dict.fromkeys(named) if name in missing]
    return {
        "id": row.id,
        "name": row.name,
        "targets": row.targets,
        "fallback": row.fallback,
        "access": access_document(row.access),
        "warnings": [{"code": "route_target_missing", "params": {"name": row.name, "model": name}} for name in gone],
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
    }


def model_file_document(row: ModelFile, worker_name: str | None, users: Sequence[ModelInstance]) -> Document:
    """`users` are the instances that need them."""
    return {
        "id": row.id,
        "worker": worker_name,
        "worker_id": row.worker_id,
        "source": row.source,
        "revision": row.revision,
        "include": row.include,
        "format": row.format,
        "wanted": row.wanted,
        "state": row.state,
        "said": row.said,
        "path": row.path,
        "commit": row.commit,
        "size_bytes": row.size_bytes,
        "done_bytes": row.done_bytes,
        "bytes_per_second": row.bytes_per_second,
        "eta_seconds": _eta_seconds(row),
        "instances": [{"id": each.id, "model": each.model_name, "state": each.state} for each in users],
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
    }


def _eta_seconds(row: ModelFile) -> float | None:
    """Left out rather than guessed."""
    if row.state != "downloading" or not row.bytes_per_second or row.size_bytes is None or row.done_bytes is None:
        return None
    return round((row.size_bytes - row.done_bytes) / row.bytes_per_second, 1)


def instance_document(instance: ModelInstance, worker_name: str | None) -> Document:
    assigned = instance.assigned or {}
    return {
        "id": instance.id,
        "model": instance.model_name,
        "model_id": instance.model_id,
        "generation": instance.generation,
        "state": instance.state,
        "said": instance.said,
        "worker": worker_name,
        "worker_id": instance.worker_id,
        "devices": _devices(instance, worker_name),
        "members": [_member(each) for each in instance.members],
        "backend": assigned.get("backend"),
        "backend_version": assigned.get("backend_version"),
        "source": assigned.get("source"),
        "pid": instance.pid,
        "port": instance.port,
        "attempt": instance.attempt,
        "attempts": list(range(1, instance.attempt + 1)),
        "gave_up": instance.gave_up,
        "next_try_at": iso(instance.next_try_at),
        "progress": instance.progress,
        "claim": instance.claim,
        "holds_claim": instance.holds_claim,
        "memory": instance.memory,
        "measured": instance.measured,
        "context_length": instance.context_length,
        "simulated": instance.simulated,
        "launch": instance.launch,
        "reasons": instance.reasons,
        "reason_counts": instance.reason_counts,
        "remedies": instance.remedies,
        "created_at": iso(instance.created_at),
        "state_since": iso(instance.state_since),
        "ready_at": iso(instance.ready_at),
    }


def _devices(instance: ModelInstance, worker_name: str | None) -> list[str]:
    if instance.members:
        return [f"{each['worker']}:{index}" for each in instance.members for index in each["devices"]]
    return [f"{worker_name}:{index}" for index in instance.device_indices]


def _member(member: dict[str, Any]) -> Document:
    """One share of an instance that several workers carry."""
    shown = {name: member[name] for name in ("rank", "worker", "state", "said", "pid", "attempt")}
    return shown | {"devices": [f"{member['worker']}:{index}" for index in member["devices"]]}


def worker_document(worker: Worker, device_count: int | None = None) -> Document:
    return {
        "id": worker.id,
        "name": worker.name,
        "state": worker.state,
        "labels": worker.labels,
        "hostname": worker.hostname,
        "address": worker.data_address,
        "version": worker.version,
        "cpu_count": worker.cpu_count,
        "ram_total_bytes": worker.ram_total_bytes,
        "ram_used_bytes": worker.ram_used_bytes,
        "ram_own_bytes": worker.ram_own_bytes,
        "ram_reserve_bytes": worker.ram_reserve_bytes,
        "device_reserve_bytes": worker.device_reserve_bytes,
        "disk_free_bytes": worker.disk_free_bytes,
        "drained": worker.drained,
        "simulated": worker.simulated,
        "backend_versions": worker.backend_versions,
        "device_count": device_count,
        "host": worker.host,
        "tools": worker.tools,
        "joined_at": iso(worker.joined_at),
        "seen_at": iso(worker.seen_at),
    }


def device_document(
    device: WorkerDevice, worker_name: str, *, claimed_bytes: int = 0, foreign_bytes: int | None = None
) -> Document:
    """`db.nodes.device_use` answers the last two."""
    return {
        "id": device.id,
        "worker": worker_name,
        "index": device.index,
        "physical_id": device.physical_id,
        "serial": device.serial,
        "kind": device.kind,
        "chip": device.chip,
        "memory_total_bytes": device.memory_total_bytes,
        "memory_used_bytes": device.memory_used_bytes,
        "memory_claimed_bytes": claimed_bytes,
        "foreign_bytes": foreign_bytes,
        "health": device.health,
        "schedulable": device.takes_instances,
        "utilization": device.utilization,
        "temperature_c": device.temperature_c,
        "power_w": device.power_w,
        "simulated": device.simulated,
        "group": device.group,
        "numa": device.numa,
        "unified_memory": device.unified_memory,
        "compute_capability": device.compute_capability,
        "error_codes": device.error_codes,
        "processes": device.processes,
        "fault": device.fault,
        "cordoned": device.cordoned,
        "cordoned_by": device.cordoned_by,
        "cordon_note": device.cordon_note,
        "isolated": isolation_document(device.standing),
    }


def isolation_document(standing: Mapping[str, Any] | None) -> Document | None:
    """None for a device that is used; `held`: it flapped, and only a long quiet time or a person ends it."""
    found = standing or {}
    if found.get("since") is None:
        return None
    return {name: found.get(name) for name in ("since", "code", "clear_since")} | {"held": bool(found.get("is_held"))}


def user_document(user: User) -> Document:
    return {
        "id": user.id,
        "username": user.username,
        "role": user.role,
        "active": user.active,
        "source": user.source,
        "must_change_password": user.must_change_password,
        "limits": limits_document(user.limits),
        "created_at": iso(user.created_at),
        "last_login_at": iso(user.last_login_at),
    }


def key_document(key: ApiKey, user: str | None = None) -> Document:
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "user": user,
        "user_id": key.user_id,
        "scopes": key.scopes,
        "models": key.models,
        "expires_at": iso(key.expires_at),
        "enabled": key.enabled,
        "limits": limits_document(key.limits),
        "weight": key.weight,
        "previous_until": iso(key.previous_until),
        "created_at": iso(key.created_at),
        "last_used_at": iso(key.last_used_at),
    }


def group_document(group: Group, members: Sequence[str]) -> Document:
    return {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "members": list(members),
        "created_at": iso(group.created_at),
    }


def access_document(access: Mapping[str, Any] | None) -> Document | None:
    return None if access is None else Access.model_validate(access).model_dump(mode="json")


def session_document(row: LoginSession, user: str | None, *, is_own: bool) -> Document:
    """`is_own`: the very session that asks."""
    return {
        "id": row.id,
        "user": user,
        "user_id": row.user_id,
        "current": is_own,
        "address": row.address,
        "user_agent": row.user_agent,
        "created_at": iso(row.created_at),
        "seen_at": iso(row.seen_at or row.created_at),
        "expires_at": iso(row.expires_at),
    }


def limits_document(limits: Mapping[str, Any] | None) -> Document | None:
    return Limits.model_validate(limits).model_dump() if limits else None


def event_document(event: Event) -> Document:
    """An event without a sentence of its own has that of its kind, filled from what the event is about."""
    about = {
        "model": event.model_name,
        "instance": event.instance_id,
        "worker": event.worker_name,
        "from_state": event.from_state,
        "to_state": event.to_state,
    }
    return {
        "id": event.id,
        "at": iso(event.at),
        "kind": event.kind,
        "model_id": event.model_id,
        "model": event.model_name,
        "instance_id": event.instance_id,
        "worker_id": event.worker_id,
        "worker": event.worker_name,
        "from_state": event.from_state,
        "to_state": event.to_state,
        "code": event.code or f"event_{event.kind}",
        "params": about | event.params,
    }


def masked(env: Mapping[str, str]) -> dict[str, str]:
    """Values of names that look like secrets are never shown again."""
    return {name: MASK if _SECRET_NAME.search(name) else value for name, value in env.items()}


def iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
