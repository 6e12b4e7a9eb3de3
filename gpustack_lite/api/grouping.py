"""Groups: made, filled and removed. Who may use what follows from them at once."""

from collections.abc import Sequence
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.api import rules, seeing
from gpustack_lite.api.context import Context
from gpustack_lite.api.schemas.bodies import GroupCreate, GroupPatch
from gpustack_lite.db.queries import events, groups, users
from gpustack_lite.db.tables import Group, GroupMember
from gpustack_lite.errors import Refusal


async def create(context: Context, body: GroupCreate) -> dict[str, Any]:
    rules.check_name(body.name)
    rules.check_plain(body.description, "description")
    if "/" in body.name:
        raise Refusal("name_character", param="name", name=body.name, character="/")
    group = Group(name=body.name, description=body.description, created_at=context.ports.clock.wall())
    async with context.db.write() as session:
        if await groups.by_name(session, body.name) is not None:
            raise Refusal("group_taken", status=409, param="name", name=body.name)
        session.add(group)
        await session.flush()
        await _fill(session, group, body.members)
        document = await _record(context, session, group, "group_created")
    await seeing.settle_access(context)
    return document


async def change(context: Context, ref: str, body: GroupPatch) -> dict[str, Any]:
    rules.check_plain(body.description or "", "description")
    async with context.db.write() as session:
        group = await groups.by_ref(session, ref)
        if body.description is not None:
            group.description = body.description
        if body.members is not None:
            await _fill(session, group, body.members)
        document = await _record(context, session, group, "group_changed")
    await seeing.settle_access(context)
    return document


async def put_member(context: Context, ref: str, user_ref: str, *, is_in: bool) -> dict[str, Any]:
    """Whether or not it was so before."""
    async with context.db.write() as session:
        group, user = await groups.by_ref(session, ref), await users.by_ref(session, user_ref)
        key = group.id or 0, user.id or 0
        row = await session.get(GroupMember, key)
        if is_in and row is None:
            session.add(GroupMember(group_id=key[0], user_id=key[1]))
        elif row is not None and not is_in:
            await session.delete(row)
        document = await _record(context, session, group, "group_changed")
    await seeing.settle_access(context)
    return document


async def delete(context: Context, ref: str) -> None:
    async with context.db.write() as session:
        group = await groups.by_ref(session, ref)
        await groups.remove(session, group, context.ports.clock)
        await events.insert_event(session, context.ports.clock, "group_deleted", params={"name": group.name})
    await seeing.settle_access(context)


async def _fill(session: AsyncSession, group: Group, members: Sequence[str]) -> None:
    """These and no others."""
    wanted = {(await users.by_ref(session, each)).id or 0 for each in members}
    await groups.keep_members(session, group.id or 0, wanted)


async def _record(context: Context, session: AsyncSession, group: Group, kind: str) -> dict[str, Any]:
    await session.flush()
    document = await groups.record_put(session, group, context.ports.clock)
    params = {"name": group.name, "members": ", ".join(document["members"])}
    await events.insert_event(session, context.ports.clock, kind, params=params)
    return document
