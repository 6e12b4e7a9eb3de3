"""Budgets on SQLite and on PostgreSQL: a row that is sent twice is charged once, and a new budget counts what was."""

import pytest

from gpustack_lite.calendars import calendar_of
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import spending, usage
from gpustack_lite.db.tables import ApiKey, User
from gpustack_lite.wire import UsageRow
from tests.fakes.clock import START

pytestmark = pytest.mark.integration
BUDGET = {"tokens_per_day": 100, "timezone": "Asia/Shanghai"}


def a_row(request_id: str, tokens: int) -> UsageRow:
    return UsageRow(
        request_id=request_id,
        model="m",
        path="/v1/x",
        started_at=START,
        seconds=1.5,
        status=200,
        prompt_tokens=tokens,
        key_id=1,
    )


async def test_what_is_inserted_is_charged_and_what_is_known_is_not(db: Database) -> None:
    async with db.write() as session:
        session.add(User(id=1, username="admin", password_hash="x", created_at=START))
        await session.flush()
        session.add(ApiKey(id=1, name="k", user_id=1, digest="d", prefix="p", limits=BUDGET, created_at=START))
    for rows in ([a_row("a", 10), a_row("a", 10)], [a_row("a", 10), a_row("b", 5)]):
        async with db.write() as session:
            await usage.insert_once(session, rows)
    calendars = {"key:1": calendar_of(START, "Asia/Shanghai")}
    async with db.write() as session:
        charged = await spending.spent(session, calendars)
        await spending.recount(session, "key:1", BUDGET, START)
        await session.flush()
        recounted = await spending.spent(session, calendars)
    assert charged == recounted == {"key:1": {"2026-11-30": 15, "2026-11": 15}}
