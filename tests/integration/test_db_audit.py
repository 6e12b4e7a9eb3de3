"""One chain on both databases: under many writers, under kill -9, and under somebody who edits the table."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import select

from gpustack_lite import acting
from gpustack_lite.acting import Actor
from gpustack_lite.db.engine import Database, open_database
from gpustack_lite.db.queries import audit, audit_check
from gpustack_lite.db.tables import AuditRow, Group
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from tests.harness import cli

pytestmark = pytest.mark.integration
WRITERS = 20
EACH = 5
ACTOR = Actor(1, "ada", "session", 7, "10.0.0.1", "r")


async def make_group(db: Database, name: str, ports: Ports) -> None:
    with acting.acting(ACTOR):
        async with db.write() as session:
            session.add(Group(name=name, created_at=ports.clock.wall()))


async def verified(db: Database) -> tuple[bool, int, str | None, int | None]:
    async with db.read() as session:
        found = await audit_check.verify(session)
    fault = found["fault"] or {"code": None, "params": {}}
    return found["ok"], found["rows"], fault["code"], fault["params"].get("row")


async def test_many_writers_of_several_servers_make_one_chain(db: Database, migrated_url: str, ports: Ports) -> None:
    other = await open_database(migrated_url, ports)
    async with asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            for each in range(EACH):
                group.create_task(make_group((db, other)[writer % 2], f"{writer}-{each}", ports))
    await other.close()
    assert await verified(db) == (True, WRITERS * EACH, None, None)


async def fail_to_make_group(db: Database, ports: Ports) -> None:
    with acting.acting(ACTOR):
        async with db.write() as session:
            session.add(Group(name="b", created_at=ports.clock.wall()))
            await session.flush()
            raise RuntimeError("no")


async def test_what_rolls_back_leaves_no_row_and_no_gap(db: Database, ports: Ports) -> None:
    await make_group(db, "a", ports)
    with pytest.raises(RuntimeError, match="no"):
        await fail_to_make_group(db, ports)
    await make_group(db, "c", ports)
    assert await verified(db) == (True, 2, None, None)


@pytest.mark.parametrize(
    ("statement", "code", "row"),
    [
        pytest.param("UPDATE audit SET actor = 'eve' WHERE id = 3", "audit_row_changed", 3, id="who"),
        pytest.param("UPDATE audit SET after = '{}' WHERE id = 3", "audit_row_changed", 3, id="what"),
        pytest.param(
            "UPDATE audit SET at = (SELECT at FROM audit WHERE id = 2) WHERE id = 3", "audit_row_changed", 3, id="when"
        ),
        pytest.param("DELETE FROM audit WHERE id = 3", "audit_row_missing", 3, id="deleted"),
        pytest.param("DELETE FROM audit WHERE id >= 4", "audit_tail_missing", 4, id="tail"),
        pytest.param("DELETE FROM audit_head", "audit_row_added", 1, id="head"),
        pytest.param("UPDATE audit_head SET rows = 4", "audit_row_added", 5, id="head moved back"),
        pytest.param("UPDATE audit SET digest = 'x' WHERE id = 5", "audit_row_changed", 5, id="digest"),
        pytest.param(
            "UPDATE audit SET id = CASE id WHEN 2 THEN -3 WHEN 3 THEN 2 ELSE id END WHERE id IN (2, 3);"
            "UPDATE audit SET id = 3 WHERE id = -3",
            "audit_row_changed",
            2,
            id="swapped",
        ),
    ],
)
async def test_who_edits_the_table_is_found_out(
    db: Database, ports: Ports, statement: str, code: str, row: int
) -> None:
    for number in range(5):
        await make_group(db, str(number), ports)
        ports.clock.advance(1)  # type: ignore[attr-defined]
    async with db.write() as session:
        connection = await session.connection()
        for each in statement.split(";"):
            await connection.execute(text(each))
    ok, _, found, at = await verified(db)
    assert (ok, found, at) == (False, code, row)


async def test_times_and_values_come_back_as_they_were_digested(db: Database, ports: Ports) -> None:
    odd = {"float": 0.1, "large": 2**62, "text": '\u4e2d\U0001f600\\"\n', "none": None, "list": [1, [True]]}
    with acting.acting(ACTOR):
        async with db.write() as session:
            group = Group(name="x", limits=odd, created_at=ports.clock.wall())
            session.add(group)
    async with db.read() as session:
        row = (await session.exec(select(AuditRow))).one()
        assert row.after is not None
        assert row.after["limits"] == odd
    assert (await verified(db))[0]


async def test_a_database_is_checked_without_a_server_and_left_as_it_is(
    db: Database, migrated_url: str, ports: Ports, tmp_path: Path
) -> None:
    for number in range(3):
        await make_group(db, str(number), ports)
    where = migrated_url if migrated_url.startswith("postgres") else str(tmp_path / "gpustack-lite.db")
    whole = await asyncio.to_thread(cli, "audit", "verify", "--database", where, "-o", "json")
    assert (whole.returncode, json.loads(whole.stdout)["rows"]) == (0, 3), whole.stderr
    noted = json.loads(whole.stdout)["head"]
    again = await asyncio.to_thread(cli, "audit", "verify", "--database", where, "--noted", noted)
    assert (again.returncode, noted in again.stdout) == (0, True)
    async with db.write() as session:
        await session.delete(await session.get(AuditRow, 2))
    broken = await asyncio.to_thread(cli, "audit", "verify", "--database", where)
    assert (broken.returncode, "Row 2 is missing" in broken.stdout) == (1, True)


def test_a_database_that_is_none_is_named_and_not_made(tmp_path: Path) -> None:
    done = cli("audit", "verify", "--database", str(tmp_path / "none.db"))
    assert (done.returncode, "none.db" in done.stderr, (tmp_path / "none.db").exists()) == (1, True, False)


WRITE_FOR_EVER = """
import asyncio, sys
from gpustack_lite import acting
from gpustack_lite.acting import Actor
from gpustack_lite.db.engine import open_database
from gpustack_lite.db.tables import Group
from gpustack_lite.ports import Ports

