"""The reconciler that lets faults of devices act on what runs on them."""

import logging
from datetime import datetime
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import cluster, faults
from gpustack_lite.db.tables import WorkerDevice
from gpustack_lite.server import standing
from gpustack_lite.server.core import Core
from gpustack_lite.server.standing import FLAPS, QUIET, WINDOW, Step, Todo
from gpustack_lite.wire import FaultReport

log = logging.getLogger(__name__)
_EVENTS: dict[Todo, str] = {
    "restart": "device_restarts",
    "isolate": "device_isolated",
    "hold": "device_held",
    "release": "device_released",
}
_NUMBERS = {"minutes": int(WINDOW.total_seconds() // 60), "hours": int(QUIET.total_seconds() // 3600), "times": FLAPS}


async def step(core: Core) -> float | None:
    now = core.ports.clock.wall()
    async with core.db.read() as session:
        rows = await faults.concerned(session)
        waiting = [row for row in rows if row.is_isolated]
        if not any(_is_due(row, now) for row in rows):
            return 5.0 if waiting else None
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        for row in await faults.concerned(session):
            if _is_due(row, now):
                await _carry_out(session, core, row, next_step(row, now))
    core.signals.touch("instances", "workers", "changes", "drain")
    return None


def next_step(row: WorkerDevice, now: datetime) -> Step:
    fault = None if row.fault is None else FaultReport.model_validate(row.fault)
    return standing.after(standing.read(row.standing), fault, now)


def _is_due(row: WorkerDevice, now: datetime) -> bool:
    """Forgetting what is older than the window is no reason to write."""
    found = next_step(row, now)
    return found.todo != "nothing" or _without_onsets(found.standing) != _without_onsets(standing.read(row.standing))


def _without_onsets(of: standing.Standing) -> tuple[Any, ...]:
    return of.fault, of.since, of.code, of.is_held, of.clear_since


async def _carry_out(session: AsyncSession, core: Core, row: WorkerDevice, found: Step) -> None:
    row.standing = standing.document(found.standing)
    session.add(row)
    if found.todo == "nothing":
        return
    fault = (row.fault or {}).get("code")
    about = {"device": await faults.address(session, row), "fault": fault}
    count = 0
    if found.todo != "release":
        said = {"code": "replica_left_device", "params": about}
        count = await faults.empty(session, row, core.ports.clock, said)
    params = {"fault": fault, "instances": count, **_NUMBERS}
    await faults.tell(session, row, _EVENTS[found.todo], params, core.ports.clock)
    log.warning(_EVENTS[found.todo], extra={**about, "instances": count})
