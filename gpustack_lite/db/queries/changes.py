"""The change log behind /watch: numbered in the writing transaction, so a reader never misses or reorders one."""

from typing import Any, Literal

from sqlalchemy import delete
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import cluster
from gpustack_lite.db.tables import Change
from gpustack_lite.ports import Clock


async def record(  # noqa: PLR0917  # six nouns in the order of the row
    session: AsyncSession,
    kind: str,
    op: Literal["put", "delete"],
    object_id: int,
    document: dict[str, Any] | None,
    clock: Clock,
) -> int:
    """Append one change and answer its id. Writers of one transaction hold the counter's row until they commit."""
    change_id = await cluster.next_counter(session, cluster.CHANGES)
    session.add(Change(id=change_id, at=clock.wall(), kind=kind, op=op, object_id=object_id, document=document))
    return change_id


async def trim(session: AsyncSession, kept: int) -> int:
    """Forget all but the last `kept`; readers that are further back get `reset`."""
    newest = await cluster.counter(session, cluster.CHANGES)
    gone = await session.exec(delete(Change).where(col(Change.id) <= newest - kept))
    return int(gone.rowcount)
