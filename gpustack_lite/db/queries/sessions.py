"""Sign-ins: rows by the digest of their token, gone when they end."""

from datetime import datetime

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import LoginSession, User


async def with_user(session: AsyncSession, digest: str, now: datetime) -> tuple[LoginSession, User] | None:
    """A session that still holds, of a user who is still active."""
    statement = select(LoginSession, User).join(User, col(User.id) == col(LoginSession.user_id))
    valid = (LoginSession.digest == digest, col(LoginSession.expires_at) > now, col(User.active))
    return (await session.exec(statement.where(*valid))).one_or_none()


async def end(session: AsyncSession, session_id: int) -> None:
    await session.exec(delete(LoginSession).where(col(LoginSession.id) == session_id))


async def end_all_of(session: AsyncSession, user_id: int, *, but: int | None = None) -> None:
    await session.exec(
        delete(LoginSession).where(col(LoginSession.user_id) == user_id, col(LoginSession.id) != (but or 0))
    )


async def forget_expired(session: AsyncSession, now: datetime) -> None:
    await session.exec(delete(LoginSession).where(col(LoginSession.expires_at) <= now))
