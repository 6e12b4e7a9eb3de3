"""Reading the change log behind a position, and noticing when what was asked for is no longer kept."""

from dataclasses import dataclass

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import cluster
from gpustack_lite.db.tables import Change

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Gap:
    """What lies between the position and the log is lost: list again and go on from `revision`."""

    revision: int


async def revision(session: AsyncSession) -> int:
    return await cluster.counter(session, cluster.CHANGES)


async def behind(session: AsyncSession, position: int) -> list[Change] | Gap:
    """The next changes in order, at most 500, or `Gap` when the log does not reach back (or forth) to `position`."""
    current = await revision(session)
    if position == current:
        return []
    statement = select(Change).where(col(Change.id) > position).order_by(col(Change.id)).limit(AT_ONCE)
    found = list((await session.exec(statement)).all())
    is_whole = position < current and bool(found) and found[0].id == position + 1
    return found if is_whole else Gap(current)
