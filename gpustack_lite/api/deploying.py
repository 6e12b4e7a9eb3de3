"""A model from what somebody sent to its row: checked, asked about on the workers, and then written."""

from collections.abc import Callable, Mapping
from typing import Any

from backends import registry
from backends.base import Want
from backends.trust import refuse_pickle
from gpustack_lite.api import routing, rules, seeing, specs
from gpustack_lite.api.asking import ask_workers
from gpustack_lite.api.context import Context
from gpustack_lite.api.schemas.bodies import ModelCreate
from gpustack_lite.db import auditing, nodes
from gpustack_lite.db.queries import devices, events, inspections, models, replicas, revisions, spending, workers
from gpustack_lite.db.tables import Model
from gpustack_lite.errors import Refusal

_MAY_CHANGE = frozenset({"cannot_estimate", "does_not_fit"})
"""Refusals that stand today and not for ever: larger devices may join. The model is made, and waits with the reason."""


async def create(context: Context, body: ModelCreate, created_by: int) -> dict[str, Any]:
    rules.check_name(body.name)
    specs.must_be_shown(body.env)
    async with context.db.read() as session:
        await routing.must_be_free(session, body.name)
    await specs.check(context, body)
    await _must_suit_its_files(context, body)
    now = context.ports.clock.wall()
    spec = specs.columns(body, context.settings.restart_limit)
    model = Model(name=body.name, **spec, created_by=created_by, created_at=now, updated_at=now)
    async with context.db.write() as session:
        model.access = await seeing.stored(session, body.access)
        await routing.must_be_free(session, body.name)
        session.add(model)
        await session.flush()
        await events.insert_event(session, context.ports.clock, "model_created", model=model)
        await revisions.record(session, model, specs.spec_of(model), [], now)
        document = await models.record_put(session, model, context.ports.clock)
        await routing.note_model(context, session, model.name)
    context.signals.touch("models", "changes")
    if model.access is not None:
        await seeing.settle_access(context)
    return document


async def change(context: Context, ref: str, patch: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch. A patch that changes nothing leaves the generation as it is."""
    return await become(context, ref, lambda before: specs.patched(before, patch))


async def become(
    context: Context, ref: str, wish: Callable[[Mapping[str, Any]], ModelCreate], *, called: str = "update"
) -> dict[str, Any]:
    """`wish` makes of the spec that is there the one that shall be; asked again where the change is written."""
    async with context.db.read() as session:
        before = specs.spec_of(await models.by_ref(session, ref))
    body = wish(before)
    if body.name != before["name"]:
        raise Refusal("name_is_fixed", param="name", name=str(before["name"]))
    await specs.check(context, body)
    after = body.model_dump()
    if any(
        after[name] != before[name]
        for name in ("source", "source_revision", "include", "backend", "options", "placement", "allow_pickle")
    ):
        await _must_suit_its_files(context, body)
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        row = specs.spec_of(model)
        body = wish(row)  # once more: somebody may have been quicker
        wanted = specs.columns(body, context.settings.restart_limit)
        wanted["access"] = await seeing.stored(session, body.access)
        changed = [name for name, value in wanted.items() if row[name] != value]
        if not changed:
            return await models.document(session, model)
        if model.serving.get("limits") != wanted["serving"].get("limits"):
            limits = wanted["serving"].get("limits")
            await spending.recount(session, f"model:{model.name}", limits, context.ports.clock.wall())
        _apply(model, wanted, changed, makes_new=specs.makes_new_instances(row, wanted))
        model.updated_at = now = context.ports.clock.wall()
        await revisions.record(session, model, specs.spec_of(model), changed, now)
        auditing.note(session, called, "model", model.id, model.name)
        await inspections.forget_refusals(session, source=model.files_source)
        params = {"fields": ", ".join(changed), "generation": model.generation}
        await events.insert_event(session, context.ports.clock, "model_changed", model=model, params=params)
        document = await models.record_put(session, model, context.ports.clock)
    context.signals.touch("models", "changes")
    if "access" in changed:
        await seeing.settle_access(context)
    return document


def _apply(model: Model, wanted: Mapping[str, Any], changed: list[str], *, makes_new: bool) -> None:
    for name in changed:
        setattr(model, name, wanted[name])
    model.generation += 1
    if makes_new:
        model.launch_generation = model.generation


async def _must_suit_its_files(context: Context, body: ModelCreate) -> None:
    """What the files forbid is said at once, not by an instance that waits for ever. Unknown forbids nothing."""
    facts = await ask_workers(context, body)
    if facts is None:
        return
    async with context.db.read() as session:
        there = nodes.distinct(await devices.all_rows(session))
        offered = nodes.runnable(await workers.all_rows(session))
    backend = await specs.backend_named(context, body.backend) or registry.choose(facts, body.source, there, offered)
    backend.check(body.options, body.env)
    if not body.allow_pickle and (refused := refuse_pickle(backend, facts, body.options)):
        raise refused
    try:
        backend.estimates(facts, Want(body.options, there, len(body.placement.devices) or None))
    except Refusal as refused:
        if refused.code not in _MAY_CHANGE:
            raise


async def start(context: Context, ref: str) -> dict[str, Any]:
    """Also what a person does after instances gave up: they are tried again."""
    clock = context.ports.clock
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        retried = await replicas.retry(session, model, clock)
        auditing.note(session, "start", "model", model.id, model.name)
        if model.stopped or model.asleep or retried:
            model.stopped = model.asleep = False
            model.used_at = clock.wall()
            await events.insert_event(session, clock, "model_started", model=model, params={"retried": retried})
        document = await models.record_put(session, model, clock)
    context.signals.touch("models", "instances", "assignments", "changes")
    return document


async def stop(context: Context, ref: str) -> dict[str, Any]:
    clock = context.ports.clock
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        auditing.note(session, "stop", "model", model.id, model.name)
        if not model.stopped:
            model.stopped, model.asleep = True, False
            await events.insert_event(session, clock, "model_stopped", model=model)
        document = await models.record_put(session, model, clock)
    context.signals.touch("models", "changes")
    return document


async def delete(context: Context, ref: str) -> None:
    """Its instances are ended by `replicas`, which finds them without a model."""
    async with context.db.write() as session:
        model = await models.by_ref(session, ref)
        await routing.must_not_be_led_to(session, model.name)
        await models.remove(session, model, context.ports.clock)
    context.signals.touch("models", "changes")
