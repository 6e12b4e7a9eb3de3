"""Which models, routes and logs a caller may see and manage. What may not be seen is not there: 404."""

from collections.abc import Collection
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import access
from gpustack_lite.access import Sight
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller
from gpustack_lite.api.schemas.bodies import AccessSpec
from gpustack_lite.api.settling import PATIENCE_SECONDS, settle_on
from gpustack_lite.db.queries import groups, instances, models, sights, users
from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.errors import NotFound, Refusal

MANAGERS_CHANGE = frozenset({"replicas", "autoscale", "serving", "restart_limit"})
"""What runs and where stays with administrators: it decides about the host and about others' devices."""


async def sight_of(session: AsyncSession, caller: Caller) -> Sight:
    return await sights.sight(session, await sights.person(session, caller.user_id, caller.role))


async def model(session: AsyncSession, caller: Caller, ref: str) -> Model:
    """Raises NotFound for one that is hidden, too."""
    found = await models.by_ref(session, ref)
    if not access.may_use(found.access, await sights.person(session, caller.user_id, caller.role)):
        raise NotFound("model", ref)
    return found


async def instance(session: AsyncSession, caller: Caller, ref: str) -> ModelInstance:
    """Raises NotFound for one of a hidden model, too."""
    found = await instances.by_id(session, ref)
    if found.model_id in (await sight_of(session, caller)).models:
        raise NotFound("instance", ref)
    return found


async def must_manage(context: Context, caller: Caller, ref: str, fields: Collection[str] = ()) -> None:
    """Raises:
    NotFound: it may not be seen.
    Refusal: `model_not_managed`, `field_admin_only`.
    """
    async with context.db.read() as session:
        found = await model(session, caller, ref)
        await _must_be_manager(session, caller, found)
    refuse_closed(caller, fields)


def refuse_closed(caller: Caller, fields: Collection[str]) -> None:
    """Raises:
    Refusal: `field_admin_only`.
    """
    if not caller.is_admin and (closed := sorted(set(fields) - MANAGERS_CHANGE)):
        raise Refusal("field_admin_only", status=403, param=closed[0], name=closed[0])


async def must_manage_instance(context: Context, caller: Caller, ref: str) -> None:
    """For ending it; the same errors as `must_manage`."""
    async with context.db.read() as session:
        found = await instance(session, caller, ref)
        await _must_be_manager(session, caller, await session.get(Model, found.model_id))


async def must_read_logs(context: Context, caller: Caller, ref: str) -> None:
    """A log may hold what somebody asked the model: managers read it, and who made the model."""
    async with context.db.read() as session:
        found = await instance(session, caller, ref)
        owner = await session.get(Model, found.model_id)
        if owner is None or owner.created_by != caller.user_id:
            await _must_be_manager(session, caller, owner)


async def _must_be_manager(session: AsyncSession, caller: Caller, found: Model | None) -> None:
    """The instance of a model that is gone is an administrator's."""
    if not await may_manage(session, caller, found):
        raise Refusal("model_not_managed", status=403, name="" if found is None else found.name)


async def may_manage(session: AsyncSession, caller: Caller, found: Model | None) -> bool:
    who = await sights.person(session, caller.user_id, caller.role)
    return access.may_manage(None if found is None else found.access, who)


async def stored(session: AsyncSession, wish: AccessSpec | None) -> dict[str, Any] | None:
    """By ids, which no rename and no successor of the same name can take over.

    Raises:
        NotFound: a user or a group that there is not.
    """
    if wish is None:
        return None
    named = [await _manager(session, each) for each in wish.managers]
    return {
        "users": sorted({(await users.by_ref(session, each)).id or 0 for each in wish.users}),
        "groups": sorted({(await groups.by_ref(session, each)).id or 0 for each in wish.groups}),
        "managers": sorted(set(named)),
    }


async def _manager(session: AsyncSession, named: str) -> str:
    kind, _, ref = named.partition(":")
    row = await (users.by_ref if kind == "user" else groups.by_ref)(session, ref)
    return f"{kind}:{row.id}"


async def settle_access(context: Context) -> None:
    """After the commit: every gateway that can be reached knows who may use what."""
    context.signals.touch("credentials", "models", "changes")
    await context.published.catch_up(PATIENCE_SECONDS)
    await settle_on(context, lambda known: True)
