"""Requests as the gateways counted them: each once, whatever is sent twice."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.dialects import sqlite
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries import keys, users
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.tables import ApiKey, UsageRecord
from gpustack_lite.errors import Refusal
from gpustack_lite.wire import UsageRow

ROWS_AT_ONCE = 500
"""Times 24 columns stays below SQLite's bound of 32,766 variables."""
DIMENSIONS = {"model": "model", "key": "key_id", "user": "user_id"}
_SUMS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
_LISTING = Listing(
    sorts={"started_at": col(UsageRecord.started_at), "seconds": col(UsageRecord.seconds)},
    searched=[col(UsageRecord.model), col(UsageRecord.request_id)],
    unique=col(UsageRecord.request_id),
    default="-started_at",
)


async def insert_once(session: AsyncSession, rows: Sequence[UsageRow]) -> None:
    """Rows that are known already are left as they are. Keys remember when they were last used."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        values = [row.model_dump() for row in rows[start : start + ROWS_AT_ONCE]]
        await session.exec(_insert(session).values(values).on_conflict_do_nothing(index_elements=["request_id"]))
    used: dict[int, datetime] = {}
    for row in rows:
        if row.key_id is not None:
            used[row.key_id] = max(row.started_at, used.get(row.key_id, row.started_at))
    await keys.note_use(session, used)


def _insert(session: AsyncSession) -> Any:
    dialect = session.get_bind().dialect.name
    table: Any = UsageRecord
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # loaded already where it is used

    return postgresql.insert(table)


async def summed(
    session: AsyncSession,
    by: Sequence[str],
    start: datetime | None,
    end: datetime | None,
    owner: int | None,
) -> list[dict[str, Any]]:
    """One row per combination of `by`, the largest number of requests first; what reached no engine is none.

    Raises:
        Refusal: `unknown_dimension`.
    """
    unknown = [name for name in by if name not in DIMENSIONS]
    if unknown:
        raise Refusal("unknown_dimension", param="by", name=unknown[0], names=", ".join(DIMENSIONS))
    fields = [DIMENSIONS[name] for name in dict.fromkeys(by)]
    columns: list[Any] = [getattr(UsageRecord, field) for field in fields]
    sums = [func.coalesce(func.sum(getattr(UsageRecord, name)), 0) for name in _SUMS]
    served = func.count(col(UsageRecord.instance_id))
    selected: Any = select(served, *sums, *columns)
    statement = selected.where(*_between(start, end, owner))
    found: Any = await session.exec(statement.group_by(*columns).order_by(served.desc(), *columns))
    rows = [dict(zip(("requests", *_SUMS, *fields), row, strict=True)) for row in found]
    return await _named(session, [row for row in rows if row["requests"]])


def _between(start: datetime | None, end: datetime | None, owner: int | None) -> list[ColumnElement[bool]]:
    where = [] if start is None else [col(UsageRecord.started_at) >= start]
    where += [] if end is None else [col(UsageRecord.started_at) < end]
    return where + ([] if owner is None else [col(UsageRecord.user_id) == owner])


async def _named(session: AsyncSession, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Beside each id the name, None where the key or user is gone; device seconds are not measured yet."""
    user_names = await users.names_by_id(session)
    key_names = {id_: name for id_, name in await session.exec(select(ApiKey.id, ApiKey.name))}
    for row in rows:
        row["device_seconds"] = None
        if "key_id" in row:
            row["key"] = key_names.get(row["key_id"])
        if "user_id" in row:
            row["user"] = user_names.get(row["user_id"] or 0)
    return rows


async def requests(
    session: AsyncSession,
    wish: Wish,
    *,
    model: str | None,
    instance_id: int | None,
    key_id: int | None,
    owner: int | None,
) -> Page[dict[str, Any]]:
    where = _between(None, None, owner)
    where += [] if model is None else [col(UsageRecord.model) == model]
    where += [] if instance_id is None else [col(UsageRecord.instance_id) == instance_id]
    where += [] if key_id is None else [col(UsageRecord.key_id) == key_id]
    found = await page(session, UsageRecord, _LISTING, wish, where)
    return found.map(lambda row: {**row.model_dump(), "started_at": iso(row.started_at)})
