"""The answers as OpenAPI shows them. They are made by `db.documents`; a test holds the two against each other."""

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Told(Shape):
    code: str
    params: dict[str, Any]
    message: str


class Listed(Shape, Generic[T]):
    items: list[T]
    next_cursor: str | None
    total: int
    revision: int


class Whole(Shape, Generic[T]):
    """A list that is short enough to come whole."""

    items: list[T]
    next_cursor: None
    total: int


class ErrorDetail(Shape):
    message: str
    type: str
    param: str | None
    code: str
    params: dict[str, Any]


class ErrorShape(Shape):
    error: ErrorDetail


class AuditShape(Shape):
    id: int
    at: str
    actor_id: int | None
    actor: str
    carrier: str
    credential_id: int | None
    address: str | None
    request_id: str | None
    action: str
    kind: str
    object_id: str
    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    digest: str


class AuditCheck(Shape):
    """`head` is ROW:DIGEST: noted elsewhere, it shows later that nothing before it was written anew."""

    ok: bool
    checked: int
    rows: int
    trimmed: int
    head: str
    fault: Told | None


class SecretShape(Told):
    """The sentence says what it is used for; nothing gives the value back."""

    name: str
    is_set: bool
    ending: str | None
    set_at: str | None
    set_by: str | None
    readable: bool


class KeyRotated(Shape):
    sealed_anew: int


class SignInMethods(Shape):
    password: bool
    oidc: bool


class SignedIn(Shape):
    token: str
    expires_at: str
    must_change_password: bool
    csrf_token: str


class LimitsShape(Shape):
    requests_per_minute: int | None
    tokens_per_minute: int | None
    concurrency: int | None
    tokens_per_day: int | None
    tokens_per_month: int | None
    timezone: str


class UserShape(Shape):
    id: int
    username: str
    role: str
    active: bool
    source: str
    must_change_password: bool
    limits: LimitsShape | None
    created_at: str
    last_login_at: str | None


class CredentialShape(Shape):
    kind: str
    id: int | None
    scopes: list[str]


class Me(UserShape):
    credential: CredentialShape
    csrf_token: str | None


class NewUser(UserShape):
    password: str | None


class PasswordReset(Shape):
    username: str
    password: str
    must_change_password: bool


class ServingShape(Shape):
    limits: LimitsShape | None
    queue_length: int | None
    queue_seconds: float | None
    in_flight_per_replica: int | None
    affinity: bool
    weights: dict[str, float]
    sleep_after_seconds: float | None
    pinned: bool
    reasoning: str | None


class AccessShape(Shape):
    users: list[int]
    groups: list[int]
    managers: list[str]


class GroupShape(Shape):
    id: int
    name: str
    description: str
    members: list[str]
    created_at: str


class AutoscaleShape(Shape):
    min: int
    max: int
    in_flight_per_replica: float | None
    up_seconds: float
    down_seconds: float


class ModelShape(Shape):
    id: int
    name: str
    source: str
    source_revision: str | None
    include: list[str]
    backend: str | None
    backend_version: str | None
    chosen_backend: str | None
    replicas: int
    autoscale: AutoscaleShape | None
    ready_replicas: int
    state: str
    said: Told | None
    state_message: str | None
    options: dict[str, Any]
    env: dict[str, str]
    placement: dict[str, Any]
    trust_remote_code: bool
    allow_pickle: bool
    trusts_remote_code: bool
    restart_limit: int
    stopped: bool
    asleep: bool
    serving: ServingShape
    access: AccessShape | None
    generation: int
    launch_generation: int
    created_at: str
    updated_at: str


class UserOfModelShape(Shape):
    """`key` is None for requests without one, and for a key that is gone."""

    key: str | None
    user: str | None
    requests: int
    last_at: str


class ImpactShape(Shape):
    """`in_flight` and `queued` are None where no gateway was heard of lately; `keys` are those of the last `hours`."""

    in_flight: int | None
    queued: int | None
    hours: int
    keys: list[UserOfModelShape]


