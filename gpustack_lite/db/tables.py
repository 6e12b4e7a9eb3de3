"""The tables. Spec columns are written by the server alone, status columns only by what a worker reported.

Ids are never used again (AUTOINCREMENT), so that a late message about a deleted row cannot hit its successor.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Index, TypeDecorator, UniqueConstraint
from sqlmodel import Field, SQLModel

from gpustack_lite.audit import GENESIS
from gpustack_lite.hub import sources

_AUTOINCREMENT = {"sqlite_autoincrement": True}


class UtcTime(TypeDecorator[datetime]):
    """Times are stored and returned in UTC, with a zone, on SQLite as on PostgreSQL."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)


class Counter(SQLModel, table=True):
    """Named counters, moved only in the transaction whose result they number: "changes", "cluster", "models", ..."""

    __tablename__ = "counters"
    name: str = Field(primary_key=True)
    value: int = Field(default=0, sa_type=BigInteger)


class Leadership(SQLModel, table=True):
    """One row (id 1): who may reconcile, and since which epoch. A write under an older epoch must find no row."""

    __tablename__ = "leadership"
    id: int = Field(default=1, primary_key=True)
    holder: str = ""
    epoch: int = 0
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Secret(SQLModel, table=True):
    """Secrets of the cluster that must be readable again, such as the one engine keys are derived from."""

    __tablename__ = "secrets"
    name: str = Field(primary_key=True)
    value: str


class SealedSecret(SQLModel, table=True):
    """What people gave us to keep, such as a hub's token: readable only with a key that is not in this database."""

    __tablename__ = "sealed_secrets"
    name: str = Field(primary_key=True)
    sealed: str
    """As `sealing.Keyring` writes it."""
    ending: str | None = None
    """The last four characters, of what is long enough that they tell nothing."""
    set_by: str
    set_at: datetime = Field(sa_type=UtcTime)


class User(SQLModel, table=True):
    __tablename__ = "users"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    username: str = Field(unique=True, index=True)
    role: str = "admin"
    password_hash: str
    must_change_password: bool = False
    active: bool = True
    limits: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.Limits of all the user's keys and sessions together."""
    source: str = "local"
    """local, or oidc: then the provider signs in and `subject` is its name for the user."""
    subject: str | None = None
    last_login_at: datetime | None = Field(default=None, sa_type=UtcTime)
    created_at: datetime = Field(sa_type=UtcTime)


class Group(SQLModel, table=True):
    __tablename__ = "groups"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True, index=True)
    description: str = ""
    limits: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.Limits of all its members together."""
    created_at: datetime = Field(sa_type=UtcTime)


class GroupMember(SQLModel, table=True):
    """`source` oidc: by the provider's claims, made anew at each sign-in."""

    __tablename__ = "group_members"
    group_id: int = Field(primary_key=True)
    user_id: int = Field(primary_key=True)
    source: str = "local"


