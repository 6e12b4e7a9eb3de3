"""Walks the whole chain of the audit log, in one snapshot."""

from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.audit import Noted, Walk
from gpustack_lite.db.queries import audit
from gpustack_lite.domain import Sentence


async def verify(session: AsyncSession, noted: Noted | None = None) -> dict[str, Any]:
    """`fault` says what is wrong with the first row that does not fit; `head` is what to note elsewhere."""
    head = await audit.head(session)
    walk = Walk(head, noted)
    fault = await _fault(session, walk)
    return {
        "ok": fault is None,
        "checked": walk.seen,
        "rows": head.rows,
        "trimmed": head.trimmed,
        "head": f"{head.rows}:{head.digest}",
        "fault": None if fault is None else {"code": fault.code, "params": dict(fault.params)},
    }


async def _fault(session: AsyncSession, walk: Walk) -> Sentence | None:
    async for row in audit.every(session):
        if fault := walk.step(audit.content(row), row.digest):
            return fault
    return walk.end()
