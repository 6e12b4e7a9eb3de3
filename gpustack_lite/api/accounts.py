"""Signing in and changing passwords: what happens, in the order that loses nothing when it is cut."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import acting
from gpustack_lite.acting import Actor
from gpustack_lite.api import failing, using
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import digest
from gpustack_lite.api.passwords import check_new_password
from gpustack_lite.api.settling import settle
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import events, sessions, users
from gpustack_lite.db.tables import LoginSession, User
from gpustack_lite.errors import Refusal

PASSWORD_FILE = "initial_admin_password"  # noqa: S105  # the name of a file


@dataclass(frozen=True, slots=True)
class SignIn:
    token: str
    expires_at: datetime
    must_change_password: bool
    csrf_token: str


def csrf_token_of(session_token: str) -> str:
    """Follows from the session's token, so that a console that was reloaded can ask for it again."""
    return digest(f"csrf:{session_token}")


async def sign_in(
    context: Context,
    username: str,
    password: str,
    address: str,
    user_agent: str | None = None,
    *,
    request_id: str | None = None,
) -> SignIn:
    """Raises:
    Refusal: `local_login_off`, `login_throttled`, `login_busy` or `login_refused`, the last whatever was wrong.
    """
    if not context.settings.local_login:
        raise Refusal("local_login_off", status=403)
    user = await _prove(context, username, password, address, request_id)
    acting.take_over(Actor(user.id, user.username, "session", None, address, request_id))
    async with context.db.write() as session:
        fresh = await session.get(User, user.id)
        if fresh is None or fresh.password_hash != user.password_hash or not fresh.active:
            raise Refusal("login_refused", status=401)
        signed_in = await open_session(context, session, fresh, address, user_agent)
    await is_known(context, signed_in)
    return signed_in


async def open_session(
    context: Context, session: AsyncSession, user: User, address: str, user_agent: str | None
) -> SignIn:
    """For whoever has proved to be this user, in the transaction that looked whether the account still holds."""
    now, settings = context.ports.clock.wall(), context.settings
    token = f"gls_{context.ports.randomness.token()}"
    csrf_token = csrf_token_of(token)
    user.last_login_at = now
    session.add(user)
    await sessions.forget_expired(session, now)
    made = LoginSession(
        user_id=user.id or 0,
        digest=digest(token),
        csrf_digest=digest(csrf_token),
        address=address,
        user_agent=user_agent,
        seen_at=now,
        created_at=now,
        expires_at=using.prolonged(now, now, settings.session_hours, settings.session_longest_hours),
    )
    session.add(made)
    await session.flush()
    auditing.note(session, "sign_in", "session", made.id, user.username)
    return SignIn(token, made.expires_at, user.must_change_password, csrf_token)


async def is_known(context: Context, signed_in: SignIn) -> None:
    """Until every gateway that can be reached knows the session."""
    context.signals.touch("credentials")
    await settle(context, digest(signed_in.token), is_valid=True)


async def _prove(context: Context, username: str, password: str, address: str, request_id: str | None = None) -> User:
    wait = context.throttle.begin(username, address, context.ports.clock.monotonic())
    if wait is not None:
        raise Refusal("login_throttled", status=429, seconds=wait)
    async with context.db.read() as session:
        user = await users.by_name(session, username) if is_storable(username) else None
    stored = user.password_hash if user is not None and user.active and user.source == users.LOCAL else None
    if not await context.passwords.matches(stored, password) or user is None:
        await failing.note(context, None if user is None else user.username, address, request_id)
        raise Refusal("login_refused", status=401)
    context.throttle.succeeded(username, address)
    return user


def is_storable(value: str) -> bool:
    """Whether a database can be asked for it: no NUL, no lone surrogate."""
    return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


async def change_password(
    context: Context, username: str, current: str, new: str, address: str, *, kept_session: int | None
) -> None:
    """The user's other sessions end; the file with the first password goes when it is true no more."""
    async with context.db.read() as session:
        if (await users.by_ref(session, username)).source != users.LOCAL:
            raise Refusal("password_elsewhere", status=409, name=username)
    check_new_password(new, current, username=username)
    user = await _prove(context, username, current, address)
    hashed = await context.passwords.hash(new)
    async with context.db.write() as session:
        fresh = await session.get(User, user.id)
        if fresh is None or fresh.password_hash != user.password_hash:
            raise Refusal("login_refused", status=401)
        fresh.password_hash, fresh.must_change_password = hashed, False
        await users.record_put(session, fresh, context.ports.clock)
        await sessions.end_all_of(session, fresh.id or 0, but=kept_session)
        auditing.note(session, "change_password", "user", fresh.id, fresh.username)
        await events.insert_event(session, context.ports.clock, "password_changed", params={"user": fresh.username})
    if username == users.FIRST_ADMIN:
        context.ports.disk.remove(password_file(context.data_dir))
    context.signals.touch("credentials", "changes")


async def reset_password(context: Context, ref: str) -> tuple[User, str]:
    """A new random password that must be changed; every session of the user ends."""
    password = random_password(context)
    hashed = await context.passwords.hash(password)
    async with context.db.write() as session:
        user = await users.by_ref(session, ref)
        if user.source != users.LOCAL:
            raise Refusal("password_elsewhere", status=409, name=user.username)
        user.password_hash, user.must_change_password = hashed, True
        await users.record_put(session, user, context.ports.clock)
        await sessions.end_all_of(session, user.id or 0)
        auditing.note(session, "reset_password", "user", user.id, user.username)
        await events.insert_event(session, context.ports.clock, "password_reset", params={"user": user.username})
        if user.username == users.FIRST_ADMIN:
            write_password(context, password)
    context.signals.touch("credentials", "changes")
    return user, password


def random_password(context: Context) -> str:
    return context.ports.randomness.token(18)


def write_password(context: Context, password: str) -> None:
    """Before the commit: when it is cut, the file names a password that is not yet valid rather than none at all."""
    context.ports.disk.replace(password_file(context.data_dir), f"{password}\n".encode())


def password_file(data_dir: Path) -> Path:
    return data_dir / PASSWORD_FILE
