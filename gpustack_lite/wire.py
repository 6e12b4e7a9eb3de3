"""What processes say to each other. Unknown fields are ignored, so that versions may differ by one."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gpustack_lite.domain import DeviceKind, Health, Source
from gpustack_lite.lifecycle import State
from gpustack_lite.recipes import Recipe

ADDRESS_HEADER = "x-gpustack-client"
"""Set by the gateway on what it relays, overwriting what a client sent: the client's address."""
SCHEME_HEADER = "x-gpustack-scheme"
"""Set by the gateway likewise: `https` where the client, or the trusted proxy before it, speaks TLS, else `http`."""


class Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Said(Wire):
    """A Sentence on the wire."""

    code: str
    params: dict[str, str | int | float | bool | None] = Field(default_factory=dict)


class ClaimDoc(Wire):
    device_count: int = 0
    bytes_per_device: int = 0
    ram_bytes: int = 0
    device_kinds: tuple[DeviceKind, ...] = ("cpu",)
    worker_count: int = 1
    chips: tuple[str, ...] = ()
    disk_bytes: int = 0
    may_share: bool = False


# --- agents: /api/agent/v1 -------------------------------------------------------------------------------------------


class Join(Wire):
    """POST /join. `uid` is made once per data dir, so a worker that returns is known again."""

    token: str
    uid: str
    name: str
    labels: dict[str, str] = Field(default_factory=dict)
    version: str
    hostname: str
    data_address: str = "127.0.0.1"


class Joined(Wire):
    worker_id: int
    name: str
    credential: str


class DeviceProcessReport(Wire):
    pid: int
    name: str = ""
    memory_bytes: int | None = None


class DeviceReport(Wire):
    index: int
    kind: DeviceKind
    chip: str
    memory_total_bytes: int | None
    memory_used_bytes: int | None = None
    physical_id: int | None = None
    serial: str | None = None
    health: Health = "unknown"
    schedulable: bool = True
    utilization: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    simulated: bool = False
    group: str | None = None
    numa: int | None = None
    unified_memory: bool = False
    compute_capability: str | None = None
    error_codes: tuple[str, ...] = ()
    processes: tuple[DeviceProcessReport, ...] = ()
    fault: "FaultReport | None" = None


class FaultReport(Wire):
    """What a device or its driver says is wrong: the tool's own code, and what follows from it."""

    code: str
    action: Literal["ignore", "retry", "restart", "isolate"]
    """`restart`: the instances on it are drained and started anew; `isolate`: placed again elsewhere."""
    said: Said
    since: datetime | None = None


class ToolReport(Wire):
    """One program or library that was asked for devices: what was run, and what it said where that was no list."""

    command: str
    status: Literal["pass", "warn", "fail"]
    said: Said | None = None
    remedy: Said | None = None


class HostReport(Wire):
    """Versions that decide which engine builds can run; None where the machine does not say."""

    os: str | None = None
    arch: str | None = None
    libc: str | None = None
    container: str | None = None
    """docker, podman, kubernetes, lxc ... where the worker itself runs in one."""
    driver: str | None = None
    firmware: str | None = None
    cann: str | None = None
    nvidia_driver: str | None = None
    cuda: str | None = None


class BackendVersionReport(Wire):
    backend: str
    version: str
    device_kinds: tuple[DeviceKind, ...]
    source: Source
    installed: bool
    is_default: bool = False
    """An administrator chose it for the kinds of `device_kinds`."""
    state: Literal["waiting", "installing", "ready", "failed"] | None = None
    """Of a build that was asked for; None for the others."""
    said: Said | None = None
    line: str | None = None
    """The last that the installer said."""
    fraction: float | None = None


class Heartbeat(Wire):
    """POST /heartbeat every 10 s and at once after joining."""

    version: str
    cpu_count: int
    ram_total_bytes: int
    ram_used_bytes: int
    ram_own_bytes: int = 0
    """Of `ram_used_bytes`, what our own engines hold."""
    ram_reserve_bytes: int = 0
    device_reserve_bytes: int | None = None
    """None: a share of each device, see the scheduler."""
    disk_free_bytes: int | None = None
    """Where model files are kept."""
    simulated: bool = False
    devices: tuple[DeviceReport, ...] = ()
    backend_versions: tuple[BackendVersionReport, ...] = ()
    host: HostReport = HostReport()
    tools: tuple[ToolReport, ...] = ()


