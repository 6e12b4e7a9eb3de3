"""Databases for tests: a SQLite file and a real PostgreSQL, through the same door as in production."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlmodel import SQLModel

from gpustack_lite.db.engine import Database, open_database, sqlite_url
from gpustack_lite.ports import Ports
from tests.fakes.clock import ManualClock
from tests.integration.postgres import cluster


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with cluster() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "gpustack-lite.db")
    server: str = request.getfixturevalue("postgres")
    _execute(server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return f"{server}/postgres"


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copied for each test, which is quicker than migrating each time."""
    path = tmp_path_factory.mktemp("migrated") / "gpustack-lite.db"
    _migrate(sqlite_url(path))
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each kind that has its tables and nothing in them."""
    if request.param == "sqlite":
        path = tmp_path / "gpustack-lite.db"
        shutil.copy(request.getfixturevalue("migrated_file"), path)
        return sqlite_url(path)
    server: str = request.getfixturevalue("postgres")
    _migrate(f"{server}/postgres")
    tables = ", ".join(f'"{table}"' for table in SQLModel.metadata.tables)
    _execute(server, f"TRUNCATE {tables} RESTART IDENTITY")
    return f"{server}/postgres"


def _execute(server: str, statements: str) -> None:
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(statements.encode())


def _migrate(url: str) -> None:
    async def open_and_close() -> None:
        await (await open_database(url, Ports())).close()

    with asyncio.Runner() as runner:
        runner.run(open_and_close())


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ports(clock: ManualClock) -> Ports:
    return Ports(clock=clock)


@pytest.fixture
async def db(migrated_url: str, ports: Ports) -> AsyncIterator[Database]:
    database = await open_database(migrated_url, ports)
    yield database
    await database.close()
