"""What the living workers know of a model's files, asked before the model is made or moves."""

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any, TypeVar

from gpustack_lite.api.context import STOPPING_TOPIC, Context
from gpustack_lite.api.schemas.bodies import ModelCreate
from gpustack_lite.api.specs import backend_named
from gpustack_lite.db.queries import inspections, workers
from gpustack_lite.db.queries.placing import Ask
from gpustack_lite.db.tables import Inspection
from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts
from gpustack_lite.hub.sources import is_remote

PATIENCE_SECONDS = 5.0
HUB_PATIENCE_SECONDS = 12.0
"""A worker gives a hub ten seconds in all."""
MOST_TRIED = 3
T = TypeVar("T")
_OF_THIS_WORKER = frozenset(
    {"hub_offline", "hub_unreachable", "hub_not_allowed", "hub_needs_token", "hub_gated", "url_host_not_allowed"}
)


async def ask_workers(context: Context, body: ModelCreate) -> ModelFacts | None:
    """Wait a moment for their answers; without one (None) the model is made all the same.

    Raises:
        Refusal: the first worker's, when every living worker refuses.
    """
    backend = await backend_named(context, body.backend)
    if backend is not None and not backend.needs_facts:
        return None
    async with context.db.read() as session:
        ready = await workers.ready_ids(session)
    if not is_remote(body.source):
        return await _asked(context, body.source, ready, PATIENCE_SECONDS)
    return await _one_by_one(context, body.files_source, ready)


async def _one_by_one(context: Context, source: str, ready: list[int]) -> ModelFacts | None:
    """What lies on a hub one worker tells for all; the next is asked only where one may not, or cannot, reach it."""
    refused: Refusal | None = None
    for worker_id in ready[:MOST_TRIED]:
        try:
            return await _asked(context, source, [worker_id], HUB_PATIENCE_SECONDS)
        except Refusal as refusal:
            if refusal.code not in _OF_THIS_WORKER:
                raise
            refused = refused or refusal
    if refused is not None:
        raise refused
    return None


async def _asked(context: Context, source: str, asked: list[int], patience_seconds: float) -> ModelFacts | None:
    async with context.db.write() as session:
        is_new = await inspections.ask(session, source, asked, context.ports.clock)
    if is_new:
        context.signals.touch("assignments")
    found = await _wait(context, source, asked, patience_seconds) if asked else None
    return None if found is None else facts.from_document(found)


async def ask_all(context: Context, asks: Sequence[Ask]) -> bool:
    """Wait a moment until each of these workers has answered; False when there was nothing to ask."""
    async with context.db.write() as session:
        for each in asks:
            await inspections.ask(session, each.source, each.worker_ids, context.ports.clock)
    if asks:
        context.signals.touch("assignments")
        wanted = {(each.source, worker_id) for each in asks for worker_id in each.worker_ids}
        await _until(context, {source for source, _ in wanted}, PATIENCE_SECONDS, partial(_all_answered, wanted))
    return bool(asks)


def _all_answered(wanted: Set[tuple[str, int]], rows: list[Inspection]) -> bool:
    return wanted <= {(row.source, row.worker_id) for row in rows if row.answered_at is not None}


async def _wait(context: Context, source: str, asked: list[int], patience_seconds: float) -> dict[str, Any] | None:
    def answer(rows: list[Inspection]) -> dict[str, Any] | None:
        return _answer([row for row in rows if row.worker_id in asked], len(asked))

    return await _until(context, {source}, patience_seconds, answer)


async def _until(
    context: Context, sources: Set[str], patience_seconds: float, answer: Callable[[list[Inspection]], T | None]
) -> T | None:
    deadline = context.ports.clock.monotonic() + patience_seconds
    with context.signals.listen("inspections", STOPPING_TOPIC) as listener:
        while not context.stopping.is_set():
            listener.clear()
            async with context.db.read() as session:
                rows = await inspections.of_sources(session, sources)
            if found := answer(rows):
                return found
            remaining = deadline - context.ports.clock.monotonic()
            if remaining <= 0 or not await listener.wait(remaining):
                return None
    return None


def _answer(rows: list[Inspection], asked: int) -> dict[str, Any] | None:
    """The first facts in hand; None while somebody who may have them was not heard."""
    for row in rows:
        if row.facts is not None:
            return row.facts
    refused = [row.refused for row in rows if row.answered_at is not None and row.refused is not None]
    if len(refused) < asked:
        return None
    raise Refusal(str(refused[0]["code"]), param="source", **refused[0]["params"])
