"""What the living workers know of a model's files, asked before the model is made."""

from gpustack_lite.api.context import STOPPING_TOPIC, Context
from gpustack_lite.api.schemas.bodies import ModelCreate
from gpustack_lite.api.specs import backend_named
from gpustack_lite.db.queries import inspections, workers
from gpustack_lite.db.tables import Inspection
from gpustack_lite.errors import Refusal

PATIENCE_SECONDS = 5.0


async def ask_workers(context: Context, body: ModelCreate) -> None:
    """Wait a moment for their answers; without one the model is made all the same.

    Raises:
        Refusal: the first worker's, when every living worker refuses.
    """
    backend = await backend_named(context, body.backend)
    if backend is not None and not backend.needs_facts:
        return
    async with context.db.write() as session:
        asked = await workers.ready_ids(session)
        is_new = await inspections.ask(session, body.source, asked, context.ports.clock)
    if is_new:
        context.signals.touch("assignments")
    if asked:
        await _wait(context, body.source, asked)


async def _wait(context: Context, source: str, asked: list[int]) -> None:
    deadline = context.ports.clock.monotonic() + PATIENCE_SECONDS
    with context.signals.listen("inspections", STOPPING_TOPIC) as listener:
        while not context.stopping.is_set():
            listener.clear()
            async with context.db.read() as session:
                rows = await inspections.of_sources(session, [source])
            if _is_answered([row for row in rows if row.worker_id in asked], len(asked)):
                return
            remaining = deadline - context.ports.clock.monotonic()
            if remaining <= 0 or not await listener.wait(remaining):
                return


def _is_answered(rows: list[Inspection], asked: int) -> bool:
    """True with the first facts in hand; False while somebody who may have them was not heard."""
    if any(row.facts is not None for row in rows):
        return True
    refused = [row.refused for row in rows if row.answered_at is not None and row.refused is not None]
    if len(refused) < asked:
        return False
    raise Refusal(str(refused[0]["code"]), param="source", **refused[0]["params"])
