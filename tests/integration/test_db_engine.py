"""Opening, migrating and refusing databases; the change log under many writers."""

import asyncio
import sqlite3
import stat
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlmodel import SQLModel, select

from gpustack_lite.db.engine import Database, open_database, sqlite_url
from gpustack_lite.db.migrations.runner import known_revisions
from gpustack_lite.db.queries import changes, cluster, events
from gpustack_lite.db.tables import Change, Event
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports

pytestmark = pytest.mark.integration
WRITERS = 8
CHANGES_EACH = 25


def _differences(connection: Connection) -> list[object]:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    return list(compare_metadata(MigrationContext.configure(connection), SQLModel.metadata))


async def test_the_migrations_make_exactly_the_tables_of_the_program(database_url: str, ports: Ports) -> None:
    database = await open_database(database_url, ports)
    async with database.write() as session:
        assert await (await session.connection()).run_sync(_differences) == []
    await database.close()


async def test_a_second_start_changes_nothing(db: Database, migrated_url: str, ports: Ports) -> None:
    async with db.write() as session:
        await events.insert_event(session, ports.clock, "user_created")
    again = await open_database(migrated_url, ports)
    async with again.read() as session:
        assert [each.kind for each in await session.exec(select(Event))] == ["user_created"]
    await again.close()


async def test_two_programs_that_start_at_once_migrate_once(database_url: str, ports: Ports) -> None:
    opened = await asyncio.gather(*(open_database(database_url, ports) for _ in range(4)))
    async with opened[-1].read() as session:
        assert await cluster.counter(session, cluster.CHANGES) == 0
    for each in opened:
        await each.close()


async def test_a_database_of_a_newer_program_is_refused_and_left_alone(
    db: Database, migrated_url: str, ports: Ports
) -> None:
    async with db.write() as session:
        await session.exec(text("UPDATE alembic_version SET version_num = '9999'"))  # type: ignore[call-overload]
    with pytest.raises(Refusal) as caught:
        await open_database(migrated_url, ports)
    async with db.write() as session:
        restored = f"UPDATE alembic_version SET version_num = '{known_revisions()[-1]}'"
        await session.exec(text(restored))  # type: ignore[call-overload]
    assert caught.value.code == "database_newer"
    assert caught.value.params == {"found": "9999", "known": known_revisions()[-1]}


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at" * 100, b"SQLite format 3\0" * 300])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, ports: Ports, content: bytes
) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(Refusal) as caught:
        await open_database(sqlite_url(path), ports)
    assert caught.value.code == "database_unreadable"
    assert path.read_bytes() == content


async def test_a_folder_that_cannot_be_made_is_refused_with_its_name(tmp_path: Path, ports: Ports) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal) as caught:
        await open_database(sqlite_url(tmp_path / "file" / "x.db"), ports)
    assert (caught.value.code, caught.value.params["path"]) == ("data_dir_not_writable", str(tmp_path / "file"))


@pytest.mark.parametrize("url", ["", "mysql://x/y", "sqlite://", "no url"])
async def test_an_address_of_another_kind_is_refused(url: str, ports: Ports) -> None:
    with pytest.raises(Refusal) as caught:
        await open_database(url, ports)
    assert caught.value.code == "bad_database_url"


async def test_a_postgresql_that_does_not_answer_is_refused_with_its_address(ports: Ports) -> None:
    with pytest.raises(Refusal) as caught:
        await open_database("postgresql://nobody:geheim@127.0.0.1:1/x", ports)
    assert caught.value.code == "database_unreachable"
    assert caught.value.params["where"] == "127.0.0.1:1"
    assert "geheim" not in str(caught.value)


async def test_a_sqlite_file_is_private_and_fully_synchronous(tmp_path: Path, ports: Ports) -> None:
    path = tmp_path / "x.db"
    database = await open_database(sqlite_url(path), ports)
    async with database.write() as session:
        await cluster.next_counter(session, "x")
        connection = await session.connection()
        asked = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        found = [(await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one() for name in asked]
        modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    await database.close()
    assert found == ["wal", 2, 1, 10_000]
    assert modes == {0o600}
    assert sqlite3.connect(path).execute("SELECT value FROM counters").fetchall() == [(1,)]


async def test_what_raises_inside_a_write_leaves_nothing_behind(db: Database) -> None:
    async def write_and_fail() -> None:
        async with db.write() as session:
            await cluster.next_counter(session, "x")
            raise Refusal("not_leading")

    with pytest.raises(Refusal):
        await write_and_fail()
    async with db.read() as session:
        assert await cluster.counter(session, "x") == 0


async def test_a_reader_sees_one_moment(db: Database) -> None:
    async with db.read() as session:
        before = await cluster.counter(session, "x")
        async with db.write() as writer:
            await cluster.next_counter(writer, "x")
        assert await cluster.counter(session, "x") == before
    async with db.read() as session:
        assert await cluster.counter(session, "x") == before + 1


async def test_changes_have_neither_gap_nor_reordering_under_many_writers(
    db: Database, migrated_url: str, ports: Ports
) -> None:
    """Two programs, eight writers: whoever reads up to N at any moment has everything up to N."""
    other = await open_database(migrated_url, ports)
    done = asyncio.Event()

    async def write(database: Database, writer: int) -> None:
        for number in range(CHANGES_EACH):
            async with database.write() as session:
                await changes.record(session, "model", "put", writer, {"n": number}, ports.clock)

    async def watch() -> list[int]:
        seen: list[int] = []
        while True:
            last_round = done.is_set()
            async with db.read() as session:
                after = seen[-1] if seen else 0
                newer = select(Change.id).where(Change.id > after).order_by("id")
                seen += list(await session.exec(newer))
            if last_round:
                return seen
            await asyncio.sleep(0)

    watching = asyncio.ensure_future(watch())
    await asyncio.gather(*(write((db, other)[each % 2], each) for each in range(WRITERS)))
    done.set()
    assert await watching == list(range(1, WRITERS * CHANGES_EACH + 1))
    await other.close()


async def test_only_the_newest_changes_and_events_are_kept(db: Database, ports: Ports) -> None:
    async with db.write() as session:
        for _ in range(10):
            await events.insert_event(session, ports.clock, "x")
        await changes.trim(session, 3)
        await events.trim(session, 2)
    async with db.read() as session:
        assert list(await session.exec(select(Change.id).order_by("id"))) == [8, 9, 10]
        assert list(await session.exec(select(Event.id).order_by("id"))) == [9, 10]
