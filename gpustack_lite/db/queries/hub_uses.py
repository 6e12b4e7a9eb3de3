"""Whether a worker has to do with a hub."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import Inspection, ModelFile


async def is_used(session: AsyncSession, worker_id: int, hub: str) -> bool:
    """It holds files from there or is to, or it is or was asked about something there."""
    for table in (ModelFile, Inspection):
        theirs = (col(table.worker_id) == worker_id, col(table.source).startswith(f"{hub}:", autoescape=True))
        if (await session.exec(select(table.source).where(*theirs).limit(1))).first() is not None:
            return True
    return False
