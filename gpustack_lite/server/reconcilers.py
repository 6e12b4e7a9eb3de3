"""Every reconciler with the hints that wake it and the slow clock that catches lost ones."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gpustack_lite.loop import keep_reconciling
from gpustack_lite.server import batches, draining, faults, liveness, placements, rebalancing, replicas, tidying
from gpustack_lite.server.autoscaling import Autoscaling
from gpustack_lite.server.core import Core
from gpustack_lite.server.heartbeats import Heartbeats, Silence
from gpustack_lite.server.publish import ASKED_FOR, Publisher
from gpustack_lite.server.sleeping import SELDOM_SECONDS, Sleeping

Step = Callable[[], Awaitable[float | None]]
HEARTBEATS_WRITTEN_EVERY_SECONDS = 5.0
PUBLISH_TOPICS = ("models", "instances", "workers", "credentials", "progress", ASKED_FOR)


@dataclass(frozen=True, slots=True)
class Reconciler:
    name: str
    step: Step
    topics: tuple[str, ...]
    every_seconds: float


def of_the_leader(core: Core, heartbeats: Heartbeats, silence: Silence) -> tuple[Reconciler, ...]:
    look_at_workers = min(1.0, core.settings.grace_seconds / 4)
    return (
        Reconciler("replicas", lambda: replicas.step(core), ("models", "instances"), 5.0),
        Reconciler("placements", lambda: placements.step(core), ("models", "instances", "workers", "inspections"), 2.0),
        Reconciler("liveness", lambda: liveness.step(core, heartbeats, silence), ("heartbeats",), look_at_workers),
        Reconciler("faults", lambda: faults.step(core), ("workers",), 5.0),
        Reconciler("draining", lambda: draining.step(core), ("drain", "gateways", "instances"), 5.0),
        Reconciler("autoscaling", Autoscaling(core).step, ("models",), SELDOM_SECONDS),
        Reconciler("rebalancing", lambda: rebalancing.step(core), ("rebalances", "instances"), 5.0),
        Reconciler("sleeping", Sleeping(core).step, ("models",), SELDOM_SECONDS),
        Reconciler("batches", lambda: batches.step(core), (), batches.LOOK_SECONDS),
        Reconciler("tidying", lambda: tidying.step(core), (), tidying.EVERY_SECONDS),
    )


def of_every_server(core: Core, heartbeats: Heartbeats, publisher: Publisher) -> tuple[Reconciler, ...]:
    async def flush() -> None:
        await heartbeats.flush(core.db)

    every_seconds = min(HEARTBEATS_WRITTEN_EVERY_SECONDS, core.settings.heartbeat_seconds)
    return (
        Reconciler("publish", publisher.step, PUBLISH_TOPICS, 2.0),
        Reconciler("heartbeats", flush, ("heartbeats",), every_seconds),
    )


async def keep(core: Core, reconcilers: tuple[Reconciler, ...]) -> None:
    """Until cancelled."""
    async with asyncio.TaskGroup() as group:
        for each in reconcilers:
            group.create_task(
                keep_reconciling(
                    each.name,
                    each.step,
                    signals=core.signals,
                    topics=each.topics,
                    every_seconds=each.every_seconds,
                    clock=core.ports.clock,
                ),
                name=each.name,
            )