class ApiKey(SQLModel, table=True):
    __tablename__ = "api_keys"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(index=True)
    user_id: int = Field(foreign_key="users.id", index=True)
    digest: str = Field(unique=True)
    prefix: str
    scopes: list[str] = Field(default_factory=list, sa_type=JSON)
    models: list[str] = Field(default_factory=lambda: ["*"], sa_type=JSON)
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    enabled: bool = True
    limits: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.Limits."""
    weight: int = 1
    previous_digest: str | None = Field(default=None, index=True)
    """Of the secret before the last rotation, which holds until `previous_until`."""
    previous_until: datetime | None = Field(default=None, sa_type=UtcTime)
    created_at: datetime = Field(sa_type=UtcTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcTime)


class LoginSession(SQLModel, table=True):
    __tablename__ = "sessions"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    user_id: int = Field(foreign_key="users.id", index=True)
    digest: str = Field(unique=True)
    csrf_digest: str
    address: str | None = None
    user_agent: str | None = None
    seen_at: datetime | None = Field(default=None, sa_type=UtcTime)
    created_at: datetime = Field(sa_type=UtcTime)
    expires_at: datetime = Field(sa_type=UtcTime)


class Model(SQLModel, table=True):
    """What the user wants. `launch_generation` is the generation at which its instances last had to change."""

    __tablename__ = "models"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True, index=True)
    source: str
    backend: str | None = None
    backend_version: str | None = None
    replicas: int = 1
    options: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    env: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    placement: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    restart_limit: int = 5
    stopped: bool = False
    serving: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """wire.Serving."""
    asleep: bool = False
    """Stopped for lack of requests; the next one wakes it."""
    used_at: datetime | None = Field(default=None, sa_type=UtcTime)
    access: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.Access; None: everybody may use and see it, admins manage it."""
    autoscale: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.Autoscale: `replicas` is then what it last decided."""
    source_revision: str | None = None
    """The branch, tag or commit of a hub's repository; None is the hub's default."""
    include: list[str] = Field(default_factory=list, sa_type=JSON)
    """Patterns of the files that are wanted of a repository; empty: what the backend needs."""
    trust_remote_code: bool = False
    """An administrator lets the engine run code that came with the model."""
    allow_pickle: bool = False
    """An administrator lets the engine read weights whose format can hold code."""
    generation: int = 1
    launch_generation: int = 1
    created_by: int | None = None
    created_at: datetime = Field(sa_type=UtcTime)
    updated_at: datetime = Field(sa_type=UtcTime)

    @property
    def files_source(self) -> str:
        """As workers are asked about it: with revision and patterns."""
        return sources.question(self.source, self.source_revision, self.include or ())


class ModelRevision(SQLModel, table=True):
    """The configuration of a model from one generation on."""

    __tablename__ = "model_revisions"
    model_id: int = Field(primary_key=True)
    generation: int = Field(primary_key=True)
    at: datetime = Field(sa_type=UtcTime)
    actor: str | None = None
    fields: list[str] = Field(default_factory=list, sa_type=JSON)
    """What differs from the generation before."""
    spec: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """api.specs.spec_of."""


class ModelRouteRow(SQLModel, table=True):
    """A public name over models: an alias, or a weighted choice with a fallback."""

    __tablename__ = "model_routes"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True, index=True)
    targets: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    """wire.RouteTarget."""
    fallback: list[str] = Field(default_factory=list, sa_type=JSON)
    access: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.Access; None: whoever may use all of its targets."""
    created_by: int | None = None
    created_at: datetime = Field(sa_type=UtcTime)
    updated_at: datetime = Field(sa_type=UtcTime)


class Worker(SQLModel, table=True):
    __tablename__ = "workers"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    uid: str = Field(unique=True)
    name: str = Field(unique=True, index=True)
    labels: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    credential_digest: str = Field(index=True)
    hostname: str = ""
    data_address: str = "127.0.0.1"
    version: str = ""
    cpu_count: int | None = None
    ram_total_bytes: int | None = Field(default=None, sa_type=BigInteger)
    ram_used_bytes: int | None = Field(default=None, sa_type=BigInteger)
    ram_own_bytes: int = Field(default=0, sa_type=BigInteger)
    ram_reserve_bytes: int = Field(default=0, sa_type=BigInteger)
    device_reserve_bytes: int | None = Field(default=None, sa_type=BigInteger)
    disk_free_bytes: int | None = Field(default=None, sa_type=BigInteger)
    drained: bool = False
    """Nothing new is placed here; what runs goes on."""
    simulated: bool = False
    backend_versions: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    host: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """wire.HostReport."""
    tools: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    """wire.ToolReport of each program that was asked for devices."""
    absent: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """Cordons and faults of devices that are away, by serial: whoever comes back is not clean for that."""
    state: str = "joining"
    """joining (no heartbeat yet), ready, silent."""
    assignment_revision: int = 0
    applied_revision: int = 0
    joined_at: datetime = Field(sa_type=UtcTime)
    seen_at: datetime | None = Field(default=None, sa_type=UtcTime)


class WorkerDevice(SQLModel, table=True):
    __tablename__ = "devices"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    worker_id: int = Field(foreign_key="workers.id", index=True)
    index: int
    kind: str
    chip: str
    physical_id: int | None = None
    serial: str | None = None
    memory_total_bytes: int | None = Field(default=None, sa_type=BigInteger)
    memory_used_bytes: int | None = Field(default=None, sa_type=BigInteger)
    health: str = "unknown"
    schedulable: bool = True
    utilization: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    simulated: bool = False
    group: str | None = None
    numa: int | None = None
    unified_memory: bool = False
    compute_capability: str | None = None
    error_codes: list[str] = Field(default_factory=list, sa_type=JSON)
    """As the device's tool spells them."""
    processes: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    """wire.DeviceProcessReport."""
    fault: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.FaultReport: what the device or its driver says is wrong with it."""
    cordoned: bool = False
    """By an administrator: nothing new is placed here. `fault` and health are the device's own."""
    cordoned_by: str | None = None
    cordon_note: str | None = None
    standing: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """server.standing.Standing: what the server remembers of its faults; set by the server alone."""

    @property
    def is_isolated(self) -> bool:
        return self.standing is not None and self.standing.get("since") is not None

    @property
    def takes_instances(self) -> bool:
        """As far as the worker, people and faults are concerned."""
        return self.schedulable and not self.cordoned and not self.is_isolated


