"""Rows of requests are kept for a while; their sums stay, by UTC day."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries.upserts import insert
from gpustack_lite.db.tables import UsageDay, UsageRecord

_KEY = ("day", "model", "key_id", "user_id")
_SUMS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "images", "audio_seconds")


async def forget(session: AsyncSession, before: datetime, at_most: int) -> int:
    """Rows of the days that ended before this moment become sums, in the same transaction; how many."""
    midnight = before.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    wanted = select(UsageRecord).where(col(UsageRecord.started_at) < midnight)
    rows = (await session.exec(wanted.order_by(col(UsageRecord.started_at)).limit(at_most))).all()
    if values := sums_of(row for row in rows if row.instance_id is not None):
        adding = insert(session, UsageDay).values(values)
        counts = {name: getattr(UsageDay, name) + adding.excluded[name] for name in ("requests", *_SUMS)}
        await session.exec(adding.on_conflict_do_update(index_elements=list(_KEY), set_=counts))
    await session.exec(delete(UsageRecord).where(col(UsageRecord.request_id).in_([row.request_id for row in rows])))
    return len(rows)


def sums_of(rows: Iterable[UsageRecord]) -> list[dict[str, Any]]:
    """One document per day, model, key and user; 0 stands for none."""
    sums: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(lambda: dict.fromkeys(("requests", *_SUMS), 0))
    for row in rows:
        day = row.started_at.astimezone(UTC).date().isoformat()
        found = sums[day, row.model, row.key_id or 0, row.user_id or 0]
        found["requests"] += 1
        for name in _SUMS:
            found[name] += getattr(row, name) or 0
    return [dict(zip(_KEY, key, strict=True)) | counts for key, counts in sums.items()]
