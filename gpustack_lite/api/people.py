"""Making, changing and removing users. There is always an active administrator left."""

import unicodedata
from collections.abc import Sequence
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.api import accounts, limiting, rights
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller
from gpustack_lite.api.passwords import check_new_password
from gpustack_lite.api.schemas.bodies import UserCreate, UserPatch
from gpustack_lite.api.settling import settle_on
from gpustack_lite.db.documents import user_document
from gpustack_lite.db.queries import events, sessions, spending, users
from gpustack_lite.db.tables import User
from gpustack_lite.errors import Refusal
from gpustack_lite.wire import Credential, Limits

LONGEST_NAME = 64
_MARKS = frozenset("._@+-")
_ADDRESSES = frozenset({"me"})
"""Words that stand for a user in a path."""


def check_username(name: str) -> None:
    """Raises:
    Refusal: `username_invalid`.
    """
    fits = 1 <= len(name) <= LONGEST_NAME and name[:1].isalnum() and all(c.isalnum() or c in _MARKS for c in name)
    if not fits or name.isdigit() or name in _ADDRESSES or unicodedata.normalize("NFKC", name) != name:
        raise Refusal(
            "username_invalid", param="username", name=name.encode("utf-8", "replace").decode()[:LONGEST_NAME]
        )


async def create(context: Context, maker: Caller, body: UserCreate) -> dict[str, Any]:
    """The document, with the password where it was made up: nobody can be shown it again."""
    check_username(body.username)
    if refused := rights.refuse_account(maker):
        raise refused
    if body.password is not None:
        check_new_password(body.password, username=body.username, param="password")
    password = body.password or accounts.random_password(context)
    user = User(
        username=body.username,
        role=body.role,
        password_hash=await context.passwords.hash(password),
        must_change_password=body.must_change_password,
        limits=limiting.merged(None, body.limits),
        created_at=context.ports.clock.wall(),
    )
    async with context.db.write() as session:
        if await users.by_name(session, user.username) is not None:
            raise Refusal("username_taken", status=409, param="username", name=user.username)
        await users.record_put(session, user, context.ports.clock)
        await _note(context, session, user, "user_created")
    context.signals.touch("credentials", "changes")
    return user_document(user) | {"password": None if body.password else password}


async def change(context: Context, maker: Caller, ref: str, body: UserPatch) -> User:
    """Every gateway that can be reached knows when it returns.

    Raises:
        NotFound: no such user.
        Refusal: `last_admin`, `key_is_limited`, `timezone_unknown` or `field_missing`.
    """
    _must_be_whole(body)
    if body.model_fields_set & {"role", "active"} and (refused := rights.refuse_account(maker)):
        raise refused
    async with context.db.write() as session:
        user = await users.by_ref(session, ref)
        role, active = body.role or user.role, user.active if body.active is None else body.active
        if role != "admin" or not active:
            await _keep_an_admin(session, user)
        kinds = await _apply(context, session, user, body)
        for kind in kinds:
            await _note(context, session, user, kind)
        if kinds:
            await users.record_put(session, user, context.ports.clock)
    context.signals.touch("credentials", "changes")
    await settle_on(context, lambda known: _is_told(known, user))
    return user


def _must_be_whole(body: UserPatch) -> None:
    for name in sorted(body.model_fields_set - {"limits"}):
        if getattr(body, name) is None:
            raise Refusal("field_missing", param=name, name=name)


async def _apply(context: Context, session: AsyncSession, user: User, body: UserPatch) -> list[str]:
    """What to call that which happened; nothing where nothing changed."""
    kinds = []
    if body.role is not None and body.role != user.role:
        user.role = body.role
        kinds.append("user_role_changed")
    if body.active is not None and body.active != user.active:
        user.active = body.active
        await sessions.end_all_of(session, user.id or 0)
        kinds.append("user_activated" if user.active else "user_deactivated")
    if "limits" in body.model_fields_set:
        before, user.limits = user.limits, limiting.merged(user.limits, body.limits)
        if user.limits != before:
            await spending.recount(session, f"user:{user.id}", user.limits, context.ports.clock.wall())
            kinds.append("user_changed")
    return kinds


async def delete(context: Context, ref: str) -> None:
    async with context.db.write() as session:
        user = await users.by_ref(session, ref)
        await _keep_an_admin(session, user)
        await _note(context, session, user, "user_deleted")
        await users.remove(session, user, context.ports.clock)
    context.signals.touch("credentials", "changes")
    await settle_on(context, lambda known: all(each.user_id != user.id for each in known))


async def _keep_an_admin(session: AsyncSession, user: User) -> None:
    """Somebody must be left who can let others in."""
    if user.role == "admin" and user.active and await users.other_admins(session, user.id or 0) == 0:
        raise Refusal("last_admin", status=409, name=user.username)


async def _note(context: Context, session: AsyncSession, user: User, kind: str) -> None:
    params = {"user": user.username, "role": user.role}
    await events.insert_event(session, context.ports.clock, kind, params=params)


def _is_told(known: Sequence[Credential], user: User) -> bool:
    """Whether the gateways are told the user as it is now."""
    limits = Limits.model_validate(user.limits) if user.limits else None
    own = [each for each in known if each.user_id == user.id]
    return (user.active and all((each.role, each.user_limits) == (user.role, limits) for each in own)) or not own