class ModelInstance(SQLModel, table=True):
    """One replica. Its claim counts on its worker's devices as long as `holds_claim`."""

    __tablename__ = "instances"
    __table_args__ = (Index("instances_by_worker", "worker_id", "state"), _AUTOINCREMENT)
    id: int | None = Field(default=None, primary_key=True)

    # spec: the server
    model_id: int = Field(index=True)
    model_name: str
    generation: int
    worker_id: int | None = None
    device_indices: list[int] = Field(default_factory=list, sa_type=JSON)
    claim: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """ClaimDoc of the placement; None while pending."""
    memory: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    assigned: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """The AssignedInstance document without its engine key: immutable once placed."""
    holds_claim: bool = False
    worker_count: int = 1
    members: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    """The shares of an instance that several workers carry, by rank (db.members); empty where one does."""
    round: int = 1
    """Of such an instance: the attempt that all its shares make together."""
    replaces: int | None = None
    """The instance that ends when this one is READY: it was moved here."""
    released: bool = False
    """True once a STOPPING instance was drained: it has left the Assignment and its processes are to end."""
    reasons: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    reason_counts: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    remedies: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    created_at: datetime = Field(sa_type=UtcTime)
    stopping_since: datetime | None = Field(default=None, sa_type=UtcTime)
    left_routes_at_revision: int | None = None

    # status: the worker (the state also by the server, through lifecycle.move)
    state: str = "pending"
    said: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    pid: int | None = None
    port: int | None = None
    attempt: int = 0
    gave_up: bool = False
    stuck_attempt: int = 0
    """The attempt that gateways found stuck (by the server); the worker ends it and begins the next."""
    next_try_at: datetime | None = Field(default=None, sa_type=UtcTime)
    progress: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    context_length: int | None = None
    simulated: bool = False
    launch: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    measured: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """wire.Measured: what its engine really allocated."""
    measurement_key: str | None = None
    """Of the estimate that was placed (planning.learning.key_of), by the server."""
    state_since: datetime = Field(sa_type=UtcTime)
    ready_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Rebalance(SQLModel, table=True):
    """Moves of instances that make room for a model, carried out one after the other."""

    __tablename__ = "rebalances"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    model_id: int
    """Of the model that waits for the room."""
    model_name: str
    moves: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    """instance, model, from, to (worker and devices), stops_first, begun; `replacement` is its successor once made."""
    place: list[str] = Field(default_factory=list, sa_type=JSON)
    """Where the model fits afterwards."""
    done: int = 0
    """How many of the moves are over."""
    state: str = "running"
    """running, done, failed."""
    said: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    created_by: int | None = None
    created_at: datetime = Field(sa_type=UtcTime)
    updated_at: datetime = Field(sa_type=UtcTime)


class Inspection(SQLModel, table=True):
    """One worker's answer about one source; without `answered_at` it is still asked in the worker's Assignment."""

    __tablename__ = "inspections"
    source: str = Field(primary_key=True)
    worker_id: int = Field(primary_key=True)
    asked_at: datetime = Field(sa_type=UtcTime)
    answered_at: datetime | None = Field(default=None, sa_type=UtcTime)
    facts: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    refused: dict[str, Any] | None = Field(default=None, sa_type=JSON)


class Measurement(SQLModel, table=True):
    """What a load really took; `key` says of which facts, options, engine version and chip."""

    __tablename__ = "measurements"
    key: str = Field(primary_key=True)
    source_digest: str = Field(index=True)
    """What `key` begins with: the same for everything that was loaded of one source."""
    worker: str = ""
    """The name of the worker of the last load."""
    measured: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """domain.Allocated: the most that any load of the key took."""
    besides_cache_bytes: int | None = Field(default=None, sa_type=BigInteger)
    """Of an engine that reserves a share of a device: that share less the cache it was left with."""
    too_little_bytes: int = Field(default=0, sa_type=BigInteger)
    too_little_ram_bytes: int = Field(default=0, sa_type=BigInteger)
    """The largest claims under which an engine ran out of memory."""
    measured_at: datetime = Field(sa_type=UtcTime)


