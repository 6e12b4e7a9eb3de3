"""Would this model fit? The workers are asked about its files, nothing is written of it."""

from typing import Any

from gpustack_lite.api import specs
from gpustack_lite.api.asking import ask_workers
from gpustack_lite.api.context import Context
from gpustack_lite.api.schemas.bodies import Evaluate
from gpustack_lite.db.queries import instances, placing
from gpustack_lite.db.tables import Model
from gpustack_lite.errors import NotFound, Refusal


async def evaluate(context: Context, body: Evaluate) -> dict[str, Any]:
    await specs.check(context, body, launches=False)
    await ask_workers(context, body)
    for source in body.variants:
        await _ask_about(context, body, source)
    now = context.ports.clock.wall()
    spec = specs.columns(body, context.settings.restart_limit)
    spec.pop("variants")
    model = Model(name=body.name, **spec, created_at=now, updated_at=now)
    async with context.db.read() as session:
        snapshot = await placing.snapshot(session, {body.source, body.files_source, *body.variants})
    return context.judge.evaluate(snapshot, model, tuple(body.variants), now)


async def _ask_about(context: Context, body: Evaluate, source: str) -> None:
    """A variant that nobody can read is no remedy, and no mistake either."""
    try:
        await ask_workers(context, body.model_copy(update={"source": source, "source_revision": None, "include": []}))
    except Refusal:
        return


async def decision(context: Context, ref: str) -> dict[str, Any]:
    """On what an instance is decided now: everything that the answer depends on."""
    async with context.db.read() as session:
        instance = await instances.by_id(session, ref)
        model = await session.get(Model, instance.model_id)
        if model is None:
            raise NotFound("model", instance.model_name)
        snapshot = await placing.snapshot(session, {model.source, model.files_source})
    return context.judge.decision(snapshot, instance, model, context.ports.clock.wall())
