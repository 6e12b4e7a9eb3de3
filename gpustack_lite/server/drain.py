"""When the process of a replaced or stopped instance may end; pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from gpustack_lite.db.tables import GatewayRow, ModelInstance


def is_drained(
    instance: ModelInstance, gateways: Iterable[GatewayRow], *, epoch: int, now: datetime, drain_seconds: float
) -> bool:
    """At once if it never was READY; else when no gateway can reach it any more, or when its time is over.

    `gateways` are those that were seen lately. One that still lives in an older epoch has acknowledged nothing.
    """
    if instance.ready_at is None or _is_over(instance, now, drain_seconds):
        return True
    left_at = instance.left_routes_at_revision
    return left_at is not None and all(_has_let_go(each, instance.id or 0, epoch, left_at) for each in gateways)


def _is_over(instance: ModelInstance, now: datetime, drain_seconds: float) -> bool:
    return instance.stopping_since is not None and now - instance.stopping_since >= timedelta(seconds=drain_seconds)


def _has_let_go(gateway: GatewayRow, instance_id: int, epoch: int, left_at: int) -> bool:
    knows = gateway.epoch == epoch and gateway.models_revision >= left_at
    return knows and not gateway.leases.get(str(instance_id))
