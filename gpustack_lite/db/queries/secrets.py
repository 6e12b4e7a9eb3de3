"""Secrets that are sealed; what seals and opens them is the API's."""

from datetime import datetime
from typing import Any

from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import iso
from gpustack_lite.db.tables import SealedSecret

SHOWN_FROM = 16
"""Characters that a secret must have for its last four to be shown."""


async def by_name(session: AsyncSession, name: str) -> SealedSecret | None:
    return await session.get(SealedSecret, name)


async def all_rows(session: AsyncSession) -> list[SealedSecret]:
    return list(await session.exec(select(SealedSecret).order_by(col(SealedSecret.name))))


async def count(session: AsyncSession) -> int:
    return (await session.exec(select(func.count()).select_from(SealedSecret))).one()


async def put(session: AsyncSession, name: str, sealed: str, *, value: str, user: str, now: datetime) -> SealedSecret:
    row = await by_name(session, name) or SealedSecret(name=name, sealed="", set_by=user, set_at=now)
    row.sealed, row.set_by, row.set_at = sealed, user, now
    row.ending = value[-4:] if len(value) >= SHOWN_FROM else None
    session.add(row)
    await session.flush()
    return row


def document(name: str, row: SealedSecret | None, *, is_readable: bool) -> dict[str, Any]:
    """Without the value: nothing gives that back. `code` is the sentence on what it is used for."""
    return {
        "name": name,
        "is_set": row is not None,
        "ending": None if row is None else row.ending,
        "set_at": None if row is None else iso(row.set_at),
        "set_by": None if row is None else row.set_by,
        "readable": is_readable,
        "code": f"secret_for_{name}",
        "params": {},
    }