class ModelFile(SQLModel, table=True):
    """The files of one repository at one revision on one worker. Wanted by the server, told of by the worker."""

    __tablename__ = "model_files"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    worker_id: int = Field(index=True)
    source: str
    revision: str | None = None
    include: list[str] = Field(default_factory=list, sa_type=JSON)
    format: str | None = None
    """gguf or hf: what the engine reads, where a repository has both."""
    wanted: str = "present"
    """present, paused or absent."""
    state: str = "waiting"
    """waiting, downloading, paused, ready, failed, deleting."""
    said: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    path: str | None = None
    commit: str | None = None
    size_bytes: int | None = Field(default=None, sa_type=BigInteger)
    done_bytes: int | None = Field(default=None, sa_type=BigInteger)
    bytes_per_second: float | None = None
    created_by: int | None = None
    created_at: datetime = Field(sa_type=UtcTime)
    updated_at: datetime = Field(sa_type=UtcTime)


class EngineVersion(SQLModel, table=True):
    """A build of an engine that an administrator wants on the workers of one device kind."""

    __tablename__ = "engine_versions"
    __table_args__ = (UniqueConstraint("backend", "version", "device_kind"), _AUTOINCREMENT)
    id: int | None = Field(default=None, primary_key=True)
    backend: str
    version: str
    device_kind: str
    workers: list[str] = Field(default_factory=list, sa_type=JSON)
    """Names; empty: all that have such devices."""
    recipe: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    is_default: bool = False
    created_by: int | None = None
    created_at: datetime = Field(sa_type=UtcTime)


class CustomBackend(SQLModel, table=True):
    __tablename__ = "custom_backends"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    spec: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    created_at: datetime = Field(sa_type=UtcTime)


class JoinToken(SQLModel, table=True):
    __tablename__ = "join_tokens"
    __table_args__ = _AUTOINCREMENT
    id: int | None = Field(default=None, primary_key=True)
    digest: str = Field(unique=True)
    created_by: int | None = None
    created_at: datetime = Field(sa_type=UtcTime)
    expires_at: datetime = Field(sa_type=UtcTime)


class Event(SQLModel, table=True):
    """The diary: moves of instances and what else a person may want to know of later."""

    __tablename__ = "events"
    __table_args__ = (Index("events_by_instance", "instance_id"), Index("events_by_model", "model_id"), _AUTOINCREMENT)
    id: int | None = Field(default=None, primary_key=True)
    at: datetime = Field(sa_type=UtcTime)
    kind: str
    """"move", or a noun and a participle: "worker_joined", "model_created", "key_created" ..."""
    model_id: int | None = None
    model_name: str | None = None
    instance_id: int | None = None
    worker_id: int | None = None
    worker_name: str | None = None
    from_state: str | None = None
    to_state: str | None = None
    code: str | None = None
    params: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)


class AuditRow(SQLModel, table=True):
    """Who changed what. `digest` is sha256 over the digest before it and this row's content: a chain (audit.py)."""

    __tablename__ = "audit"
    __table_args__ = (Index("audit_by_time", "at"),)
    id: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    """Counted by the head, from 1 without a gap."""
    at: datetime = Field(sa_type=UtcTime)
    actor_id: int | None = None
    actor: str
    carrier: str
    """session, key, cli, token (a worker that joins), or none: who has not signed in."""
    credential_id: int | None = None
    address: str | None = None
    request_id: str | None = None
    action: str
    """create, update, delete, or a verb of its own such as sign_in, rotate, drain."""
    kind: str
    object_id: str
    name: str
    before: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    after: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    digest: str


class AuditHead(SQLModel, table=True):
    """One row (id 1): how many rows of the log were ever written, and with which digest the last one ends the chain.

    The first `trimmed` of them are forgotten; `anchor` is the digest of the last of those.
    """

    __tablename__ = "audit_head"
    id: int = Field(default=1, primary_key=True)
    rows: int = Field(default=0, sa_type=BigInteger)
    digest: str = GENESIS
    trimmed: int = Field(default=0, sa_type=BigInteger)
    anchor: str = GENESIS


