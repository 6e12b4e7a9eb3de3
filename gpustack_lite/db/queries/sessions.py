"""Sign-ins: rows by the digest of their token, gone when they end."""

from datetime import datetime

from sqlalchemy import delete
from sqlmodel import col, select, update
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import LoginSession, User
from gpustack_lite.errors import NotFound


async def with_user(session: AsyncSession, digest: str, now: datetime) -> tuple[LoginSession, User] | None:
    """A session that still holds, of a user who is still active."""
    statement = select(LoginSession, User).join(User, col(User.id) == col(LoginSession.user_id))
    valid = (LoginSession.digest == digest, col(LoginSession.expires_at) > now, col(User.active))
    return (await session.exec(statement.where(*valid))).one_or_none()


_LISTING = Listing(
    sorts={
        "id": col(LoginSession.id),
        "created_at": col(LoginSession.created_at),
        "expires_at": col(LoginSession.expires_at),
    },
    searched=[col(LoginSession.address), col(LoginSession.user_agent)],
    unique=col(LoginSession.id),
)


async def listed(session: AsyncSession, wish: Wish, owner: int | None, now: datetime) -> Page[LoginSession]:
    """Those that still hold, of one user, or of everybody where `owner` is None."""
    where = [col(LoginSession.expires_at) > now]
    where += [] if owner is None else [col(LoginSession.user_id) == owner]
    return await page(session, LoginSession, _LISTING, wish, where)


async def by_ref(session: AsyncSession, ref: str, owner: int | None) -> LoginSession:
    """Raises:
    NotFound: no such session, or that of somebody else.
    """
    found = await session.get(LoginSession, int(ref)) if is_id(ref) else None
    if found is None or owner not in {None, found.user_id}:
        raise NotFound("session", ref)
    return found


async def note_use(session: AsyncSession, session_id: int, now: datetime, expires_at: datetime) -> None:
    mine = update(LoginSession).where(col(LoginSession.id) == session_id)
    await session.exec(mine.values(seen_at=now, expires_at=expires_at))


async def end(session: AsyncSession, session_id: int) -> None:
    await session.exec(delete(LoginSession).where(col(LoginSession.id) == session_id))


async def end_all_of(session: AsyncSession, user_id: int, *, but: int | None = None) -> None:
    await session.exec(
        delete(LoginSession).where(col(LoginSession.user_id) == user_id, col(LoginSession.id) != (but or 0))
    )


async def forget_expired(session: AsyncSession, now: datetime) -> None:
    await session.exec(delete(LoginSession).where(col(LoginSession.expires_at) <= now))
