"""Opens the database: SQLite in WAL mode with full synchronisation, or PostgreSQL; one writer at a time on both."""

import asyncio
import importlib.util
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import acting
from gpustack_lite.db import auditing
from gpustack_lite.db.migrations.runner import migrate
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Clock, Ports

BUSY_TIMEOUT_SECONDS = 10
_WRITER_LOCK = 0x6770_6C31
"""Key of the PostgreSQL advisory lock that every writing transaction takes first."""
_CHECKED_UP_TO_PAGES = 8192
"""Of 4 KiB: the check takes milliseconds up to there."""


class Database:
    """`read` sees one consistent snapshot; `write` is alone, commits at its end and rolls back on an exception.

    What a person does in `write` is in the audit log when it commits, or it does not commit.

    What `write` committed is on disk when it returns (synchronous=FULL), so it may be acknowledged to others.
    """

    def __init__(self, engine: AsyncEngine, url: URL, clock: Clock) -> None:
        self.url = url
        self._clock = clock
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._engine = engine
        self._reader = engine if self.is_sqlite else engine.execution_options(isolation_level="REPEATABLE READ")
        self._writer = engine.execution_options(immediate=True)
        self._one_writer = asyncio.Lock()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        async with AsyncSession(self._reader, expire_on_commit=False, autoflush=False) as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        async with self._turn(), AsyncSession(self._writer, expire_on_commit=False) as session, session.begin():
            await self._be_the_only_writer(await session.connection())
            if acting.current() is not None:
                auditing.watch(session)
            yield session
            await auditing.write_down(session, self._clock)

    async def migrate(self) -> None:
        async with self._turn(), self._writer.connect() as connection, connection.begin():
            await self._be_the_only_writer(connection)
            await connection.run_sync(migrate)

    def _turn(self) -> AbstractAsyncContextManager[None]:
        """Writers of this process queue here instead of polling SQLite's lock."""
        return self._one_writer if self.is_sqlite else nullcontext()

    async def _be_the_only_writer(self, connection: AsyncConnection) -> None:
        """SQLite's BEGIN IMMEDIATE has seen to it already."""
        if not self.is_sqlite:
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITER_LOCK})

    async def close(self) -> None:
        await self._engine.dispose()


async def open_database(url: str, ports: Ports) -> Database:
    """Connect and migrate.

    Raises:
        Refusal: `bad_database_url`, `postgres_driver_missing`, `data_dir_not_writable`, `database_newer`,
            `database_unreadable` or `database_unreachable`.
    """
    parsed = with_driver(url)
    if parsed.get_backend_name() == "sqlite":
        _prepare_file(Path(parsed.database or ""), ports)
    database = Database(_make_engine(parsed), parsed, ports.clock)
    try:
        if database.is_sqlite:
            await _check(database)
        await database.migrate()
    except Refusal:
        await database.close()
        raise
    except DBAPIError as error:
        await database.close()
        raise _refusal(parsed, error) from error
    return database


def sqlite_url(path: Path) -> str:
    return URL.create("sqlite+aiosqlite", database=str(path)).render_as_string(hide_password=False)


def with_driver(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise Refusal("bad_database_url", status=500) from error
    drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
    name = parsed.drivername.partition("+")[0]
    if name not in drivers or (name == "sqlite" and not parsed.database):
        raise Refusal("bad_database_url", status=500)
    if name != "sqlite" and importlib.util.find_spec("psycopg") is None:
        raise Refusal("postgres_driver_missing", status=500)
    return parsed.set(drivername=drivers[name])


def _prepare_file(path: Path, ports: Ports) -> None:
    """The file exists with mode 0600 before SQLite opens it; its -wal and -shm take the same mode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            ports.disk.replace(path, b"")
        with path.open("r+b"):
            pass
    except OSError as error:
        raise Refusal("data_dir_not_writable", status=500, path=str(path.parent), why=error.strerror) from error


def _make_engine(url: URL) -> AsyncEngine:
    if url.get_backend_name() != "sqlite":
        return create_async_engine(url, pool_pre_ping=True)
    engine = create_async_engine(url, connect_args={"timeout": BUSY_TIMEOUT_SECONDS})
    event.listen(engine.sync_engine, "connect", _configure_connection)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _configure_connection(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself; `_begin` does
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    immediate = connection.get_execution_options().get("immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


async def _check(database: Database) -> None:
    """A file that is damaged is found now, not at the first row that happens to lie on a bad page."""
    async with database.read() as session:
        connection = await session.connection()
        pages = (await connection.exec_driver_sql("PRAGMA page_count")).scalar_one()
        if pages > _CHECKED_UP_TO_PAGES:
            return
        answer = (await connection.exec_driver_sql("PRAGMA quick_check(1)")).scalar_one()
    if answer != "ok":
        raise Refusal("database_unreadable", status=500, path=str(database.url.database), why=str(answer))


def _refusal(url: URL, error: DBAPIError) -> Refusal:
    why = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    if isinstance(error.orig, sqlite3.Error) or url.get_backend_name() == "sqlite":
        return Refusal("database_unreadable", status=500, path=str(url.database), why=why)
    return Refusal("database_unreachable", status=503, where=f"{url.host}:{url.port or 5432}", why=why)
