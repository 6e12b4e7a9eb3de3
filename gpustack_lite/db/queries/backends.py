"""Backends that operators described, beside those that workers say they have."""

from collections import defaultdict

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import CustomBackend, Worker


async def custom(session: AsyncSession, name: str) -> CustomBackend | None:
    return (await session.exec(select(CustomBackend).where(CustomBackend.name == name))).one_or_none()


async def all_custom(session: AsyncSession) -> list[CustomBackend]:
    return list(await session.exec(select(CustomBackend).order_by(col(CustomBackend.name))))


async def reported_versions(session: AsyncSession, backend: str) -> dict[tuple[str, str], list[str]]:
    """(version, source) -> names of the workers that have it installed."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for worker in await session.exec(select(Worker).order_by(col(Worker.name))):
        for version in worker.backend_versions:
            if version["backend"] == backend and version["installed"]:
                found[version["version"], version["source"]].append(worker.name)
    return dict(found)
