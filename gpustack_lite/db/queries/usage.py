"""Requests as the gateways counted them: each once, whatever is sent twice."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

from sqlalchemy import ColumnElement, literal_column
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import keys, spending, users
from gpustack_lite.db.queries.upserts import insert
from gpustack_lite.db.tables import ApiKey, UsageDay, UsageRecord
from gpustack_lite.errors import Refusal
from gpustack_lite.wire import UsageRow

ROWS_AT_ONCE = 500
"""Times 24 columns stays below SQLite's bound of 32,766 variables."""
DIMENSIONS = {"model": "model", "key": "key_id", "user": "user_id", "day": "day", "hour": "hour"}
"""Days are 2026-12-01, hours 2026-12-01T07:00Z, both of UTC."""
_MIDNIGHT = "T00:00Z"
_TIMES = {
    "day": {"sqlite": "%Y-%m-%d", "postgresql": "YYYY-MM-DD"},
    "hour": {"sqlite": "%Y-%m-%dT%H:00Z", "postgresql": 'YYYY-MM-DD"T"HH24:00"Z"'},
}
_SUMS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "images", "audio_seconds")
_COUNTS = ("requests", *_SUMS)


async def insert_once(session: AsyncSession, rows: Sequence[UsageRow]) -> None:
    """Rows that are known already are left as they are, and charged to no budget again.

    Keys remember when they were last used.
    """
    for start in range(0, len(rows), ROWS_AT_ONCE):
        portion = {row.request_id: row for row in reversed(rows[start : start + ROWS_AT_ONCE])}
        values = [row.model_dump() for row in portion.values()]
        new = insert(session, UsageRecord).values(values).on_conflict_do_nothing(index_elements=["request_id"])
        inserted = await session.exec(new.returning(col(UsageRecord.request_id)))
        await spending.charge(session, [portion[request_id] for request_id in inserted.scalars()])
    used: dict[int, datetime] = {}
    for row in rows:
        if row.key_id is not None:
            used[row.key_id] = max(row.started_at, used.get(row.key_id, row.started_at))
    await keys.note_use(session, used)


async def summed(
    session: AsyncSession,
    by: Sequence[str],
    start: datetime | None,
    end: datetime | None,
    owner: int | None,
) -> list[dict[str, Any]]:
    """One row per combination of `by`, the largest number of requests first; what reached no engine is none.

    Days whose rows are forgotten count whole, to the span (and hour) in which they begin.

    Raises:
        Refusal: `unknown_dimension`.
    """
    unknown = [name for name in by if name not in DIMENSIONS]
    if unknown:
        raise Refusal("unknown_dimension", param="by", name=unknown[0], names=", ".join(DIMENSIONS))
    fields = [DIMENSIONS[name] for name in dict.fromkeys(by)]
    sums: dict[tuple[Any, ...], list[float]] = {}
    for found in (
        await _of_rows(session, fields, start, end, owner),
        await _of_days(session, fields, start, end, owner),
    ):
        for counts, key in found:
            before = sums.get(key, [0] * len(_COUNTS))
            sums[key] = [old + (new or 0) for old, new in zip(before, counts, strict=True)]
    rows = [dict(zip((*_COUNTS, *fields), (*counts, *key), strict=True)) for key, counts in sums.items()]
    rows.sort(key=lambda row: (-row["requests"], *(str(row[field]) for field in fields)))
    return await _named(session, [row for row in rows if row["requests"]])


Found = list[tuple[Sequence[Any], tuple[Any, ...]]]


async def _of_rows(
    session: AsyncSession, fields: list[str], start: datetime | None, end: datetime | None, owner: int | None
) -> Found:
    columns = [_column(session, field) for field in fields]
    sums = [func.sum(getattr(UsageRecord, name)) for name in _SUMS]
    selected: Any = select(func.count(col(UsageRecord.instance_id)), *sums, *columns)
    found: Any = await session.exec(selected.where(*between(start, end, owner)).group_by(*columns))
    return [(row[: len(_COUNTS)], tuple(row[len(_COUNTS) :])) for row in found]


def _column(session: AsyncSession, field: str) -> Any:
    if field not in _TIMES:
        return getattr(UsageRecord, field)
    dialect = session.get_bind().dialect.name
    shape: Any = literal_column(f"'{_TIMES[field][dialect]}'")  # no bind: SELECT and GROUP BY must be the same text
    if dialect == "sqlite":
        return func.strftime(shape, col(UsageRecord.started_at))
    return func.to_char(func.timezone(literal_column("'UTC'"), col(UsageRecord.started_at)), shape)


async def _of_days(
    session: AsyncSession, fields: list[str], start: datetime | None, end: datetime | None, owner: int | None
) -> Found:
    columns: list[Any] = [getattr(UsageDay, "day" if field == "hour" else field) for field in fields]
    sums = [func.sum(getattr(UsageDay, name)) for name in _COUNTS]
    where = [] if start is None else [col(UsageDay.day) >= first_day(start)]
    where += [] if end is None else [col(UsageDay.day) < first_day(end)]
    where += [] if owner is None else [col(UsageDay.user_id) == owner]
    selected: Any = select(*sums, *columns)
    found: Any = await session.exec(selected.where(*where).group_by(*columns))
    return [(row[: len(_COUNTS)], _key(fields, row[len(_COUNTS) :])) for row in found]


def _key(fields: Sequence[str], values: Sequence[Any]) -> tuple[Any, ...]:
    named = zip(fields, values, strict=True)
    return tuple(f"{value}{_MIDNIGHT}" if field == "hour" else value or None for field, value in named)


def first_day(moment: datetime) -> str:
    """The first UTC day that begins at this moment or later."""
    day = moment.astimezone(UTC)
    is_midnight = day.time() == time.min
    return (day.date() if is_midnight else day.date() + timedelta(days=1)).isoformat()


def between(start: datetime | None, end: datetime | None, owner: int | None) -> list[ColumnElement[bool]]:
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
