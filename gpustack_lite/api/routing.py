"""Public names over models: checked against each other and against the models, and then written."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.api import rules, seeing
from gpustack_lite.api.context import Context
from gpustack_lite.api.schemas.bodies import ModelRouteCreate, ModelRoutePatch, RouteTargetSpec
from gpustack_lite.db.queries import events, model_routes, models
from gpustack_lite.db.tables import ModelRouteRow
from gpustack_lite.errors import Refusal


async def create(context: Context, body: ModelRouteCreate, created_by: int) -> dict[str, Any]:
    """A model that does not exist yet may be named: the answer's `warnings` say so."""
    rules.check_name(body.name)
    check_targets(body.name, body.targets, body.fallback)
    now = context.ports.clock.wall()
    row = ModelRouteRow(**body.model_dump(exclude={"access"}), created_by=created_by, created_at=now, updated_at=now)
    async with context.db.write() as session:
        await must_be_free(session, body.name)
        row.access = await seeing.stored(session, body.access)
        document = await _record(context, session, row, "route_created")
    context.signals.touch("models", "changes")
    if row.access is not None:
        await seeing.settle_access(context)
    return document


async def change(context: Context, ref: str, body: ModelRoutePatch) -> dict[str, Any]:
    async with context.db.write() as session:
        row = await model_routes.by_ref(session, ref)
        wanted = body.model_dump(include=set(body.model_fields_set))
        for name, value in wanted.items():
            if value is None and name != "access":
                raise Refusal("field_missing", param=name, name=name)
        if "access" in wanted:
            wanted["access"] = await seeing.stored(session, body.access)
        changed = [name for name, value in wanted.items() if getattr(row, name) != value]
        if not changed:
            return await model_routes.document(session, row)
        if "name" in changed:
            rules.check_name(wanted["name"])
            await must_be_free(session, wanted["name"])
        for name in changed:
            setattr(row, name, wanted[name])
        check_targets(row.name, [RouteTargetSpec(**each) for each in row.targets], row.fallback)
        row.updated_at = context.ports.clock.wall()
        document = await _record(context, session, row, "route_changed")
    context.signals.touch("models", "changes")
    if "access" in changed:
        await seeing.settle_access(context)
    return document


async def delete(context: Context, ref: str) -> None:
    clock = context.ports.clock
    async with context.db.write() as session:
        row = await model_routes.by_ref(session, ref)
        await model_routes.remove(session, row, clock)
        await events.insert_event(session, clock, "route_deleted", params={"name": row.name})
    context.signals.touch("models", "changes")


async def must_be_free(session: AsyncSession, name: str) -> None:
    """Models and routes share their names, because clients ask for either in the same field.

    Raises:
        Refusal: 409 `model_name_taken` or `route_name_taken`.
    """
    if await models.by_name(session, name) is not None:
        raise Refusal("model_name_taken", status=409, param="name", name=name)
    if await model_routes.by_name(session, name) is not None:
        raise Refusal("route_name_taken", status=409, param="name", name=name)


async def must_not_be_led_to(session: AsyncSession, model: str) -> None:
    """Raises:
    Refusal: 409 `model_has_routes`: nobody who deletes a model sees which names would break with it.
    """
    if leading := await model_routes.leading_to(session, model):
        names = ", ".join(row.name for row in leading[:10])
        raise Refusal("model_has_routes", status=409, name=model, routes=names)


async def note_model(context: Context, session: AsyncSession, model: str) -> None:
    """A model came: what was warned of is no longer so, and those who watch the routes hear it."""
    for row in await model_routes.leading_to(session, model):
        await model_routes.record_put(session, row, context.ports.clock)


def check_targets(name: str, targets: Sequence[RouteTargetSpec], fallback: Sequence[str]) -> None:
    """What can be said without asking the database; the first thing that does not hold is refused."""
    named = [each.model for each in targets]
    for each in (*named, *fallback):
        rules.check_plain(each, "targets")
    if twice := _twice(named):
        raise Refusal("route_names_twice", param="targets", model=twice)
    if twice := _twice(fallback):
        raise Refusal("route_names_twice", param="fallback", model=twice)
    if not any(each.weight for each in targets):
        raise Refusal("route_without_weight", param="targets", name=name)


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    return next((each for each in names if each in seen or seen.add(each)), None)  # type: ignore[func-returns-value]


def refuse_chain(names: Collection[str], routes: Collection[str]) -> None:
    """A route leads to models only: a chain of names would have to be followed, and could be a ring."""
    if found := sorted(set(names) & set(routes)):
        raise Refusal("route_leads_to_route", param="targets", route=found[0])


async def _record(context: Context, session: AsyncSession, row: ModelRouteRow, kind: str) -> dict[str, Any]:
    refuse_chain(
        model_routes.models_of(row), {row.name, *await model_routes.names_among(session, model_routes.models_of(row))}
    )
    document = await model_routes.record_put(session, row, context.ports.clock)
    params = {"name": row.name, "models": ", ".join(model_routes.models_of(row))}
    await events.insert_event(session, context.ports.clock, kind, params=params)
    return document