class RevisionShape(Shape):
    generation: int
    current: bool
    at: str
    actor: str | None
    fields: list[str]


class WholeRevisionShape(RevisionShape):
    """`spec` is a body that POST /models takes; hidden values of `env` stay what they are where they are sent back."""

    model: str
    spec: dict[str, Any]


class RouteTargetShape(Shape):
    model: str
    weight: int


class ModelRouteShape(Shape):
    id: int
    name: str
    targets: list[RouteTargetShape]
    fallback: list[str]
    access: AccessShape | None
    warnings: list[Told]
    created_at: str
    updated_at: str


class ReasonShape(Told):
    worker: str | None
    check: str
    needed_bytes: int | None
    free_bytes: int | None


class RemedyShape(Told):
    change: dict[str, Any]


class SpotShape(Shape):
    worker: str
    devices: list[int]


class MoveShape(Shape):
    model_config = ConfigDict(extra="allow")  # `from` is a word of Python's

    instance: int
    model: str
    to: SpotShape
    stops_first: bool
    begun: bool
    replacement: int | None


class RebalanceShape(Shape):
    id: int | None
    model: str
    dry_run: bool
    state: str
    said: Told | None
    state_message: str | None
    moves: list[MoveShape]
    place: list[str]
    done: int
    created_at: str
    updated_at: str


class MemberShape(Shape):
    rank: int
    worker: str
    devices: list[str]
    state: str | None
    said: Told | None
    state_message: str | None
    pid: int | None
    attempt: int


class InstanceShape(Shape):
    id: int
    model: str
    model_id: int
    generation: int
    state: str
    said: Told | None
    state_message: str | None
    worker: str | None
    worker_id: int | None
    devices: list[str]
    members: list[MemberShape]
    backend: str | None
    backend_version: str | None
    source: str | None
    pid: int | None
    port: int | None
    attempt: int
    attempts: list[int]
    gave_up: bool
    next_try_at: str | None
    progress: dict[str, Any] | None
    claim: dict[str, Any] | None
    holds_claim: bool
    memory: dict[str, Any] | None
    measured: dict[str, Any] | None
    context_length: int | None
    simulated: bool
    launch: dict[str, Any] | None
    reasons: list[ReasonShape]
    reason_counts: dict[str, int]
    remedies: list[RemedyShape]
    created_at: str
    state_since: str
    ready_at: str | None


class TermShape(Told):
    size_bytes: int


class MemoryShape(Shape):
    weights_bytes: int
    kv_bytes_per_token: int
    kv_bytes: int
    activation_bytes: int
    overhead_bytes: int
    total_bytes: int
    per_device_bytes: int
    device_count: int
    ram_bytes: int
    is_measured: bool
    measured_on: str | None
    measured_at: str | None
    figures: Told
    """Whether they were computed or measured, and in which load."""
    terms: list[TermShape]


class PartShape(Shape):
    worker: str
    devices: list[int]


class PlacementShape(Shape):
    worker: str
    devices: list[str]
    parts: list[PartShape]


class EvaluationShape(Shape):
    fits: bool
    source: str
    backend: str | None
    context_length: int | None
    context_reason: Told
    offload: Told | None
    """How many layers lie on the device, of an engine that splits them between it and RAM."""
    parallel: dict[str, int]
    memory: MemoryShape | None
    placement: PlacementShape | None
    reasons: list[ReasonShape]
    reason_counts: dict[str, int]
    remedies: list[RemedyShape]
    warnings: list[Told]
    download_bytes: int | None
    disk_free_bytes: int | None
    revision: str | None
    files: list[str]


class WorkerShape(Shape):
    id: int
    name: str
    state: str
    labels: dict[str, str]
    hostname: str
    address: str
    version: str
    cpu_count: int | None
    ram_total_bytes: int | None
    ram_used_bytes: int | None
    ram_own_bytes: int
    ram_reserve_bytes: int
    device_reserve_bytes: int | None
    disk_free_bytes: int | None
    drained: bool
    simulated: bool
    backend_versions: list[dict[str, Any]]
    device_count: int | None
    host: dict[str, Any]
    tools: list[dict[str, Any]]
    joined_at: str
    seen_at: str | None


