"""Groups of users, by id or name."""

from collections import defaultdict
from collections.abc import Mapping, Set
from typing import Any

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import group_document
from gpustack_lite.db.queries import changes
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import Group, GroupMember, User
from gpustack_lite.errors import NotFound
from gpustack_lite.ports import Clock

_LISTING = Listing(
    sorts={"id": col(Group.id), "name": col(Group.name)}, searched=[col(Group.name)], unique=col(Group.id)
)


async def by_name(session: AsyncSession, name: str) -> Group | None:
    return (await session.exec(select(Group).where(Group.name == name))).one_or_none()


async def by_ref(session: AsyncSession, ref: str) -> Group:
    """Raises:
    NotFound: neither the id nor the name of a group.
    """
    found = await session.get(Group, int(ref)) if is_id(ref) else await by_name(session, ref)
    if found is None:
        raise NotFound("group", ref)
    return found


async def listed(session: AsyncSession, wish: Wish) -> Page[dict[str, Any]]:
    found = await page(session, Group, _LISTING, wish)
    members = await _names(session)
    return found.map(lambda group: group_document(group, members.get(group.id or 0, [])))


async def document(session: AsyncSession, group: Group) -> dict[str, Any]:
    return group_document(group, (await _names(session)).get(group.id or 0, []))


async def by_user(session: AsyncSession) -> Mapping[int, frozenset[int]]:
    """The groups of every user that is in one."""
    found: dict[int, set[int]] = defaultdict(set)
    for member in await session.exec(select(GroupMember)):
        found[member.user_id].add(member.group_id)
    return {user: frozenset(groups) for user, groups in found.items()}


async def of_user(session: AsyncSession, user_id: int) -> frozenset[int]:
    mine = select(GroupMember.group_id).where(GroupMember.user_id == user_id)
    return frozenset(await session.exec(mine))


async def keep_members(session: AsyncSession, group_id: int, wanted: Set[int]) -> None:
    """These users and no others."""
    mine = select(GroupMember).where(GroupMember.group_id == group_id)
    there = {each.user_id: each for each in await session.exec(mine)}
    for user_id in sorted(wanted - there.keys()):
        session.add(GroupMember(group_id=group_id, user_id=user_id))
    for user_id in there.keys() - wanted:
        await session.delete(there[user_id])


async def record_put(session: AsyncSession, group: Group, clock: Clock) -> dict[str, Any]:
    """Write down that the group is now like this, and answer how."""
    session.add(group)
    await session.flush()
    shown = await document(session, group)
    await changes.record(session, "group", "put", group.id or 0, shown, clock)
    return shown


async def remove(session: AsyncSession, group: Group, clock: Clock) -> None:
    """Its number is never given again, so that an access that names it opens nothing to anybody."""
    await session.exec(delete(GroupMember).where(col(GroupMember.group_id) == group.id))
    await session.delete(group)
    await session.flush()
    await changes.record(session, "group", "delete", group.id or 0, None, clock)


async def _names(session: AsyncSession) -> Mapping[int, list[str]]:
    joined = select(GroupMember.group_id, User.username).join(User, col(User.id) == col(GroupMember.user_id))
    found: dict[int, list[str]] = defaultdict(list)
    for group, name in await session.exec(joined.order_by(col(User.username))):
        found[group].append(name)
    return found