class AssignedMember(Wire):
    """One of the workers that carry an instance together; the first leads."""

    rank: int
    worker: str
    address: str
    devices: tuple[int, ...] = ()


class Meeting(Wire):
    """Where the leader's engine waits for the others in this round: ports that are free on the leader's worker."""

    round: int
    address: str
    ports: tuple[int, ...]


class AssignedInstance(Wire):
    id: int
    model: str
    generation: int
    source: str
    source_revision: str | None = None
    files_id: int | None = None
    """Which of `Assignment.files` it needs; None where its source is a path, or it needs none."""
    backend: str
    backend_version: str | None = None
    backend_spec: dict[str, Any] | None = None
    """The definition of a custom backend; None for the built-in ones."""
    options: dict[str, Any] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    devices: tuple[int, ...] = ()
    claim: ClaimDoc = ClaimDoc()
    context_length: int | None = None
    device_layers: int | None = None
    """How many layers lie on the device where an engine splits them between it and RAM."""
    engine_key: str
    trust_remote_code: bool = False
    allow_pickle: bool = False
    restart_limit: int = 5
    stuck_attempt: int = 0
    """Its engine is to be ended if it is of this attempt or an earlier one: gateways found that it answers nothing."""
    rank: int = 0
    members: tuple[AssignedMember, ...] = ()
    """All that carry it, this worker included; empty where one worker does."""
    round: int = 1
    """The attempt that all members make together; an earlier one is to end, and none begins before it is called."""
    meeting: Meeting | None = None
    """None until the leader has said it for this round; the leader itself needs none."""


class AssignedFiles(Wire):
    """Files of a repository that this worker is to hold, to hold but not fetch further (paused), or to delete."""

    id: int
    source: str
    revision: str | None = None
    include: tuple[str, ...] = ()
    format: Literal["gguf", "hf"] | None = None
    """What the engine reads, where a repository has both."""
    wanted: Literal["present", "paused", "absent"] = "present"


class AssignedEngine(Wire):
    """A build of an engine that this worker is to have."""

    backend: str
    version: str
    device_kind: DeviceKind
    recipe: Recipe = Recipe()
    is_default: bool = False


class Assignment(Wire):
    """GET /assignment?after=REV&epoch=E: the complete desired state of one worker, sent when newer than (epoch, after).

    `inspect` lists sources of which the server wants this worker's facts.
    """

    epoch: int
    revision: int
    instances: tuple[AssignedInstance, ...] = ()
    inspect: tuple[str, ...] = ()
    files: tuple[AssignedFiles, ...] = ()
    engines: tuple[AssignedEngine, ...] = ()


class Progress(Wire):
    """How far a phase has come; the totals are None where nobody knows."""

    phase: Literal["engine", "weights", "load"]
    bytes_done: int | None = None
    bytes_total: int | None = None
    fraction: float | None = None
    bytes_per_second: float | None = None
    eta_seconds: float | None = None
    """Left out rather than guessed."""
    line: str | None = None
    """The last that an installer said."""


class Measured(Wire):
    """What an engine really allocated, from its own log lines and from readings of the devices; None: not said."""

    weights_bytes: int | None = None
    kv_bytes: int | None = None
    kv_bytes_per_token: int | None = None
    activation_bytes: int | None = None
    graph_bytes: int | None = None
    overhead_bytes: int | None = None
    bytes_per_device: int | None = None
    """The largest of its devices."""
    ram_bytes: int | None = None
    """The most that its processes held in RAM so far, mapped weights included."""
    ready_ram_bytes: int | None = None
    """What they held when the engine had just become ready: of its compute buffers next to nothing was touched yet."""


class FilesStatus(Wire):
    """How far one of `Assignment.files` has come."""

    id: int
    state: Literal["waiting", "downloading", "paused", "ready", "failed", "deleting", "gone"]
    said: Said | None = None
    path: str | None = None
    commit: str | None = None
    size_bytes: int | None = None
    done_bytes: int | None = None
    bytes_per_second: float | None = None


