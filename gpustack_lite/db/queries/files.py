"""Stored files: rows here, bytes in the file store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, or_
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries.batches import OPEN
from gpustack_lite.db.tables import Batch, StoredFile
from gpustack_lite.errors import NotFound, Refusal

Rows = tuple[list[Any], bool]
"""One page, and whether more follow."""


async def insert(session: AsyncSession, row: StoredFile, most_bytes: int) -> None:
    """
    Raises:
        Refusal: `files_quota` (413), when the user would keep more than that in all.
    """
    kept = await kept_bytes(session, row.user_id)
    if kept + row.size_bytes > most_bytes:
        raise Refusal("files_quota", status=413, kept_bytes=kept, limit_bytes=most_bytes)
    session.add(row)


async def kept_bytes(session: AsyncSession, user_id: int) -> int:
    asked = select(func.coalesce(func.sum(col(StoredFile.size_bytes)), 0)).where(StoredFile.user_id == user_id)
    return int((await session.exec(asked)).one())


async def by_id(session: AsyncSession, file_id: str, owner: int | None) -> StoredFile:
    """Raises:
    NotFound: no such file, or somebody else's.
    """
    row = await session.get(StoredFile, file_id)
    if row is None or owner not in {None, row.user_id}:
        raise NotFound("file", file_id)
    return row


async def listed(
    session: AsyncSession, owner: int | None, purpose: str | None, limit: int, after: str | None, *, oldest_first: bool
) -> Rows:
    where = [] if owner is None else [col(StoredFile.user_id) == owner]
    where += [] if purpose is None else [col(StoredFile.purpose) == purpose]
    last = None if after is None else await by_id(session, after, owner)
    return await page(session, StoredFile, where, last, limit, oldest_first=oldest_first)


async def page(
    session: AsyncSession, table: Any, where: Sequence[Any], last: Any, limit: int, *, oldest_first: bool = False
) -> Rows:
    """By time and id, behind `last`."""
    asked = select(table).where(*where)
    if last is not None:
        is_behind = table.created_at.__gt__ if oldest_first else table.created_at.__lt__
        comes_later = table.id > last.id if oldest_first else table.id < last.id
        asked = asked.where(or_(is_behind(last.created_at), and_(table.created_at == last.created_at, comes_later)))
    order = [each.asc() if oldest_first else each.desc() for each in (table.created_at, table.id)]
    rows = list((await session.exec(asked.order_by(*order).limit(limit + 1))).all())
    return rows[:limit], len(rows) > limit


async def refuse_in_use(session: AsyncSession, row: StoredFile) -> None:
    using = select(Batch.id).where(col(Batch.input_file_id) == row.id, col(Batch.status).in_(OPEN))
    batch_id = (await session.exec(using)).first()
    if batch_id is not None:
        raise Refusal("file_in_use", status=409, file=row.id, batch=batch_id)


async def expired(session: AsyncSession, now: datetime) -> list[StoredFile]:
    """Those whose time is over, and that no batch still reads."""
    read = select(Batch.input_file_id).where(col(Batch.status).in_(OPEN))
    asked = select(StoredFile).where(col(StoredFile.expires_at) <= now, col(StoredFile.id).not_in(read))
    return list(await session.exec(asked))


async def ids(session: AsyncSession) -> set[str]:
    return set(await session.exec(select(StoredFile.id)))
