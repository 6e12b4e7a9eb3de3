"""The reconciler that makes models with `replicas: auto(min,max)` larger and smaller, as the gateways' load asks."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from backends.slots import slots_of
from gpustack_lite.db import model_state
from gpustack_lite.db.idleness import SILENT
from gpustack_lite.db.queries import autoscaled, cluster
from gpustack_lite.db.queries.autoscaled import Scaled
from gpustack_lite.db.tables import GatewayRow, Model, ModelInstance
from gpustack_lite.lifecycle import State
from gpustack_lite.planning.autoscale import Decision, Load, Look, Watched, bounded, carried, look
from gpustack_lite.server.core import Core
from gpustack_lite.wire import Autoscale, Serving

log = logging.getLogger(__name__)
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Change:
    """One decision about one model; it stands only if the model is still as it was when it was decided."""

    model: Model
    decision: Decision
    code: str


class Autoscaling:
    """What it saw is kept in memory: a server that begins to lead begins to watch."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._watched: dict[int, tuple[int, Watched]] = {}
        """Model -> its replicas then, and what was seen of it with them."""

    async def step(self) -> float | None:
        async with self._core.db.read() as session:
            scaled = await autoscaled.read(session, self._core.ports.clock)
        self._watched = {id_: kept for id_, kept in self._watched.items() if id_ in scaled.models}
        changes = [change for id_ in scaled.models if (change := self._look(scaled, id_)) is not None]
        if changes:
            await self._write(changes)
        return LOOK_SECONDS if scaled.models else None

    def _look(self, scaled: Scaled, id_: int) -> Change | None:
        model, instances = scaled.models[id_], scaled.instances.get(id_, ())
        rule, now = Autoscale.model_validate(model.autoscale), self._core.ports.clock.monotonic()
        load = load_of(model, instances, scaled.gateways, self._core.ports.clock.wall().timestamp())
        replicas, watched = self._watched.get(id_, (model.replicas, Watched(now)))
        if load is None or model.asleep or model.stopped or replicas != model.replicas:
            self._watched[id_] = model.replicas, Watched(now)
            return _for_sleep(model, rule)
        each = carried(rule, Serving.model_validate(model.serving), _slots(instances))
        may_grow = not any(each.state == State.PENDING and each.reasons for each in instances)
        watched, decision = look(watched, rule, model.replicas, each, Look(now, load), may_grow=may_grow)
        self._watched[id_] = model.replicas, watched
        return None if decision is None else Change(model, decision, _code(model, decision))

    async def _write(self, changes: Sequence[Change]) -> None:
        core = self._core
        async with core.db.write() as session:
            await cluster.guard(session, core.epoch)
            for each in changes:
                await autoscaled.change(session, each.model, each.decision, each.code, core.ports.clock)
        for each in changes:
            log.info("model_scaled", extra={"model": each.model.name, "replicas": each.decision.replicas})
        core.signals.touch("models", "changes")


def load_of(
    model: Model, instances: Sequence[ModelInstance], gateways: Sequence[GatewayRow], now: float
) -> Load | None:
    """None where nobody can tell: no replica serves yet, no gateway speaks, or one fell silent and may be serving."""
    if not model_state.ready_count(instances) or not gateways:
        return None
    if any(now - each.seen_at.timestamp() > SILENT.total_seconds() for each in gateways):
        return None
    ids = [str(each.id) for each in model_state.living(instances)]
    in_flight = sum(each.leases.get(id_, 0) for each in gateways for id_ in ids)
    return Load(in_flight, sum(each.queued.get(model.name, 0) for each in gateways))


def _for_sleep(model: Model, rule: Autoscale) -> Change | None:
    """A model that sleeps wakes with the fewest: one request is no load."""
    if not model.asleep or model.replicas == bounded(rule, 0):
        return None
    return Change(model, Decision(bounded(rule, 0), Load(0, 0), 0.0), "scaled_asleep")


def _slots(instances: Sequence[ModelInstance]) -> int | None:
    """Of the newest replica that was placed."""
    placed = [each.assigned for each in instances if each.assigned]
    return slots_of(placed[-1].get("backend"), placed[-1].get("options") or {}) if placed else None


def _code(model: Model, decision: Decision) -> str:
    return "scaled_up" if decision.replicas > model.replicas else "scaled_down"
