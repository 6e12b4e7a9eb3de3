"""An engine's log on its way from the worker to its reader; nothing is kept here."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from gpustack_lite.api.auth import SignedInCaller
from gpustack_lite.api.context import Context
from gpustack_lite.api.log_desk import TOPIC, Reading
from gpustack_lite.api.streams import still_holds, ticks
from gpustack_lite.db.members import workers_of
from gpustack_lite.db.queries import instances
from gpustack_lite.db.tables import ModelInstance, Worker
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.wire import LogRequest

WORKER_SECONDS = 10.0


class Wanted(NamedTuple):
    """What somebody wants to read; `rank` is of one of several workers, 0 the leader."""

    attempt: int | None = None
    tail: int = 1000
    follow: bool = False
    rank: int = 0


async def open_log(context: Context, ref: str, wanted: Wanted) -> Reading:
    """Raises:
    Refusal: `instance_not_placed`, `log_unavailable`; NotFound for an attempt or a rank that never was.
    """
    async with context.db.read() as session:
        instance = await instances.by_id(session, ref)
        worker_id = _worker_of(instance, wanted.rank)
        worker = None if worker_id is None else await session.get(Worker, worker_id)
    if worker is None:
        raise Refusal("instance_not_placed", status=409, instance_id=instance.id)
    _must_exist(instance, wanted.attempt)
    request = LogRequest(
        ticket=context.ports.randomness.token(),
        instance_id=instance.id or 0,
        attempt=wanted.attempt,
        tail=wanted.tail,
        follow=wanted.follow,
    )
    reading = context.logs.open(worker.id or 0, request)
    context.signals.touch(f"{TOPIC}:{worker.id}")
    try:
        async with asyncio.timeout(WORKER_SECONDS):
            await reading.answered.wait()
    except TimeoutError as error:
        raise Refusal("log_unavailable", status=503, worker=worker.name, waited_seconds=WORKER_SECONDS) from error
    finally:
        if not reading.answered.is_set():
            context.logs.close(reading)
    return reading


def _worker_of(instance: ModelInstance, rank: int) -> int | None:
    carriers = workers_of(instance)
    if rank >= max(len(carriers), 1):
        raise NotFound("rank", f"{instance.id}/{rank}")
    return carriers[rank] if carriers else None


def _must_exist(instance: ModelInstance, attempt: int | None) -> None:
    if attempt is not None and attempt > max(instance.attempt, instance.round if instance.members else 0):
        raise NotFound("attempt", f"{instance.id}/{attempt}")


async def text(context: Context, signed_in: SignedInCaller, reading: Reading) -> AsyncIterator[bytes]:
    """Until the log ends, the server ends, or the reader's credential holds no more."""
    guard = asyncio.ensure_future(_close_when_due(context, signed_in, reading))
    try:
        while (chunk := await reading.take()) is not None:
            yield chunk
    finally:
        guard.cancel()
        context.logs.close(reading)


async def _close_when_due(context: Context, signed_in: SignedInCaller, reading: Reading) -> None:
    async for _ in ticks(context, ("credentials",)):
        if not await still_holds(context, signed_in):
            break
    await reading.end()
