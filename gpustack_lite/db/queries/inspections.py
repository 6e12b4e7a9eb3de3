"""What workers know of model files: asked through their Assignments, answered in their StatusReports."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries.moves import change_assignment
from gpustack_lite.db.tables import Inspection
from gpustack_lite.ports import Clock
from gpustack_lite.wire import FactsReport

FRESH_SECONDS = 60.0
"""An answer with facts is not asked for again within this time."""
REFUSAL_SECONDS = 30.0
"""What was refused or not answered is asked again after this time while an instance waits for it."""


async def of_sources(session: AsyncSession, sources: Iterable[str]) -> list[Inspection]:
    wanted = select(Inspection).where(col(Inspection.source).in_(set(sources)))
    return list(await session.exec(wanted.order_by(col(Inspection.source), col(Inspection.worker_id))))


def is_due(inspection: Inspection | None, now: datetime) -> bool:
    """Whether a waiting instance is a reason to ask (again)."""
    if inspection is None:
        return True
    if inspection.facts is not None:
        return False
    return now - (inspection.answered_at or inspection.asked_at) > timedelta(seconds=REFUSAL_SECONDS)


async def ask(session: AsyncSession, source: str, worker_ids: Sequence[int], clock: Clock) -> bool:
    """Ask these workers about the source, refused or stale answers included; facts in hand stay usable meanwhile.

    True when an Assignment changed: touch "assignments" after the commit.
    """
    known = {each.worker_id: each for each in await of_sources(session, [source])}
    now = clock.wall()
    asked = [worker_id for worker_id in worker_ids if _is_worth_asking(known.get(worker_id), now)]
    for worker_id in asked:
        row = known.get(worker_id) or Inspection(source=source, worker_id=worker_id, asked_at=now)
        row.asked_at, row.answered_at, row.refused = now, None, None
        session.add(row)
    if asked:
        await change_assignment(session, *asked)
    return bool(asked)


def _is_worth_asking(inspection: Inspection | None, now: datetime) -> bool:
    if inspection is None:
        return True
    if inspection.answered_at is None:  # a worker that restarted may have forgotten the question
        return now - inspection.asked_at > timedelta(seconds=REFUSAL_SECONDS)
    return inspection.facts is None or now - inspection.answered_at > timedelta(seconds=FRESH_SECONDS)


async def forget_refusals(session: AsyncSession, *, source: str | None = None, worker_id: int | None = None) -> None:
    """A worker joined again, or somebody edited or started a model: what was refused may hold now."""
    answered = select(Inspection).where(col(Inspection.answered_at).is_not(None))
    if source is not None:
        answered = answered.where(Inspection.source == source)
    if worker_id is not None:
        answered = answered.where(Inspection.worker_id == worker_id)
    for each in list(await session.exec(answered)):
        if each.facts is None:  # asked here, because a JSON null is not NULL
            await session.delete(each)


async def answer(session: AsyncSession, worker_id: int, report: FactsReport, clock: Clock) -> bool:
    """Keep what a worker found out; False when it was not asked. Touch "inspections" after the commit."""
    row = await session.get(Inspection, (report.source, worker_id))
    if row is None or (report.facts is None and report.refused is None):
        return False
    row.answered_at = clock.wall()
    row.facts = report.facts
    row.refused = report.refused.model_dump() if report.refused else None
    session.add(row)
    return True
