"""What loads really took, one row per key: written from workers' reports, read for placements."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import iso
from gpustack_lite.db.tables import Measurement, ModelInstance, Worker
from gpustack_lite.domain import Allocated
from gpustack_lite.planning.learning import Lesson, source_digest
from gpustack_lite.ports import Clock
from gpustack_lite.wire import Measured

OUT_OF_MEMORY = frozenset({"engine_out_of_memory"})


async def of_sources(session: AsyncSession, sources: Iterable[str]) -> dict[str, Lesson]:
    digests = {source_digest(each) for each in sources}
    rows = await session.exec(select(Measurement).where(col(Measurement.source_digest).in_(digests)))
    return {row.key: lesson_of(row) for row in rows}


def lesson_of(row: Measurement) -> Lesson:
    """Fields that a newer server wrote are left out."""
    return Lesson(
        measured=msgspec.convert(row.measured, Allocated),
        besides_cache_bytes=row.besides_cache_bytes,
        too_little_bytes=row.too_little_bytes,
        too_little_ram_bytes=row.too_little_ram_bytes,
        worker=row.worker,
        at=iso(row.measured_at) or "",
    )


async def remember(session: AsyncSession, instance: ModelInstance, measured: Measured, clock: Clock) -> None:
    """The most that any load of the key took. What runs on simulated devices took nothing, and teaches nothing."""
    if instance.simulated or instance.measurement_key is None:
        return
    row = await _row(session, instance.measurement_key, clock)
    row.measured = largest(row.measured, measured.model_dump(exclude_none=True))
    if (besides := _besides_cache(instance, measured)) is not None:
        row.besides_cache_bytes = max(row.besides_cache_bytes or 0, besides)
    row.measured_at = clock.wall()
    row.worker = await _worker_name(session, instance)
    session.add(row)


async def remember_failure(session: AsyncSession, instance: ModelInstance, clock: Clock) -> None:
    """It ran out of memory under this claim: the next claim of the key is a larger one."""
    if instance.simulated or instance.measurement_key is None:
        return
    row = await _row(session, instance.measurement_key, clock)
    claim = instance.claim or {}
    row.too_little_bytes = max(row.too_little_bytes, int(claim.get("bytes_per_device") or 0))
    row.too_little_ram_bytes = max(row.too_little_ram_bytes, int(claim.get("ram_bytes") or 0))
    session.add(row)


def _besides_cache(instance: ModelInstance, measured: Measured) -> int | None:
    share = int((instance.claim or {}).get("bytes_per_device") or 0)
    return max(share - measured.kv_bytes, 0) if share and measured.kv_bytes else None


def largest(known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {name: max(known.get(name) or 0, new.get(name) or 0) for name in sorted({*known, *new})}


async def _row(session: AsyncSession, key: str, clock: Clock) -> Measurement:
    row = await session.get(Measurement, key)
    return row or Measurement(key=key, source_digest=key.partition("-")[0], measured_at=clock.wall())


async def _worker_name(session: AsyncSession, instance: ModelInstance) -> str:
    worker = await session.get(Worker, instance.worker_id)
    return "" if worker is None else worker.name