class FilesUserShape(Shape):
    id: int
    model: str
    state: str


class FilesShape(Shape):
    id: int
    worker: str | None
    worker_id: int
    source: str
    revision: str | None
    include: list[str]
    format: str | None
    wanted: str
    state: str
    said: Told | None
    state_message: str | None
    path: str | None
    commit: str | None
    size_bytes: int | None
    done_bytes: int | None
    bytes_per_second: float | None
    eta_seconds: float | None
    instances: list[FilesUserShape]
    created_at: str
    updated_at: str


class JoinTokenShape(Shape):
    token: str
    expires_at: str
    command: str


class DeviceShape(Shape):
    id: int
    worker: str
    index: int
    physical_id: int | None
    serial: str | None
    kind: str
    chip: str
    memory_total_bytes: int | None
    memory_used_bytes: int | None
    memory_claimed_bytes: int
    foreign_bytes: int | None
    health: str
    schedulable: bool
    utilization: float | None
    temperature_c: float | None
    power_w: float | None
    simulated: bool
    group: str | None
    numa: int | None
    unified_memory: bool
    compute_capability: str | None
    error_codes: list[str]
    processes: list[dict[str, Any]]
    fault: dict[str, Any] | None
    cordoned: bool
    cordoned_by: str | None
    cordon_note: str | None
    isolated: dict[str, Any] | None


class SessionShape(Shape):
    id: int
    user: str | None
    user_id: int
    current: bool
    address: str | None
    user_agent: str | None
    created_at: str
    seen_at: str
    expires_at: str


class KeyShape(Shape):
    id: int
    name: str
    prefix: str
    user: str | None
    user_id: int
    scopes: list[str]
    models: list[str]
    expires_at: str | None
    enabled: bool
    limits: LimitsShape | None
    weight: int
    previous_until: str | None
    created_at: str
    last_used_at: str | None


class NewKey(KeyShape):
    key: str


class EventShape(Shape):
    id: int
    at: str
    kind: str
    model_id: int | None
    model: str | None
    instance_id: int | None
    worker_id: int | None
    worker: str | None
    from_state: str | None
    to_state: str | None
    code: str | None
    params: dict[str, Any]
    message: str | None


class OptionShape(Shape):
    name: str
    kind: str
    help: str
    choices: list[str]


class VersionShape(Shape):
    version: str
    device_kinds: list[str]
    source: str
    is_default: bool
    workers: list[str]


class BuildOnWorkerShape(Shape):
    worker: str
    state: str
    state_message: str | None = None
    line: str | None = None
    fraction: float | None = None


class EngineVersionShape(Shape):
    id: int | None
    backend: str
    version: str
    device_kinds: list[str]
    source: str
    level: str | None
    is_default: bool
    state: str
    wanted_on: list[str]
    workers: list[BuildOnWorkerShape]
    instances: list[dict[str, Any]]
    recipe: dict[str, Any] | None
    created_at: str | None


class BackendShape(Shape):
    id: int | None
    name: str
    builtin: bool
    device_kinds: list[str]
    support: dict[str, str]
    paths: list[str]
    options: list[OptionShape]
    spec: dict[str, Any] | None
    created_at: str | None


class UsageShape(Shape):
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    images: int
    audio_seconds: float
    device_seconds: float | None
    day: str | None = None
    hour: str | None = None
    model: str | None = None
    key_id: int | None = None
    key: str | None = None
    user_id: int | None = None
    user: str | None = None


class RequestShape(Shape):
    request_id: str
    key_id: int | None
    user_id: int | None
    model: str
    instance_id: int | None
    path: str
    started_at: str
    seconds: float
    ttft_seconds: float | None
    status: int
    cause: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    partial: bool
    public_name: str | None
    is_stream: bool
    queued_seconds: float | None
    audio_seconds: float | None
    images: int | None
    shown_id: str | None
    worker: str | None
    user: str | None
    key: str | None
    why: Told | None
