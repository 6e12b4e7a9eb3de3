"""Tokens by subject and period, for the subjects that have a budget: moved where rows of usage are inserted."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import col, delete, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.calendars import Calendar, calendar_of
from gpustack_lite.db.queries.upserts import insert
from gpustack_lite.db.tables import ApiKey, Model, Spending, UsageRecord, User
from gpustack_lite.wire import Limits, UsageRow

SUBJECTS_AT_ONCE = 400
KEPT = timedelta(days=40)


def has_budget(limits: Mapping[str, Any] | None) -> bool:
    return limits is not None and any(limits.get(name) is not None for name in ("tokens_per_day", "tokens_per_month"))


async def charge(session: AsyncSession, rows: Sequence[UsageRow]) -> None:
    """For rows that were just inserted, and never again. A row belongs to the day on which its request began."""
    zones = await _zones(session, rows)
    if not zones:
        return
    spent: Counter[tuple[str, str]] = Counter()
    for row in rows:
        tokens = (row.prompt_tokens or 0) + (row.completion_tokens or 0)
        for subject in subjects_of(row):
            if tokens and subject in zones:
                calendar = calendar_of(row.started_at, zones[subject])
                spent[subject, calendar.day.name] += tokens
                spent[subject, calendar.month.name] += tokens
    await _add(session, spent)


def subjects_of(row: UsageRow) -> list[str]:
    ids = (("key", row.key_id), ("user", row.user_id), ("model", row.model))
    return [f"{owner}:{name}" for owner, name in ids if name is not None]


async def _zones(session: AsyncSession, rows: Sequence[UsageRow]) -> dict[str, str]:
    """The time zones of those among the rows' subjects that have a budget."""
    key_ids, user_ids = {row.key_id for row in rows}, {row.user_id for row in rows}
    keys = await session.exec(select(ApiKey.id, ApiKey.limits).where(col(ApiKey.id).in_(key_ids - {None})))
    users = await session.exec(select(User.id, User.limits).where(col(User.id).in_(user_ids - {None})))
    named = {row.model for row in rows}
    models = await session.exec(select(Model.name, Model.serving).where(col(Model.name).in_(named)))
    found = {f"key:{id_}": limits for id_, limits in keys}
    found |= {f"user:{id_}": limits for id_, limits in users}
    found |= {f"model:{name}": serving.get("limits") for name, serving in models}
    return {subject: zone_of(limits) for subject, limits in found.items() if has_budget(limits)}


def zone_of(limits: Mapping[str, Any] | None) -> str:
    return Limits.model_validate(limits or {}).timezone


async def _add(session: AsyncSession, spent: Mapping[tuple[str, str], int]) -> None:
    if not spent:
        return
    new = insert(session, Spending).values(
        [{"subject": subject, "period": period, "tokens": tokens} for (subject, period), tokens in spent.items()]
    )
    moved = {"tokens": col(Spending.tokens) + new.excluded.tokens}
    await session.exec(new.on_conflict_do_update(index_elements=["subject", "period"], set_=moved))


async def recount(session: AsyncSession, subject: str, limits: Mapping[str, Any] | None, now: datetime) -> None:
    """A budget that begins, ends, or moves to another time zone: what this day and month have used already."""
    await session.exec(delete(Spending).where(col(Spending.subject) == subject))
    if not has_budget(limits):
        return
    calendar = calendar_of(now, zone_of(limits))
    for period in (calendar.day, calendar.month):
        used = func.coalesce(UsageRecord.prompt_tokens, 0) + func.coalesce(UsageRecord.completion_tokens, 0)
        of_period = (col(UsageRecord.started_at) >= period.begins_at, col(UsageRecord.started_at) < period.ends_at)
        tokens = (await session.exec(select(func.sum(used)).where(_of(subject), *of_period))).one()
        session.add(Spending(subject=subject, period=period.name, tokens=int(tokens or 0)))


def _of(subject: str) -> Any:
    owner, _, name = subject.partition(":")
    if owner == "model":
        return col(UsageRecord.model) == name
    return (col(UsageRecord.key_id) if owner == "key" else col(UsageRecord.user_id)) == int(name)


async def spent(session: AsyncSession, calendars: Mapping[str, Calendar]) -> dict[str, dict[str, int]]:
    """Of each subject what is on disk of its present day and month."""
    found: dict[str, dict[str, int]] = {}
    for subjects in _portions(sorted(calendars)):
        names = {name for each in subjects for name in (calendars[each].day.name, calendars[each].month.name)}
        wanted = select(Spending).where(col(Spending.subject).in_(subjects), col(Spending.period).in_(names))
        for row in await session.exec(wanted):
            found.setdefault(row.subject, {})[row.period] = row.tokens
    return found


def _portions(subjects: Sequence[str]) -> Iterable[Sequence[str]]:
    return (subjects[start : start + SUBJECTS_AT_ONCE] for start in range(0, len(subjects), SUBJECTS_AT_ONCE))


async def trim(session: AsyncSession, now: datetime) -> None:
    """Names of periods sort as time does, and a month before its days."""
    await session.exec(delete(Spending).where(col(Spending.period) < f"{now - KEPT:%Y-%m-%d}"))