class InstanceStatus(Wire):
    """What the worker knows of one instance. `at` is the worker's wall clock, for the timeline only."""

    id: int
    state: State
    said: Said | None = None
    pid: int | None = None
    port: int | None = None
    attempt: int = 0
    next_try_seconds: float | None = None
    gave_up: bool = False
    progress: Progress | None = None
    context_length: int | None = None
    simulated: bool = False
    meeting_ports: tuple[int, ...] = ()
    """Of a leader: where its engine waits for those of the others, in this attempt."""
    launch: dict[str, Any] | None = None
    """argv and env names of the LaunchSpec, secrets masked, for `instances show`."""
    seconds: float | None = None
    """How long the state before this one lasted."""
    measured: Measured | None = None


class FactsReport(Wire):
    """The worker's answer to one `inspect`; exactly one of `facts` (fields of ModelFacts) and `refused` is set."""

    source: str
    facts: dict[str, Any] | None = None
    refused: Said | None = None


class StatusReport(Wire):
    """POST /status. `instances` is everything that has or may have a process here: what is missing lives no more."""

    epoch: int
    revision: int
    instances: tuple[InstanceStatus, ...] = ()
    facts: tuple[FactsReport, ...] = ()
    files: tuple[FilesStatus, ...] = ()


class LogRequest(Wire):
    """One open reading of a log, given to the worker by GET /logs (long poll) and answered by POST /logs/{ticket}."""

    ticket: str
    instance_id: int
    attempt: int | None = None
    tail: int = 1000
    follow: bool = False


# --- gateways: /api/gateway/v1 ---------------------------------------------------------------------------------------


class Limits(Wire):
    """What one key, one user, or all callers of one model may use; None is unlimited.

    Days and months are those of the calendar in `timezone`, an IANA name.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None
    tokens_per_day: int | None = None
    tokens_per_month: int | None = None
    timezone: str = "UTC"


class Autoscale(Wire):
    """How many replicas a model may have, and when it gets one more or one fewer."""

    min: int
    max: int
    in_flight_per_replica: float | None = None
    """The load that one replica should carry; None: the slots of its engine."""
    up_seconds: float = 30.0
    """How long the load must be above it."""
    down_seconds: float = 300.0


class HubToken(Wire):
    """For a worker that asks a hub; None where there is none."""

    token: str | None = Field(default=None, repr=False)


class Serving(Wire):
    """How gateways serve a model. A change of it starts no engine anew; None means the setting of the same name."""

    limits: Limits | None = None
    queue_length: int | None = None
    """Requests that may wait for a replica."""
    queue_seconds: float | None = None
    in_flight_per_replica: int | None = None
    affinity: bool = True
    """Whether a prompt goes where the beginning of it is cached."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Worker name -> how much of the learned speed to assume, 1.0 where it is not named."""
    sleep_after_seconds: float | None = None
    """Idle time after which the replicas are stopped until a request comes; None or `pinned`: never."""
    pinned: bool = False
    reasoning: Literal["reasoning_content", "reasoning", "both"] | None = None


class Endpoint(Wire):
    """One ready replica. `address` is host:port as the gateway must dial it."""

    instance_id: int
    address: str
    engine_key: str
    context_length: int | None = None
    served_name: str
    slots: int | None = None
    """How many requests the engine works on at once, where that is known."""
    worker: str = ""
    attempt: int = 0
    """Of its engine: a verdict on an earlier one is void."""


class ModelRoute(Wire):
    id: int
    name: str
    created: int
    state: str
    said: Said | None = None
    backend: str | None = None
    context_length: int | None = None
    endpoints: tuple[Endpoint, ...] = ()
    is_coming: bool = False
    """No replica is ready, but one will be without anybody's doing, or when a request wakes the model."""
    loading: dict[str, Any] | None = None
    serving: Serving = Serving()
    paths: tuple[str, ...] = ()
    """The OpenAI and Anthropic paths that its engine serves; empty where nobody knows."""
    abilities: dict[str, Any] = Field(default_factory=dict)
    """What clients ask about before they use it: modalities, tools, reasoning, json_schema, embedding_dimensions."""
    adapters: tuple[str, ...] = ()
    """Public names of its adapters, as the engine knows them too."""


