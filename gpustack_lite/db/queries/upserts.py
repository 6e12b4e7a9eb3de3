"""INSERT ... ON CONFLICT in the dialect that the session speaks."""

from typing import Any

from sqlalchemy.dialects import sqlite
from sqlmodel.ext.asyncio.session import AsyncSession


def insert(session: AsyncSession, table: Any) -> Any:
    if session.get_bind().dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # loaded already where it is used

    return postgresql.insert(table)
