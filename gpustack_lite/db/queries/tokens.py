"""Join tokens: valid for a day, for as many workers as one likes."""

from datetime import datetime

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import JoinToken


async def insert(
    session: AsyncSession, digest: str, *, created_by: int | None, now: datetime, expires_at: datetime
) -> None:
    await session.exec(delete(JoinToken).where(col(JoinToken.expires_at) <= now))
    session.add(JoinToken(digest=digest, created_by=created_by, created_at=now, expires_at=expires_at))


async def is_valid(session: AsyncSession, digest: str, now: datetime) -> bool:
    found = await session.exec(select(JoinToken.id).where(JoinToken.digest == digest, col(JoinToken.expires_at) > now))
    return found.first() is not None