class Change(SQLModel, table=True):
    """What `/watch` tells. The id comes from counter "changes" in the writing transaction: no gap, no reordering."""

    __tablename__ = "changes"
    id: int = Field(primary_key=True, sa_type=BigInteger)
    at: datetime = Field(sa_type=UtcTime)
    kind: str
    """"model", "model_route", "instance", "worker", "key", "event"."""
    op: str
    """"put" or "delete"."""
    object_id: int
    document: dict[str, Any] | None = Field(default=None, sa_type=JSON)


class GatewayRow(SQLModel, table=True):
    """What a gateway last said; one that is silent for 60 s is not counted."""

    __tablename__ = "gateways"
    gateway_id: str = Field(primary_key=True)
    epoch: int = 0
    models_revision: int = 0
    credentials_revision: int = 0
    leases: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    queued: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    seen_at: datetime = Field(sa_type=UtcTime)


class UsageRecord(SQLModel, table=True):
    """One request. The primary key makes a batch that is sent twice count once."""

    __tablename__ = "usage"
    __table_args__ = (
        Index("usage_by_time", "started_at"),
        Index("usage_by_user", "user_id", "started_at"),
        Index("usage_by_shown_id", "shown_id"),
    )
    request_id: str = Field(primary_key=True)
    key_id: int | None = None
    user_id: int | None = None
    model: str = Field(index=True)
    instance_id: int | None = None
    path: str
    started_at: datetime = Field(sa_type=UtcTime)
    seconds: float
    ttft_seconds: float | None = None
    status: int
    cause: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    partial: bool = False
    public_name: str | None = None
    is_stream: bool = False
    queued_seconds: float | None = None
    audio_seconds: float | None = None
    images: int | None = None
    shown_id: str | None = None
    worker: str | None = None


class UsageDay(SQLModel, table=True):
    """What is left of requests whose rows are forgotten: sums of one UTC day. 0 stands for no key and no user."""

    __tablename__ = "usage_daily"
    day: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    key_id: int = Field(primary_key=True)
    user_id: int = Field(primary_key=True)
    requests: int = Field(default=0, sa_type=BigInteger)
    prompt_tokens: int = Field(default=0, sa_type=BigInteger)
    completion_tokens: int = Field(default=0, sa_type=BigInteger)
    cached_tokens: int = Field(default=0, sa_type=BigInteger)
    reasoning_tokens: int = Field(default=0, sa_type=BigInteger)
    images: int = Field(default=0, sa_type=BigInteger)
    audio_seconds: float = 0.0


class Spending(SQLModel, table=True):
    """Tokens by subject and period, moved in the transaction that inserts the usage: what budgets are held against."""

    __tablename__ = "spending"
    subject: str = Field(primary_key=True)
    """"key:7", "user:1", "model:tiny"."""
    period: str = Field(primary_key=True)
    """"2026-11-30" or "2026-11", in the time zone of the limit."""
    tokens: int = Field(default=0, sa_type=BigInteger)


class StoredFile(SQLModel, table=True):
    """What a client uploaded to /v1/files, or a batch wrote; its bytes are in the data dir under its id."""

    __tablename__ = "files"
    id: str = Field(primary_key=True)
    user_id: int = Field(index=True)
    key_id: int | None = None
    filename: str
    purpose: str
    size_bytes: int = Field(sa_type=BigInteger)
    created_at: datetime = Field(sa_type=UtcTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Batch(SQLModel, table=True):
    """Requests of a file, sent when nothing else wants the engines. `lines_done` is where a restart goes on."""

    __tablename__ = "batches"
    id: str = Field(primary_key=True)
    user_id: int = Field(index=True)
    key_id: int | None = None
    endpoint: str
    input_file_id: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    status: str = "validating"
    """OpenAI's: validating, failed, in_progress, finalizing, completed, expired, cancelling, cancelled."""
    lines: int = 0
    lines_done: int = 0
    completed: int = 0
    failed: int = 0
    errors: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    notes: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    """OpenAI's `metadata`, a name that SQLModel keeps for itself."""
    output_expires_seconds: float | None = None
    """How long its results are kept; None: as long as every file."""
    digest: str | None = None
    """Of the secret that its lines are sent with, while they are."""
    created_at: datetime = Field(sa_type=UtcTime)
    began_at: datetime | None = Field(default=None, sa_type=UtcTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcTime)
    expires_at: datetime = Field(sa_type=UtcTime)
