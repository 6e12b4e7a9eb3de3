"""Which tables people change, and what of their rows the audit log keeps.

A column that is neither shown nor hidden is the platform's own affair: when something was seen, how far it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlmodel import SQLModel

from gpustack_lite.db import tables


@dataclass(frozen=True, slots=True)
class Audited:
    """`name` is the column that people call it by. Of a hidden column the log says that it changed."""

    kind: str
    name: str
    shown: tuple[str, ...]
    hidden: tuple[str, ...] = ()


AUDITED: Mapping[type[SQLModel], Audited] = {
    tables.User: Audited(
        "user",
        "username",
        ("username", "role", "active", "must_change_password", "limits", "source"),
        ("password_hash",),
    ),
    tables.Group: Audited("group", "name", ("name", "description", "limits")),
    tables.GroupMember: Audited("group_member", "user_id", ("group_id", "user_id", "source")),
    tables.ApiKey: Audited(
        "key",
        "name",
        (
            *("name", "user_id", "prefix", "scopes", "models", "expires_at"),
            *("enabled", "limits", "weight", "previous_until"),
        ),
        ("digest",),
    ),
    tables.LoginSession: Audited("session", "user_id", ("user_id", "address", "user_agent")),
    tables.Model: Audited(
        "model",
        "name",
        (
            *("name", "source", "source_revision", "include", "backend", "backend_version", "replicas", "options"),
            *("env", "placement", "trust_remote_code", "allow_pickle"),
            *("restart_limit", "stopped", "asleep", "serving", "access", "autoscale", "generation"),
        ),
    ),
    tables.ModelRouteRow: Audited("model_route", "name", ("name", "targets", "fallback", "access")),
    tables.Worker: Audited("worker", "name", ("name", "labels", "hostname", "data_address", "drained")),
    tables.WorkerDevice: Audited("device", "index", ("cordoned", "cordoned_by", "cordon_note", "standing")),
    tables.Rebalance: Audited("rebalance", "model_name", ("model_name", "moves", "state")),
    tables.ModelFile: Audited(
        "model_file", "source", ("worker_id", "source", "revision", "include", "format", "wanted")
    ),
    tables.EngineVersion: Audited(
        "engine_version", "backend", ("backend", "version", "device_kind", "workers", "recipe", "is_default")
    ),
    tables.CustomBackend: Audited("backend", "name", ("name", "spec")),
    tables.JoinToken: Audited("join_token", "id", ("expires_at",)),
    tables.SealedSecret: Audited("secret", "name", ("name", "ending"), ("sealed",)),
    tables.StoredFile: Audited("file", "filename", ("id", "filename", "purpose", "size_bytes", "expires_at")),
    tables.Batch: Audited("batch", "id", ("endpoint", "input_file_id", "status", "expires_at")),
}
OWN_AFFAIR = frozenset(
    {
        *(tables.Counter, tables.Leadership, tables.Secret, tables.ModelRevision, tables.ModelInstance),
        *(tables.Inspection, tables.Measurement, tables.Event, tables.AuditRow, tables.AuditHead, tables.Change),
        *(tables.GatewayRow, tables.UsageRecord, tables.UsageDay, tables.Spending),
    }
)
"""What the platform writes by itself, or beside a change that is in the log already."""
