"""What the workers said about a model's files, as far as a placement needs it; pure."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from gpustack_lite.db.queries.inspections import is_due
from gpustack_lite.db.queries.placing import Snapshot
from gpustack_lite.db.tables import Inspection, Worker
from gpustack_lite.domain import ModelFacts, Reason
from gpustack_lite.hub.sources import is_remote

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Known:
    """`facts` by worker id; `refusals` say of the others why not; `due` are ready workers that should be asked."""

    facts: dict[int, ModelFacts]
    refusals: dict[int, Reason]
    due: tuple[int, ...]

    @property
    def largest(self) -> ModelFacts | None:
        """Copies may differ by worker; the estimate is made for the one that needs most."""
        return max(self.facts.values(), key=lambda each: each.size_bytes, default=None)


def known(snapshot: Snapshot, source: str, now: datetime) -> Known:
    """What lies on a hub is the same for everybody: one worker looks, and all are told."""
    rows = {worker.id or 0: snapshot.inspections.get((source, worker.id or 0)) for worker in snapshot.workers}
    if is_remote(source):
        return _known_of_hub(snapshot, rows, source, now)
    facts = {worker_id: found for worker_id, row in rows.items() if (found := facts_of(row)) is not None}
    refusals = {
        worker.id or 0: _refusal(worker, rows[worker.id or 0], source)
        for worker in snapshot.workers
        if worker.id not in facts
    }
    return Known(facts, refusals, tuple(_due(snapshot.workers, rows, now)))


def _known_of_hub(snapshot: Snapshot, rows: dict[int, Inspection | None], source: str, now: datetime) -> Known:
    found = next((each for row in rows.values() if (each := facts_of(row)) is not None), None)
    if found is not None:
        return Known(dict.fromkeys(rows, found), {}, ())
    refusals = {each.id or 0: _refusal(each, rows[each.id or 0], source) for each in snapshot.workers}
    is_asked = any(row is not None and row.answered_at is None and not is_due(row, now) for row in rows.values())
    return Known({}, refusals, () if is_asked else tuple(_due(snapshot.workers, rows, now)[:1]))


def _due(workers: Sequence[Worker], rows: dict[int, Inspection | None], now: datetime) -> list[int]:
    return [worker.id or 0 for worker in workers if worker.state == "ready" and is_due(rows[worker.id or 0], now)]


def _refusal(worker: Worker, row: Inspection | None, source: str) -> Reason:
    if row is not None and row.refused is not None:
        params = {"worker": worker.name, **row.refused["params"]}
        return Reason(worker.name, "model", str(row.refused["code"]), params)
    return Reason(worker.name, "model", "facts_awaited", {"worker": worker.name, "source": source})


def facts_of(row: Inspection | None) -> ModelFacts | None:
    """None where there are none or they make no sense; fields of a newer worker that we do not know are left out."""
    if row is None or row.facts is None:
        return None
    try:
        return msgspec.convert(row.facts, ModelFacts)
    except msgspec.ValidationError:
        log.warning("facts_unreadable", extra={"source": row.source, "worker_id": row.worker_id})
        return None
