"""A model from what somebody sent to its row: checked, asked about on the workers, and then written."""

from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from backends import registry
from backends.base import Backend
from gpustack_lite.api import rules
from gpustack_lite.api.context import STOPPING_TOPIC, Context
from gpustack_lite.api.merge_patch import merged
from gpustack_lite.api.schemas.bodies import ModelCreate
from gpustack_lite.db.documents import MASK
from gpustack_lite.db.queries import backends, events, inspections, models, replicas, workers
from gpustack_lite.db.tables import Inspection, Model
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.hub import sources

PATIENCE_SECONDS = 5.0
LAUNCH_FIELDS = ("source", "backend", "backend_version", "options", "env", "placement")
"""A change of one of these makes new instances; any other is taken up by those that run."""
SPEC_FIELDS = ("name", "replicas", "restart_limit", *LAUNCH_FIELDS)
_PATCHABLE = frozenset(ModelCreate.model_fields)


async def create(context: Context, body: ModelCreate, created_by: int) -> dict[str, Any]:
    rules.check_name(body.name)
    async with context.db.read() as session:
        await _must_be_free(session, body.name)
    await _check(context, body)
    await ask_workers(context, body)
    now = context.ports.clock.wall()
    spec = _spec(body, context.settings.restart_limit)
    model = Model(name=body.name, **spec, created_by=created_by, created_at=now, updated_at=now)
    async with context.db.write() as session:
        await _must_be_free(session, body.name)
        session.add(model)
        await session.flush()
        await events.insert_event(session, context.ports.clock, "model_created", model=model)
        document = await models.record_put(session, model, context.ports.clock)
    context.signals.touch("models", "changes")
    return document


async def change(context: Context, ref: str, patch: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch. A patch that changes nothing leaves the generation as it is."""
    async with context.db.read() as session:
        before = spec_of(await models.by_ref(session, ref))
    body = patched(before, patch)
    if body.name != before["name"]:
        raise Refusal("name_is_fixed", param="name", name=str(before["name"]))
    await _check(context, body)
    if body.source != before["source"]:
        await ask_workers(context, body)
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        body = patched(spec_of(model), patch)  # once more: somebody may have been quicker
        wanted = _spec(body, context.settings.restart_limit)
        changed = [name for name, value in wanted.items() if getattr(model, name) != value]
        if not changed:
            return await models.document(session, model)
        _apply(model, wanted, changed)
        model.updated_at = context.ports.clock.wall()
        await inspections.forget_refusals(session, source=model.source)
        params = {"fields": ", ".join(changed), "generation": model.generation}
        await events.insert_event(session, context.ports.clock, "model_changed", model=model, params=params)
        document = await models.record_put(session, model, context.ports.clock)
    context.signals.touch("models", "changes")
    return document


def _apply(model: Model, wanted: Mapping[str, Any], changed: list[str]) -> None:
    for name in changed:
        setattr(model, name, wanted[name])
    model.generation += 1
    if set(changed) & set(LAUNCH_FIELDS):
        model.launch_generation = model.generation


def spec_of(model: Model) -> dict[str, Any]:
    return {name: getattr(model, name) for name in SPEC_FIELDS}


def patched(before: Mapping[str, Any], patch: Mapping[str, Any]) -> ModelCreate:
    """The spec after the patch. A masked value that comes back is the value it stands for."""
    unknown = sorted(set(patch) - _PATCHABLE)
    if unknown:
        raise Refusal("field_unknown", param=unknown[0], name=unknown[0])
    after = merged(before, patch)
    if isinstance(after.get("env"), dict):
        after["env"] = {
            key: before["env"].get(key, value) if value == MASK else value for key, value in after["env"].items()
        }
    try:
        return ModelCreate.model_validate(after)
    except ValidationError as error:
        located = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(located) from error


def _spec(body: ModelCreate, default_restart_limit: int) -> dict[str, Any]:
    spec = body.model_dump(exclude={"name"})
    if spec["restart_limit"] is None:
        spec["restart_limit"] = default_restart_limit
    return spec


async def _check(context: Context, body: ModelCreate) -> None:
    rules.check_plain(body.options, "options")
    rules.check_plain(body.placement.worker_labels, "placement.worker_labels")
    rules.check_env(body.env)
    rules.check_devices(body.placement.devices)
    source = sources.parse(body.source)
    backend = await backend_named(context, body.backend)
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


async def _must_be_free(session: Any, name: str) -> None:
    if await models.by_name(session, name) is not None:
        raise Refusal("model_name_taken", status=409, param="name", name=name)


async def ask_workers(context: Context, body: ModelCreate) -> None:
    """Wait a moment for what the living workers know of the files; without an answer the model is made all the same.

    Raises:
        Refusal: the first worker's, when every living worker refuses.
    """
    backend = await backend_named(context, body.backend)
    if backend is not None and not backend.needs_facts:
        return
    async with context.db.write() as session:
        asked = await workers.ready_ids(session)
        is_new = await inspections.ask(session, body.source, asked, context.ports.clock)
    if is_new:
        context.signals.touch("assignments")
    deadline = context.ports.clock.monotonic() + PATIENCE_SECONDS
    with context.signals.listen("inspections", STOPPING_TOPIC) as listener:
        while asked and not context.stopping.is_set():
            listener.clear()
            async with context.db.read() as session:
                rows = await inspections.of_sources(session, [body.source])
            if _is_answered([row for row in rows if row.worker_id in asked], len(asked)):
                return
            remaining = deadline - context.ports.clock.monotonic()
            if remaining <= 0 or not await listener.wait(remaining):
                return


def _is_answered(rows: list[Inspection], asked: int) -> bool:
    """True with the first facts in hand; False while somebody who may have them was not heard."""
    if any(row.facts is not None for row in rows):
        return True
    refused = [row.refused for row in rows if row.answered_at is not None and row.refused is not None]
    if len(refused) < asked:
        return False
    raise Refusal(str(refused[0]["code"]), param="source", **refused[0]["params"])


async def start(context: Context, ref: str) -> dict[str, Any]:
    """Also what a person does after instances gave up: they are tried again."""
    clock = context.ports.clock
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        retried = await replicas.retry(session, model, clock)
        if model.stopped or retried:
            model.stopped = False
            await events.insert_event(session, clock, "model_started", model=model, params={"retried": retried})
        document = await models.record_put(session, model, clock)
    context.signals.touch("models", "instances", "assignments", "changes")
    return document


async def stop(context: Context, ref: str) -> dict[str, Any]:
    clock = context.ports.clock
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        if not model.stopped:
            model.stopped = True
            await events.insert_event(session, clock, "model_stopped", model=model)
        document = await models.record_put(session, model, clock)
    context.signals.touch("models", "changes")
    return document


async def delete(context: Context, ref: str) -> None:
    """Its instances are ended by `replicas`, which finds them without a model."""
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        await models.remove(session, model, context.ports.clock)
    context.signals.touch("models", "changes")
