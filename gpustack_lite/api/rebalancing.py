"""Moves that make room for a model that waits: shown, or begun."""

from typing import Any

from gpustack_lite.api.asking import ask_all
from gpustack_lite.api.context import Context
from gpustack_lite.api.schemas.bodies import RebalanceSpec
from gpustack_lite.db.queries import placing, rebalances
from gpustack_lite.db.tables import Rebalance
from gpustack_lite.errors import Refusal


async def rebalance(context: Context, body: RebalanceSpec, created_by: int) -> dict[str, Any]:
    """Raises:
    Refusal: nothing waits, no moves help, one runs already, or one would have to stop first and that is not allowed.
    """
    snapshot = await _snapshot(context)
    if await ask_all(context, context.judge.unasked(snapshot, context.ports.clock.wall())):
        snapshot = await _snapshot(context)
    clock, now = context.ports.clock, context.ports.clock.wall()
    found = context.judge.moves(snapshot, body.model, now)
    row = Rebalance(**found, created_by=created_by, created_at=now, updated_at=now)
    if body.dry_run:
        row.state = "planned"
        return rebalances.document(row)
    _must_be_allowed(row, body)
    async with context.db.write() as session:
        await rebalances.begin(session, row, clock)
        document = rebalances.document(row)
    context.signals.touch("rebalances", "changes")
    return document


async def _snapshot(context: Context) -> placing.Snapshot:
    async with context.db.read() as session:
        return await placing.snapshot(session, whole=True)


def _must_be_allowed(row: Rebalance, body: RebalanceSpec) -> None:
    stopping = [f"{each['instance']} ({each['model']})" for each in row.moves if each["stops_first"]]
    if stopping and not body.allow_stop:
        raise Refusal("moves_stop_first", status=409, param="allow_stop", names=", ".join(stopping))
