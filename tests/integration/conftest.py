"""Databases for tests: a SQLite file and a real PostgreSQL, through the same door as in production."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

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
    return new_postgres_database(request.getfixturevalue("postgres"), f"t{abs(hash(tmp_path))}")


def new_postgres_database(server: str, name: str) -> str:
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{server}/{name}"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ports(clock: ManualClock) -> Ports:
    return Ports(clock=clock)


@pytest.fixture
async def db(database_url: str, ports: Ports) -> AsyncIterator[Database]:
    database = await open_database(database_url, ports)
    yield database
    await database.close()
