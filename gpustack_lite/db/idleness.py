"""When a model may sleep; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpustack_lite.db import model_state
from gpustack_lite.db.tables import GatewayRow, Model, ModelInstance
from gpustack_lite.lifecycle import State
from gpustack_lite.wire import Serving

COARSENESS = 4
"""The time of the last use is written down when it is older than this part of `sleep_after_seconds`."""
SILENT = timedelta(seconds=15)
"""A gateway speaks every second and is written down every five: one that is silent may be serving unheard."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A model that may sleep now, and for how long nobody has used it at least."""

    model_id: int
    seconds: float


def sleep_after(model: Model) -> float | None:
    """None for one that never sleeps by itself."""
    serving = Serving.model_validate(model.serving)
    return None if serving.pinned else serving.sleep_after_seconds


def is_use_news(model: Model, now: datetime) -> bool:
    """Whether a use of it is to be written down. One that sleeps is not used: it is asked for."""
    limit = sleep_after(model)
    if limit is None:
        return False
    return model.used_at is None or now - model.used_at >= timedelta(seconds=limit / COARSENESS)


def idle_seconds(model: Model, instances: Sequence[ModelInstance], now: datetime, since: datetime) -> float:
    """Since the last use that is written down; the time of which this server knows nothing counts as used."""
    ready = [each.ready_at for each in instances if each.ready_at is not None]
    last = max([since, model.created_at, *ready, *([model.used_at] if model.used_at else [])])
    return (now - last).total_seconds()


def may_sleep(
    model: Model, instances: Sequence[ModelInstance], gateways: Iterable[GatewayRow], now: datetime, since: datetime
) -> Idle | None:
    """None for a model that is loading, in use or pinned. A use may be a quarter younger than what is written of it."""
    limit = sleep_after(model)
    if limit is None or model.asleep or model.stopped or not _rests(instances):
        return None
    seconds = idle_seconds(model, instances, now, since)
    if seconds < limit * (1 + 1 / COARSENESS) or _is_wanted(model, instances, gateways, now):
        return None
    return Idle(model.id or 0, seconds)


def _rests(instances: Sequence[ModelInstance]) -> bool:
    """Something is there to be stopped, and nothing of it is on its way to READY or back."""
    alive = model_state.living(instances)
    ready = model_state.ready_count(alive)
    return ready > 0 and all(each.state == State.READY or each.gave_up for each in alive)


def _is_wanted(model: Model, instances: Sequence[ModelInstance], gateways: Iterable[GatewayRow], now: datetime) -> bool:
    ids = {str(each.id) for each in instances}
    return any(
        each.queued.get(model.name) or ids & set(each.leases) or now - each.seen_at > SILENT for each in gateways
    )
