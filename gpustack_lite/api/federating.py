"""From what an identity provider says of somebody to the account here: role, groups, and a name that is free.

Issuer and subject together are who it is. Neither a name nor an address of e-mail is: those are given anew.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import digest
from gpustack_lite.api.people import LONGEST_NAME, check_username
from gpustack_lite.db.queries import events, groups, users
from gpustack_lite.db.tables import Group, GroupMember, User
from gpustack_lite.errors import Refusal
from gpustack_lite.settings import Settings

log = logging.getLogger(__name__)
SOURCE = "oidc"
NO_PASSWORD = "!"  # noqa: S105  # what no password matches
_ROLES = ("admin", "user", "viewer")
"""The first that one of somebody's groups gives."""


def subject_of(issuer: str, subject: str) -> str:
    return f"{issuer} {subject}"


def groups_said(claims: Mapping[str, Any], settings: Settings) -> frozenset[str]:
    said = claims.get(settings.oidc_groups_claim)
    listed = said if isinstance(said, list) else [said]
    return frozenset(each for each in listed if isinstance(each, str))


def role_of(said: frozenset[str], settings: Settings) -> str | None:
    """None for whom no group lets in."""
    given = {settings.oidc_roles[each] for each in said if each in settings.oidc_roles}
    default = None if settings.oidc_default_role == "none" else settings.oidc_default_role
    return next((role for role in _ROLES if role in given), default)


async def known(session: AsyncSession, subject: str) -> User | None:
    mine = select(User).where(User.source == SOURCE, User.subject == subject).order_by(col(User.id)).limit(1)
    return (await session.exec(mine)).first()


async def keep(context: Context, session: AsyncSession, subject: str, claims: Mapping[str, Any]) -> User:
    """The account as it is from now on; made where there is none.

    Raises:
        Refusal: `oidc_no_role` or `oidc_inactive`.
    """
    settings, said = context.settings, groups_said(claims, context.settings)
    user = await known(session, subject)
    role = role_of(said, settings)
    if user is not None and not user.active:
        raise Refusal("oidc_inactive", status=403, name=user.username)
    if role is None:
        raise Refusal("oidc_no_role", status=403)
    if user is None:
        user = await _made(context, session, subject, role, claims)
    elif role != user.role:
        await _give_role(context, session, user, role)
    wanted = {settings.oidc_groups[each] for each in said if each in settings.oidc_groups}
    await _keep_groups(context, session, user.id or 0, sorted(wanted))
    return user


async def _made(context: Context, session: AsyncSession, subject: str, role: str, claims: Mapping[str, Any]) -> User:
    name = await _free_name(session, str(claims.get(context.settings.oidc_name_claim) or ""), subject)
    user = User(
        username=name,
        role=role,
        password_hash=NO_PASSWORD,
        source=SOURCE,
        subject=subject,
        created_at=context.ports.clock.wall(),
    )
    await users.record_put(session, user, context.ports.clock)
    params = {"user": name, "role": role}
    await events.insert_event(session, context.ports.clock, "user_created", params=params)
    return user


async def _free_name(session: AsyncSession, wish: str, subject: str) -> str:
    """As near to the wish as may be; a name that somebody has is never taken over."""
    mark = digest(subject)[:8]
    written = "".join(char if char.isalnum() or char in "._@+-" else "-" for char in wish).lstrip("._@+-")
    for name in (written, f"{written[: LONGEST_NAME - 9]}-{mark}", f"user-{mark}"):
        try:
            check_username(name)
        except Refusal:
            continue
        if await users.by_name(session, name) is None:
            return name
    return f"user-{digest(subject)[:32]}"


async def _give_role(context: Context, session: AsyncSession, user: User, role: str) -> None:
    if user.role == "admin" and await users.other_admins(session, user.id or 0) == 0:
        log.warning("oidc_last_admin_kept", extra={"user": user.username, "role": role})
        return
    user.role = role
    await users.record_put(session, user, context.ports.clock)
    params = {"user": user.username, "role": role}
    await events.insert_event(session, context.ports.clock, "user_role_changed", params=params)


async def _keep_groups(context: Context, session: AsyncSession, user_id: int, names: Sequence[str]) -> None:
    """Memberships that came from the provider follow it; those that an administrator gave stay."""
    wanted = {(await _group(context, session, name)).id or 0 for name in names}
    mine = select(GroupMember).where(GroupMember.user_id == user_id)
    there = {each.group_id: each for each in await session.exec(mine)}
    gone = {each for each, member in there.items() if member.source == SOURCE and each not in wanted}
    for group_id in sorted(wanted - there.keys()):
        session.add(GroupMember(group_id=group_id, user_id=user_id, source=SOURCE))
    for group_id in sorted(gone):
        await session.delete(there[group_id])
    for group_id in sorted(gone | (wanted - there.keys())):
        group = await session.get(Group, group_id)
        if group is not None:
            await groups.record_put(session, group, context.ports.clock)


async def _group(context: Context, session: AsyncSession, name: str) -> Group:
    """The settings name it, so it is made where it is missing."""
    found = await groups.by_name(session, name)
    if found is None:
        found = Group(name=name, created_at=context.ports.clock.wall())
        await groups.record_put(session, found, context.ports.clock)
    return found