class RouteTarget(Wire):
    model: str
    weight: int = 1


class NamedRoute(Wire):
    """A public name over other models: an alias has one target. `fallback` serves when no target can."""

    name: str
    created: int
    targets: tuple[RouteTarget, ...]
    fallback: tuple[str, ...] = ()


class Access(Wire):
    """Who may use a model beside admins, by ids of users and groups. `managers` may change it too."""

    users: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    managers: tuple[str, ...] = ()
    """"user:7", "group:2"."""


class Credential(Wire):
    """One key or session by the sha256 hex digest of its secret; a batch has the rights of the key that made it."""

    digest: str
    kind: Literal["key", "session", "batch"]
    id: int
    user_id: int
    user: str
    role: str
    scopes: tuple[str, ...] = ()
    models: tuple[str, ...] = ("*",)
    denied: tuple[str, ...] = ()
    """Public names that are not for its user, whatever `models` says."""
    expires_at: datetime | None = None
    enabled: bool = True
    csrf_digest: str | None = None
    limits: Limits | None = None
    user_limits: Limits | None = None
    weight: int = 1
    """Its share of a queue, against the others' weights."""
    name: str = ""
    """The key's, for people."""


class RoutesReply(Wire):
    """GET /routes?epoch=E&models=REV&credentials=REV; a section that did not change is None. Coalesced to 100 ms."""

    epoch: int
    models_revision: int
    credentials_revision: int
    models: tuple[ModelRoute, ...] | None = None
    routes: tuple[NamedRoute, ...] = ()
    """Belongs to the section `models`."""
    credentials: tuple[Credential, ...] | None = None


class UsageRow(Wire):
    """One request, made in the gateway as `rows.Row`; without an `instance_id` it reached no engine.

    `request_id` is the primary key: a batch may be sent again and counts once.
    """

    request_id: str
    key_id: int | None = None
    user_id: int | None = None
    model: str
    instance_id: int | None = None
    path: str
    started_at: datetime
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
    """What the client asked for, where it was an alias or a weighted route."""
    is_stream: bool = False
    queued_seconds: float | None = None
    audio_seconds: float | None = None
    images: int | None = None
    shown_id: str | None = None
    """What the client saw as X-Request-ID, where it had chosen that itself."""
    worker: str | None = None


class UsageBatch(Wire):
    """POST /usage; answered with 204 only when every row is on disk."""

    gateway_id: str
    rows: tuple[UsageRow, ...]


class Stuck(Wire):
    """A gateway's verdict on an engine that accepts requests and answers none: it is to be drained and restarted."""

    instance_id: int
    attempt: int | None = None
    said: Said


class GatewayStatus(Wire):
    """POST /status every second, answered with GatewayOrders."""

    gateway_id: str
    epoch: int
    models_revision: int
    credentials_revision: int
    leases: dict[int, int] = Field(default_factory=dict)
    queued: dict[str, int] = Field(default_factory=dict)
    """Model -> requests that wait for a replica."""
    rates: dict[str, tuple[float, float, int]] = Field(default_factory=dict)
    """Limited subject ("key:7", "user:1", "model:tiny") -> requests and tokens of the last minute, and in flight."""
    stuck: tuple[Stuck, ...] = ()
    wake: tuple[str, ...] = ()
    """Models that sleep and are asked for."""
    used: tuple[str, ...] = ()
    """Models that were asked for since the last status, or have requests in flight."""


class GatewayOrders(Wire):
    """What a gateway is told in return: what the others do, and what was spent before."""

    gateways: int = 1
    """How many are counted, this one included."""
    is_prober: bool = False
    """One gateway asks idle replicas for a token now and then."""
    in_flight: dict[int, int] = Field(default_factory=dict)
    """Instance -> requests that it has from other gateways."""
    elsewhere: dict[str, tuple[float, float, int]] = Field(default_factory=dict)
    """`rates` of the other gateways, summed."""
    spent: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Subject with a budget -> period as it is named ("2026-11-30", "2026-11") -> tokens on the server's disk."""
