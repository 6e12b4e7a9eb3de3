"""Batches: what is asked for, how far each is, and for whom it is sent."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlmodel import col, delete, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import ApiKey, Batch, User
from gpustack_lite.errors import NotFound, Refusal

OPEN = ("validating", "in_progress", "finalizing", "cancelling")
MOST_OPEN = 100
"""Per user: more of them would only wait."""


class Maker(NamedTuple):
    """Who made a batch; None where the key or user is gone."""

    key: ApiKey | None
    user: User | None


async def insert(session: AsyncSession, row: Batch) -> None:
    """
    Raises:
        Refusal: `batches_too_many` (429).
    """
    asked = select(func.count()).select_from(Batch).where(Batch.user_id == row.user_id, col(Batch.status).in_(OPEN))
    if (await session.exec(asked)).one() >= MOST_OPEN:
        raise Refusal("batches_too_many", status=429, limit=MOST_OPEN, seconds=60)
    session.add(row)


async def by_id(session: AsyncSession, batch_id: str, owner: int | None) -> Batch:
    """Raises:
    NotFound: no such batch, or somebody else's.
    """
    row = await session.get(Batch, batch_id)
    if row is None or owner not in {None, row.user_id}:
        raise NotFound("batch", batch_id)
    return row


async def open_ids(session: AsyncSession) -> Sequence[str]:
    """The oldest first."""
    asked = select(Batch.id).where(col(Batch.status).in_(OPEN)).order_by(col(Batch.created_at), col(Batch.id))
    return (await session.exec(asked)).all()


async def maker(session: AsyncSession, batch: Batch) -> Maker:
    key = None if batch.key_id is None else await session.get(ApiKey, batch.key_id)
    return Maker(key, await session.get(User, batch.user_id))


async def sent(session: AsyncSession) -> list[tuple[Batch, User]]:
    """Those whose lines are being sent, with an active user."""
    asked = select(Batch, User).join(User, col(User.id) == col(Batch.user_id))
    wanted = (col(Batch.digest).is_not(None), col(Batch.status).in_(OPEN), col(User.active).is_(True))
    return list(await session.exec(asked.where(*wanted).order_by(col(Batch.id))))


async def forget_ended(session: AsyncSession, before: datetime) -> None:
    await session.exec(delete(Batch).where(col(Batch.ended_at) < before))
