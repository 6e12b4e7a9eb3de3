"""Reads a database without a server, and without changing anything in it: no migration, no lock."""

from pathlib import Path
from typing import Any

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.audit import Noted
from gpustack_lite.db.engine import with_driver
from gpustack_lite.db.queries import audit_check
from gpustack_lite.errors import Refusal


async def verified(database: str, noted: Noted | None) -> dict[str, Any]:
    """What `audit_check.verify` says of a file or URL.

    Raises:
        Refusal: `audit_absent`, or what is wrong with the URL.
    """
    engine = _engine(database)
    try:
        async with AsyncSession(engine) as session:
            return await audit_check.verify(session, noted)
    except DBAPIError as error:
        raise Refusal("audit_absent", status=404, path=database.rpartition("@")[2]) from error
    finally:
        await engine.dispose()


def _engine(database: str) -> AsyncEngine:
    url = with_driver(database) if "://" in database else _file(Path(database))
    options: dict[str, Any] = {} if url.get_backend_name() == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    return create_async_engine(url, **options)


def _file(path: Path) -> URL:
    """Read-only: a file that is not there is not made."""
    return URL.create("sqlite+aiosqlite", database=f"file:{path.absolute()}", query={"mode": "ro", "uri": "true"})
