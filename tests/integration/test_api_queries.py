"""The queries behind the API on SQLite and on PostgreSQL: pages, usage that counts once, sums, the change log."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest
from sqlmodel import select

from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import (
    changes,
    changes_read,
    devices,
    events_read,
    gateways,
    instances,
    keys,
    models,
    requests,
    sessions,
    tokens,
    usage,
    usage_days,
    workers,
)
from gpustack_lite.db.queries.changes_read import Gap
from gpustack_lite.db.queries.paging import Wish
from gpustack_lite.db.queries.requests import Reach, Sought
from gpustack_lite.db.tables import ApiKey, GatewayRow, LoginSession, UsageRecord, User
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from gpustack_lite.wire import GatewayStatus, Join, UsageRow
from tests.fakes.clock import START, ManualClock
from tests.fakes.rows import a_device, a_model, a_placed_instance

pytestmark = pytest.mark.integration
Row = TypeVar("Row")
NAMES = ["delta", "Alpha", "charlie", "模型", "echo_1", "echo%2"]


async def add(db: Database, *rows: Any) -> None:
    for row in rows:
        async with db.write() as session:
            session.add(row)


def a_user(**given: Any) -> User:
    return User(**{"id": 1, "username": "admin", "password_hash": "x", "created_at": START} | given)


def a_row(request_id: str, **given: Any) -> UsageRow:
    base = {"request_id": request_id, "model": "m", "path": "/v1/x", "started_at": START, "seconds": 1.5, "status": 200}
    return UsageRow(
        **base | {"instance_id": 3, "prompt_tokens": 10, "completion_tokens": 5, "key_id": 1, "user_id": 1} | given
    )


async def count(db: Database, rows: Sequence[UsageRow]) -> None:
    async with db.write() as session:
        await usage.insert_once(session, rows)


@pytest.mark.parametrize("sort", ["id", "-id", "name", "-name", "created_at", "-updated_at", "replicas"])
async def test_pages_together_are_the_list(db: Database, sort: str) -> None:
    for number, name in enumerate(NAMES):
        created_at = START + timedelta(microseconds=number)
        await add(db, a_model(id=None, name=name, replicas=number % 2, created_at=created_at, updated_at=created_at))
    cursor, found = None, []
    async with db.read() as session:
        whole = await models.listed(session, Wish(sort=sort))
        for _ in NAMES:
            page = await models.listed(session, Wish(limit=2, sort=sort, cursor=cursor))
            found += [each["name"] for each in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert found == [each["name"] for each in whole.items]
    assert sorted(found) == sorted(NAMES)
    assert whole.total == len(NAMES)


@pytest.mark.parametrize(
    ("q", "expected"), [("ALPHA", {"Alpha"}), ("o_", {"echo_1"}), ("%", {"echo%2"}), ("型", {"模型"})]
)
async def test_a_search_is_literal(db: Database, q: str, expected: set[str]) -> None:
    await add(db, *(a_model(id=None, name=name) for name in NAMES))
    async with db.read() as session:
        assert {each["name"] for each in (await models.listed(session, Wish(q=q))).items} == expected


async def test_batches_that_arrive_twice_and_at_once_count_once(db: Database) -> None:
    await add(db, a_user())
    await add(db, ApiKey(id=1, name="k", user_id=1, digest="d", prefix="p", created_at=START))
    rows = [a_row(f"r{number}", started_at=START + timedelta(seconds=number)) for number in range(700)]
    await asyncio.gather(*(count(db, rows[start:]) for start in (0, 100, 0, 350)))
    async with db.read() as session:
        (total,) = await usage.summed(session, [], None, None, None)
        key = await keys.by_ref(session, "k", 1)
    assert (total["requests"], total["prompt_tokens"], total["cached_tokens"]) == (700, 7000, 0)
    assert key.last_used_at == START + timedelta(seconds=699)


async def test_sums_by_every_dimension_within_a_span(db: Database) -> None:
    await add(db, a_user())
    late = START + timedelta(hours=1)
    await count(db, [a_row("1"), a_row("2", model="n"), a_row("3", started_at=late, key_id=None, user_id=None)])
    async with db.read() as session:
        rows = await usage.summed(session, ["model", "key", "user"], START, late, None)
        assert {(each["model"], each["key_id"], each["user"], each["requests"]) for each in rows} == {
            ("m", 1, "admin", 1),
            ("n", 1, "admin", 1),
        }
        assert [each["requests"] for each in await usage.summed(session, ["key"], None, None, None)] == [2, 1]
        page = await requests.listed(session, Wish(limit=2), Sought(), Reach())
    assert [each["request_id"] for each in page.items] == ["3", "2"]


async def test_a_credential_is_found_while_it_holds(db: Database, clock: ManualClock) -> None:
    await add(db, a_user())
    until = START + timedelta(seconds=10)
    await add(
        db,
        LoginSession(user_id=1, digest="s", csrf_digest="c", created_at=START, expires_at=until),
        ApiKey(name="k", user_id=1, digest="k", prefix="p", expires_at=until, created_at=START),
        ApiKey(name="for ever", user_id=1, digest="e", prefix="p", created_at=START),
    )
    async with db.read() as session:
        assert await sessions.with_user(session, "s", START) is not None
        assert await sessions.with_user(session, "s", until) is None
        assert await keys.with_user(session, "k", START) is not None
        assert await keys.with_user(session, "k", until) is None
        assert await keys.with_user(session, "e", until) is not None
    async with db.write() as session:
        await sessions.end_all_of(session, 1)
        await tokens.insert(session, "t", created_by=1, now=START, expires_at=until)
    async with db.read() as session:
        assert await sessions.with_user(session, "s", START) is None
        assert await tokens.is_valid(session, "t", START)
        assert not await tokens.is_valid(session, "t", until)


async def test_a_worker_joins_once_and_is_removed_with_what_it_held(db: Database, ports: Ports) -> None:
    asked = Join(token="t", uid="u", name="w1", version="1", hostname="h")
    for credential in ("first", "second"):
        async with db.write() as session:
            worker = await workers.join(session, asked, credential, ports.clock)
    await add(db, a_model(), a_device(worker_id=worker.id or 0), a_placed_instance(None, worker_id=worker.id or 0))
    async with db.read() as session:
        assert await workers.by_credential(session, "first") is None
        assert (await devices.listed(session, Wish())).items[0]["memory_claimed_bytes"] == 0
        assert (await instances.listed(session, Wish(), worker_id=worker.id)).total == 1
    async with db.write() as session:
        await workers.remove(session, await workers.by_ref(session, "w1"), ports.clock, force=True)
    async with db.read() as session:
        assert (await workers.listed(session, Wish())).total == 0
        assert (await devices.listed(session, Wish())).total == 0
        assert (await instances.listed(session, Wish())).total == 0
        page = await events_read.listed(session, Wish(), model="m", instance_id=None, since=START)
    assert [event["kind"] for event in page.items] == ["instance_gone", "move"]


async def test_what_a_gateway_says_replaces_what_it_said(db: Database) -> None:
    for revision in (1, 2):
        status = GatewayStatus(gateway_id="g", epoch=1, models_revision=revision, credentials_revision=1, leases={7: 1})
        async with db.write() as session:
            await gateways.heard(session, status, START)
    async with db.read() as session:
        (row,) = (await session.exec(select(GatewayRow))).all()
    assert (row.models_revision, row.leases) == (2, {"7": 1})


async def test_writers_at_once_leave_no_gap_and_a_reader_sees_each_change_once(db: Database, ports: Ports) -> None:
    """Between a list's revision and the log there is nothing: whatever commits later has a later number."""

    async def write(writer: int) -> None:
        for turn in range(10):
            async with db.write() as session:
                await changes.record(session, "model", "put", writer * 100 + turn, {"turn": turn}, ports.clock)

    async def read() -> list[int]:
        seen: list[int] = []
        position = 0
        while len(seen) < 50:
            async with db.read() as session:
                found = await changes_read.behind(session, position)
            assert not isinstance(found, Gap)
            seen += [change.object_id for change in found]
            position = found[-1].id if found else position
            await asyncio.sleep(0)
        return seen

    *_, first, second = await asyncio.gather(*(write(writer) for writer in range(5)), read(), read())
    assert first == second
    assert sorted(first) == [writer * 100 + turn for writer in range(5) for turn in range(10)]
    for writer in range(5):
        own = [each for each in first if each // 100 == writer]
        assert own == sorted(own)


async def test_a_list_and_its_revision_are_of_one_moment(db: Database, ports: Ports) -> None:
    async def write() -> None:
        for number in range(20):
            async with db.write() as session:
                model = a_model(id=None, name=f"m{number}")
                await models.record_put(session, model, ports.clock)

    async def look() -> None:
        for _ in range(40):
            async with db.read() as session:
                page = await models.listed(session, Wish(limit=1000))
            assert len(page.items) == page.total == page.revision

    await asyncio.gather(write(), look(), look())


async def test_a_position_beyond_or_before_what_is_kept_is_a_gap(db: Database, ports: Ports) -> None:
    for number in range(1, 6):
        async with db.write() as session:
            await changes.record(session, "model", "put", number, None, ports.clock)
    async with db.write() as session:
        await changes.trim(session, kept=2)
    async with db.read() as session:
        assert await changes_read.behind(session, 2) == Gap(5)
        assert [each.id for each in await changes_read.behind(session, 3)] == [4, 5]  # type: ignore[union-attr]
        assert await changes_read.behind(session, 5) == []
        assert await changes_read.behind(session, 6) == Gap(5)


async def test_rows_that_are_forgotten_leave_their_sums(db: Database) -> None:
    await add(db, a_user())
    await add(db, ApiKey(id=1, name="k", user_id=1, digest="d", prefix="p", created_at=START))
    old, yesterday = START - timedelta(days=40), START - timedelta(days=1)
    served = [a_row(f"r{number}", started_at=old + timedelta(minutes=number), audio_seconds=0.5) for number in range(7)]
    others = [
        a_row("refused", started_at=old, instance_id=None, prompt_tokens=None, completion_tokens=None),
        a_row("nobody's", started_at=old, key_id=None, user_id=None, prompt_tokens=None),
        a_row("the same day, earlier", started_at=old - timedelta(hours=1)),
        a_row("kept", started_at=yesterday),
    ]
    await count(db, [*served, *others])
    before = await sums_of(db)
    while await forget(db, START - timedelta(days=30), 3) == 3:
        assert await sums_of(db) == before
    assert await sums_of(db) == before
    async with db.read() as session:
        left = await requests.listed(session, Wish(), Sought(), Reach())
        since = await usage.summed(session, ["model"], START - timedelta(days=30), None, None)
        one_day = await usage.summed(
            session, [], START_OF_DAY - timedelta(days=40), START_OF_DAY - timedelta(days=39), 1
        )
    assert [row["request_id"] for row in left.items] == ["kept"]
    assert [row["requests"] for row in since] == [1]
    assert [(row["requests"], row["prompt_tokens"], row["audio_seconds"]) for row in one_day] == [(8, 80, 3.5)]


START_OF_DAY = START.replace(hour=0, minute=0, second=0)


async def sums_of(db: Database) -> list[dict[str, Any]]:
    async with db.read() as session:
        return await usage.summed(session, ["model", "key", "user"], None, None, None)


async def forget(db: Database, before: datetime, at_most: int) -> int:
    async with db.write() as session:
        return await usage_days.forget(session, before, at_most)


async def test_a_request_is_found_by_either_of_its_ids(db: Database) -> None:
    await add(db, a_user())
    await count(db, [a_row("ours", shown_id="theirs")])
    async with db.read() as session:
        assert (await requests.one(session, "theirs", Reach()))["request_id"] == "ours"
        assert (await requests.one(session, "ours", Reach(1)))["shown_id"] == "theirs"
        with pytest.raises(Refusal):
            await requests.one(session, "ours", Reach(2))


async def test_a_usage_row_is_read_back_as_it_was_counted(db: Database) -> None:
    row = a_row("r", started_at=START + timedelta(microseconds=1), ttft_seconds=0.25, cause="client_gone", partial=True)
    await count(db, [row])
    async with db.read() as session:
        found = await session.get(UsageRecord, "r")
    assert found is not None
    assert UsageRow.model_validate(found.model_dump()) == row


async def test_usage_is_summed_by_the_hours_and_days_of_utc_whatever_became_of_its_rows(db: Database) -> None:
    day = START.replace(hour=0, minute=0, second=0, microsecond=0)
    begun = [day - timedelta(hours=1), day + timedelta(hours=5), day + timedelta(hours=5, minutes=59)]
    await count(db, [a_row(f"h{number}", started_at=at) for number, at in enumerate(begun)])

    async def counted(by: str) -> dict[str, int]:
        async with db.read() as session:
            return {each[by]: each["requests"] for each in await usage.summed(session, [by], None, None, None)}

    before, today = (day - timedelta(days=1)).date().isoformat(), day.date().isoformat()
    assert await counted("hour") == {f"{before}T23:00Z": 1, f"{today}T05:00Z": 2}
    async with db.write() as session:
        assert await usage_days.forget(session, day, 100) == 1
    assert await counted("day") == {before: 1, today: 2}
    assert await counted("hour") == {f"{before}T00:00Z": 1, f"{today}T05:00Z": 2}
