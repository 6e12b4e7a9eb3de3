"""What people send. Nothing is converted: a number in quotes is a text, and an unknown field is a mistake."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from gpustack_lite.api.replica_range import spelled_out
from gpustack_lite.domain import DeviceKind
from gpustack_lite.hub import sources
from gpustack_lite.roles import Role

Scope = Literal["inference", "read", "manage"]
Name = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Pattern = Annotated[StrictStr, Field(min_length=1, max_length=500)]
Count = Annotated[StrictInt, Field(ge=1, lt=2**53)]
Seconds = Annotated[float, Field(gt=0, le=366 * 86_400, strict=True, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=0, le=1000, strict=True, allow_inf_nan=False)]


def _in_utc(given: datetime) -> datetime:
    try:
        return given.astimezone(UTC)
    except OverflowError as error:  # the last day of the year 9999 ends later in the west
        raise PydanticCustomError("datetime_parsing", "no time that a calendar holds") from error


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Login(Body):
    username: Annotated[StrictStr, Field(max_length=1024)]
    password: Annotated[StrictStr, Field(max_length=1024)]


class PasswordChange(Body):
    current: Annotated[StrictStr, Field(max_length=1024)]
    new: StrictStr


class SecretValue(Body):
    value: Annotated[StrictStr, Field(min_length=1, max_length=8192)]


class CordonSpec(Body):
    note: Annotated[StrictStr, Field(max_length=500)] | None = None


class LimitsSpec(Body):
    """wire.Limits. Whether the time zone exists is asked of `rules.check_timezone`."""

    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    concurrency: Count | None = None
    tokens_per_day: Count | None = None
    tokens_per_month: Count | None = None
    timezone: Annotated[StrictStr, Field(min_length=1, max_length=100)] = "UTC"


Weight = Annotated[StrictInt, Field(ge=1, le=1000)]


class KeyCreate(Body):
    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1)] = ["inference"]
    models: Annotated[list[Name], Field(min_length=1, max_length=1000)] = ["*"]
    expires_at: Moment | None = None
    enabled: StrictBool = True
    limits: LimitsSpec | None = None
    weight: Weight = 1


class KeyPatch(Body):
    """Only what is present is changed; of the limits too."""

    name: Name | None = None
    scopes: Annotated[list[Scope], Field(min_length=1)] | None = None
    models: Annotated[list[Name], Field(min_length=1, max_length=1000)] | None = None
    expires_at: Moment | None = None
    enabled: StrictBool | None = None
    limits: LimitsSpec | None = None
    weight: Weight | None = None


class Rotation(Body):
    """For how long the secret before stays good; at most 30 days."""

    overlap_seconds: Annotated[StrictInt, Field(ge=0, le=30 * 86_400)] = 0


class Comparison(Body):
    """`request` is a chat completion without its model; the same model may stand in `models` several times."""

    models: Annotated[list[Name], Field(min_length=1, max_length=6)]
    request: dict[str, Any]


class UserCreate(Body):
    """Without a password one is made up, and is in the answer this once."""

    username: Name
    role: Role = "user"
    password: Annotated[StrictStr, Field(max_length=1024)] | None = None
    must_change_password: StrictBool = True
    limits: LimitsSpec | None = None


class UserPatch(Body):
    """Of the limits too, only what is present is changed."""

    role: Role | None = None
    active: StrictBool | None = None
    limits: LimitsSpec | None = None


class PlacementSpec(Body):
    strategy: Literal["spread", "binpack"] = "spread"
    worker_labels: dict[StrictStr, StrictStr] = {}
    devices: list[StrictStr] = []
    workers: Annotated[list[Name], Field(max_length=1000)] = []
    chips: Annotated[list[Name], Field(max_length=100)] = []
    apart: StrictBool = False
    share_chips: StrictBool = False
    priority: Annotated[StrictInt, Field(ge=-1000, le=1000)] = 0


class ServingSpec(Body):
    """wire.Serving. What is None follows the setting of the same name."""

    limits: LimitsSpec | None = None
    queue_length: Annotated[StrictInt, Field(ge=0, le=100_000)] | None = None
    queue_seconds: Seconds | None = None
    in_flight_per_replica: Annotated[StrictInt, Field(ge=1, le=100_000)] | None = None
    affinity: StrictBool = True
    weights: Annotated[dict[Name, Factor], Field(max_length=1000)] = {}
    sleep_after_seconds: Seconds | None = None
    pinned: StrictBool = False
    reasoning: Literal["reasoning_content", "reasoning", "both"] | None = None


class AutoscaleSpec(Body):
    """wire.Autoscale. What the range must be is asked of `rules.check_autoscale`."""

    min: Annotated[StrictInt, Field(ge=0, le=1000)]
    max: Annotated[StrictInt, Field(ge=0, le=1000)]
    in_flight_per_replica: Annotated[float, Field(gt=0, le=100_000, strict=True, allow_inf_nan=False)] | None = None
    up_seconds: Annotated[float, Field(ge=1, le=3600, strict=True, allow_inf_nan=False)] = 30.0
    down_seconds: Annotated[float, Field(ge=1, le=86_400, strict=True, allow_inf_nan=False)] = 300.0


def _as_name(given: object) -> object:
    """Ids are written as numbers in documents, and may come back so."""
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


Ref = Annotated[Name, BeforeValidator(_as_name)]
Manager = Annotated[StrictStr, Field(max_length=210, pattern=r"^(user|group):.+$")]


class AccessSpec(Body):
    """wire.Access by ids or names. Nobody named: administrators only."""

    users: Annotated[list[Ref], Field(max_length=1000)] = []
    groups: Annotated[list[Ref], Field(max_length=1000)] = []
    managers: Annotated[list[Manager], Field(max_length=1000)] = []


class GroupCreate(Body):
    name: Name
    description: Annotated[StrictStr, Field(max_length=500)] = ""
    members: Annotated[list[Ref], Field(max_length=1000)] = []


class GroupPatch(Body):
    """Only what is present is changed; the list of members replaces the list."""

    description: Annotated[StrictStr, Field(max_length=500)] | None = None
    members: Annotated[list[Ref], Field(max_length=1000)] | None = None


class ModelCreate(Body):
    """The spec of a model; a PATCH is merged into it and held against it again.

    `replicas` is also taken as {"min","max"} or "auto(min,max)", which is short for `autoscale`.
    """

    _spell_out = model_validator(mode="before")(spelled_out)

    name: StrictStr
    source: Annotated[StrictStr, Field(min_length=1, max_length=4096)]
    source_revision: Annotated[StrictStr, Field(min_length=1, max_length=200)] | None = None
    include: Annotated[list[Annotated[StrictStr, Field(min_length=1, max_length=500)]], Field(max_length=32)] = []
    backend: Annotated[StrictStr, Field(max_length=200)] | None = None
    backend_version: Annotated[StrictStr, Field(max_length=200)] | None = None
    replicas: Annotated[StrictInt, Field(ge=0, le=1000)] = 1
    options: Annotated[dict[StrictStr, Any], Field(max_length=500)] = {}
    env: Annotated[dict[StrictStr, StrictStr], Field(max_length=500)] = {}
    placement: PlacementSpec = PlacementSpec()
    trust_remote_code: StrictBool = False
    allow_pickle: StrictBool = False
    restart_limit: Annotated[StrictInt, Field(ge=0, le=1000)] | None = None
    serving: ServingSpec = ServingSpec()
    access: AccessSpec | None = None
    autoscale: AutoscaleSpec | None = None

    @property
    def files_source(self) -> str:
        return sources.question(self.source, self.source_revision, self.include)


class Rollback(Body):
    generation: Annotated[StrictInt, Field(ge=1, lt=2**31)]


class Evaluate(ModelCreate):
    """The spec of a model that need not have a name yet; `variants` are sources of the same model in other files."""

    name: StrictStr = "evaluated"
    variants: Annotated[list[Annotated[StrictStr, Field(min_length=1, max_length=4096)]], Field(max_length=8)] = []


class RebalanceSpec(Body):
    """Without a model: for the first that waits and that moves would help."""

    model: Name | None = None
    dry_run: StrictBool = False
    allow_stop: StrictBool = False


class RouteTargetSpec(Body):
    model: Name
    weight: Annotated[StrictInt, Field(ge=0, le=1000)] = 1


Targets = Annotated[list[RouteTargetSpec], Field(min_length=1, max_length=100)]
Fallbacks = Annotated[list[Name], Field(max_length=100)]


class FilesCreate(Body):
    """Files of a repository on one worker; which one needs not be said where there is only one."""

    source: StrictStr
    revision: Annotated[StrictStr, Field(min_length=1, max_length=200)] | None = None
    include: Annotated[list[Pattern], Field(max_length=100)] = []
    format: Literal["gguf", "hf"] | None = None
    worker: StrictStr | None = None


class EngineVersionCreate(Body):
    """A build of an engine for one kind of device, on all workers that have it unless some are named.

    `path` (on the workers) or `image` where it is not to be installed by its recipe.
    """

    backend: Name
    version: StrictStr
    device_kind: DeviceKind
    workers: Annotated[list[Name], Field(max_length=1000)] = []
    path: Annotated[StrictStr, Field(min_length=1, max_length=4096)] | None = None
    image: Annotated[StrictStr, Field(min_length=1, max_length=255)] | None = None
    default: StrictBool = False


class ModelRouteCreate(Body):
    """A public name over models: with one target it is an alias."""

    name: StrictStr
    targets: Targets
    fallback: Fallbacks = []
    access: AccessSpec | None = None


class ModelRoutePatch(Body):
    """Only what is present is changed; a list replaces the list."""

    name: StrictStr | None = None
    targets: Targets | None = None
    fallback: Fallbacks | None = None
    access: AccessSpec | None = None
