"""The spec of a model: from what somebody sent, through a patch, to what may be stored."""

from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from backends import registry
from backends.base import Backend
from gpustack_lite.api import rules
from gpustack_lite.api.context import Context
from gpustack_lite.api.merge_patch import merged
from gpustack_lite.api.replica_range import spelled_out
from gpustack_lite.api.schemas.bodies import ModelCreate, PlacementSpec
from gpustack_lite.db.documents import MASK
from gpustack_lite.db.queries import backends
from gpustack_lite.db.tables import Model
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.hub import sources

LAUNCH_FIELDS = (
    *("source", "source_revision", "include", "backend", "backend_version", "options", "env", "placement"),
    *("trust_remote_code", "allow_pickle"),
)
"""A change of one of these makes new instances; any other is taken up by those that run."""
SPEC_FIELDS = ("name", "replicas", "autoscale", "restart_limit", "serving", *LAUNCH_FIELDS)
_PATCHABLE = frozenset(ModelCreate.model_fields)


def spec_of(model: Model) -> dict[str, Any]:
    """A row of an earlier release may lack wishes that there are by now: they are at their defaults."""
    placement = {**PlacementSpec().model_dump(), **model.placement}
    return {name: getattr(model, name) for name in SPEC_FIELDS} | {
        "access": model.access,
        "placement": placement,
        "include": model.include or [],
    }


def makes_new_instances(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """A priority says who is placed first, nothing of those that are."""
    first, then = (_launch(spec) for spec in (before, after))
    return first != then


def _launch(spec: Mapping[str, Any]) -> dict[str, Any]:
    placement = {name: value for name, value in spec["placement"].items() if name != "priority"}
    return {name: spec[name] for name in LAUNCH_FIELDS} | {"placement": placement}


def patched(before: Mapping[str, Any], patch: Mapping[str, Any]) -> ModelCreate:
    """The spec after the patch. A masked value that comes back is the value it stands for."""
    unknown = sorted(set(patch) - _PATCHABLE)
    if unknown:
        raise Refusal("field_unknown", param=unknown[0], name=unknown[0])
    after = merged(before, spelled_out(patch))
    if isinstance(after.get("env"), dict):
        after["env"] = {
            key: before["env"].get(key, value) if value == MASK else value for key, value in after["env"].items()
        }
    try:
        return ModelCreate.model_validate(after)
    except ValidationError as error:
        located = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(located) from error


def must_be_shown(env: Mapping[str, str]) -> None:
    """A masked value stands for one that is stored: of a new model nothing is.

    Raises:
        Refusal: `env_value_hidden`.
    """
    if hidden := next((name for name, value in env.items() if value == MASK), None):
        raise Refusal("env_value_hidden", param="env", name=hidden)


def columns(body: ModelCreate, default_restart_limit: int) -> dict[str, Any]:
    """How it is served is kept as far as it differs from the defaults: those may change, a wish does not."""
    spec = body.model_dump(exclude={"name", "serving", "access"})
    spec["serving"] = body.serving.model_dump(exclude_defaults=True)
    if spec["restart_limit"] is None:
        spec["restart_limit"] = default_restart_limit
    if body.autoscale is not None:
        spec["replicas"] = max(body.autoscale.min, min(body.autoscale.max, body.replicas))
    return spec


async def check(context: Context, body: ModelCreate, *, launches: bool = True) -> None:
    """What is only evaluated may lie on a hub, whatever this version can launch."""
    rules.check_env(body.env)
    for name, value in body.model_dump().items():
        rules.check_plain(value, name)
    rules.check_devices(body.placement.devices)
    if body.autoscale is not None:
        rules.check_autoscale(body.autoscale.min, body.autoscale.max)
    if body.serving.limits is not None:
        rules.check_timezone(body.serving.limits.timezone, "serving.limits.timezone")
    backend = await backend_named(context, body.backend)
    if launches:
        sources.parse(body.source, needs_files=backend is None or backend.needs_files)
    source = rules.check_source(body.source, body.source_revision, body.include)
    if backend is None and source.kind == "none":
        raise Refusal("backend_needed", param="backend", source=body.source)
    if backend is not None:
        backend.check(body.options, body.env)


async def backend_named(context: Context, name: str | None) -> Backend | None:
    """Raises:
    Refusal: `unknown_backend`, naming those there are.
    """
    if name is None:
        return None
    async with context.db.read() as session:
        described = await backends.custom(session, name)
        names = [*registry.names(), *(each.name for each in await backends.all_custom(session))]
    if described is not None:
        return registry.with_custom({"name": described.name, **described.spec})
    try:
        return registry.find(name)
    except NotFound as error:
        raise Refusal("unknown_backend", param="backend", name=name, names=", ".join(names)) from error
