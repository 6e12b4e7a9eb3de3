"""Heartbeats are kept in memory and written together; how long a worker is silent is read from monotonic clocks."""

from datetime import datetime

from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import liveness
from gpustack_lite.db.tables import Worker
from gpustack_lite.ports import Clock
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Heartbeat


class Heartbeats:
    """`heard` for requests, `flush` for the clock. What is new about a worker is flushed at once."""

    def __init__(self, clock: Clock, signals: Signals) -> None:
        self._clock = clock
        self._signals = signals
        self._waiting: dict[int, Heartbeat] = {}
        self._last: dict[int, Heartbeat] = {}
        self.heard_at: dict[int, float] = {}
        self.written: dict[int, datetime] = {}

    def heard(self, worker_id: int, heartbeat: Heartbeat) -> None:
        before = self._last.get(worker_id)
        self._last[worker_id] = self._waiting[worker_id] = heartbeat
        self.heard_at[worker_id] = self._clock.monotonic()
        if before is None or _essence(before) != _essence(heartbeat):
            self._signals.touch("heartbeats")

    def forget(self, worker_id: int) -> None:
        """The next heartbeat of this worker is news."""
        self._last.pop(worker_id, None)

    async def flush(self, db: Database) -> None:
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        now = self._clock.wall()
        self.written |= dict.fromkeys(waiting, now)
        async with db.write() as session:
            has_news = await liveness.write_heartbeats(session, waiting, now, self._clock)
        if has_news:
            self._signals.touch("workers", "changes")


def _essence(heartbeat: Heartbeat) -> tuple[object, ...]:
    """What placements depend on and what does not drift from one beat to the next."""
    devices = [(each.index, each.chip, each.health, each.schedulable, each.fault) for each in heartbeat.devices]
    return heartbeat.version, heartbeat.ram_total_bytes, heartbeat.backend_versions, devices


class Silence:
    """How long each worker has been silent. A time in the database is only compared with itself, never with a clock.

    A worker of which this process knows nothing counts as heard when it was first looked at: a server that
    restarts does not declare everybody lost.
    """

    def __init__(self, clock: Clock, heartbeats: Heartbeats) -> None:
        self._clock = clock
        self._heartbeats = heartbeats
        self._noticed: dict[int, tuple[datetime | None, float]] = {}

    def seconds(self, worker: Worker) -> float:
        now, worker_id = self._clock.monotonic(), worker.id or 0
        seen_at, noticed_at = self._noticed.get(worker_id, (None, now))
        is_elsewheres = worker.seen_at != seen_at and worker.seen_at != self._heartbeats.written.get(worker_id)
        if worker_id not in self._noticed or is_elsewheres:
            noticed_at = now
            self._noticed[worker_id] = (worker.seen_at, now)
        return now - max(noticed_at, self._heartbeats.heard_at.get(worker_id, noticed_at))