async def main():
    ports = Ports()
    db = await open_database(sys.argv[1], ports)
    with acting.acting(Actor(1, "ada", "session")):
        number = 0
        while True:
            async with db.write() as session:
                session.add(Group(name=f"{sys.argv[2]}-{number}", created_at=ports.clock.wall()))
            print(number, flush=True)
            number += 1

asyncio.run(main())
"""


async def test_what_is_killed_while_it_writes_leaves_as_many_rows_as_changes(db: Database, migrated_url: str) -> None:
    """Three programs at once, each killed after its next row; every change has its row and every row its change."""
    for round_ in range(2):
        programs = [
            subprocess.Popen(
                [sys.executable, "-c", WRITE_FOR_EVER, migrated_url, f"{round_}-{each}"], stdout=subprocess.PIPE
            )
            for each in range(3)
        ]
        for each in programs:
            assert each.stdout is not None
            for _ in range(4):
                await asyncio.to_thread(each.stdout.readline)
        for each in programs:
            os.kill(each.pid, signal.SIGKILL)
            each.communicate()
    async with db.read() as session:
        groups = sorted(await session.exec(select(Group.name)))
        told = sorted(await session.exec(select(AuditRow.name)))
    assert len(groups) >= 24
    assert told == groups
    assert (await verified(db))[:2] == (True, len(groups))


async def test_the_oldest_are_trimmed_and_the_chain_still_holds(db: Database, ports: Ports) -> None:
    for number in range(6):
        await make_group(db, str(number), ports)
        ports.clock.advance(86_400)  # type: ignore[attr-defined]
    now = ports.clock.wall()
    async with db.write() as session:
        third = await session.get(AuditRow, 3)
        assert third is not None
        assert await audit.trim(session, third.at, 100, now) == 2
        assert await audit.trim(session, third.at, 100, now) == 0
    assert await verified(db) == (True, 7, None, None)
    async with db.write() as session:
        await session.delete(await session.get(AuditRow, 3))
    assert await verified(db) == (False, 7, "audit_row_missing", 3)


async def test_a_url_that_is_none_is_refused(ports: Ports) -> None:
    from gpustack_lite.db.offline import verified as offline

    with pytest.raises(Refusal, match="bad_database_url"):
        await offline("mysql://x", None)
