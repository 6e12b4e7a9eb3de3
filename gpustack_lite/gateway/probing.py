"""Finds engines that accept and never answer: asks idle ones for a token, watches busy ones for any byte."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from gpustack_lite.gateway import liveness
from gpustack_lite.gateway.balance import Balancer
from gpustack_lite.gateway.liveness import Question
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.ports import Clock
from gpustack_lite.relay import target
from gpustack_lite.relay.connection import Patience
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.heads import Field, serialise
from gpustack_lite.relay.pool import Pool
from gpustack_lite.wire import Endpoint, GatewayOrders, Stuck

log = logging.getLogger(__name__)
ORDERS_SECONDS = 10.0
"""Whoever has not heard for so long that it is the prober is so no more."""
_SILENT = frozenset({"connect_timeout", "first_byte_timeout", "idle_timeout"})


class Schedule(NamedTuple):
    """How long a replica is idle before it is asked, and how long it may take to answer."""

    every_seconds: float
    deadline_seconds: float


class Prober:
    """A probe is no request of anybody: it takes no place, and no row tells of it."""

    def __init__(self, table: RouteTable, balancer: Balancer, pool: Pool, clock: Clock, when: Schedule) -> None:
        self._table = table
        self._balancer = balancer
        self._pool = pool
        self._clock = clock
        self._when = when
        self._prober_until = 0.0
        self._asked_at: dict[int, float] = {}
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._stuck: dict[int, tuple[Stuck, float]] = {}

    # --- what the server hears and says

    def tell(self) -> Mapping[str, Any]:
        return {"stuck": tuple(verdict for verdict, _ in self._stuck.values())}

    def heed(self, orders: GatewayOrders) -> None:
        self._balancer.elsewhere = orders.in_flight
        self._prober_until = self._clock.monotonic() + ORDERS_SECONDS if orders.is_prober else 0.0

    # --- each second

    async def step(self) -> None:
        now = self._clock.monotonic()
        routes = tuple(self._table.models.values())
        self._forget([each for route in routes for each in route.endpoints])
        self._watch(now)
        self._balancer.avoided = frozenset(self._stuck)
        for route in routes if now < self._prober_until else ():
            for endpoint in route.endpoints:
                if self._is_due(endpoint, now) and (question := liveness.question_for(route, endpoint)):
                    self._begin(endpoint, question)

    def _forget(self, endpoints: list[Endpoint]) -> None:
        """What has left the routes, and verdicts that were overtaken."""
        ids = {each.instance_id for each in endpoints}
        self._balancer.keep_only(ids)
        self._asked_at = {id_: at for id_, at in self._asked_at.items() if id_ in ids}
        heard = {id_: replica.answered_at for id_, replica in self._balancer.replicas.items()}
        kept = liveness.still_holding(self._stuck.values(), endpoints, heard)
        self._stuck = {id_: self._stuck[id_] for id_ in kept}

    def _watch(self, now: float) -> None:
        """Busy replicas: no request there progresses."""
        for id_, replica in self._balancer.replicas.items():
            verdict = liveness.silent_too_long(id_, replica, now, self._when.deadline_seconds)
            if verdict is not None:
                self._judge(verdict, now)
            elif id_ in self._stuck and replica.flights and self._stuck[id_][0].said.code == "engine_silent":
                del self._stuck[id_]

    def _judge(self, verdict: Stuck, now: float) -> None:
        if verdict.instance_id not in self._stuck:
            log.warning("engine_stuck", extra={"instance_id": verdict.instance_id, "code": verdict.said.code})
        self._stuck[verdict.instance_id] = verdict, now

    def _is_due(self, endpoint: Endpoint, now: float) -> bool:
        """Idle here and elsewhere, and not heard of for the interval."""
        id_ = endpoint.instance_id
        if id_ in self._asking or self._table.in_flight.get(id_) or self._balancer.elsewhere.get(id_):
            return False
        asked_at = self._asked_at.setdefault(id_, now)  # one that is new has just been found healthy
        return now - max(asked_at, self._balancer.known(endpoint).answered_at) >= self._when.every_seconds

    def _begin(self, endpoint: Endpoint, question: Question) -> None:
        id_ = endpoint.instance_id
        self._asked_at[id_] = self._clock.monotonic()
        self._asking[id_] = asyncio.create_task(self._probe(endpoint, question))
        self._asking[id_].add_done_callback(lambda task: self._probed(id_, task))

    def _probed(self, instance_id: int, task: asyncio.Task[None]) -> None:
        self._asking.pop(instance_id, None)
        if not task.cancelled() and (error := task.exception()):
            log.error("probe_failed", exc_info=error, extra={"instance_id": instance_id})

    async def _probe(self, endpoint: Endpoint, question: Question) -> None:
        """Any answer is life, also an error; a connection that ends is the worker's to explain."""
        began, replica = self._clock.monotonic(), self._balancer.known(endpoint)
        seconds = liveness.deadline_seconds(replica, self._when.deadline_seconds)
        try:
            async with asyncio.timeout(seconds):
                await self._ask(endpoint, question, seconds)
        except (TimeoutError, UpstreamFailed) as error:
            is_silent = not isinstance(error, UpstreamFailed) or error.cause in _SILENT
            if is_silent and replica.answered_at <= began:
                self._judge(liveness.unanswered(endpoint, question, seconds), self._clock.monotonic())
            return
        replica.answered_at = self._clock.monotonic()

    async def _ask(self, endpoint: Endpoint, question: Question, seconds: float) -> None:
        where = target.parse(endpoint.address)
        fields: list[Field] = [
            (b"host", where.host_field),
            (b"authorization", b"Bearer " + endpoint.engine_key.encode()),
            (b"content-type", b"application/json"),
        ]
        head = serialise(b"POST", question.path.encode(), fields, length=len(question.body))
        patience = Patience(self._pool.patience.connect_seconds, seconds, seconds)
        lent = await self._pool.request(where, b"POST", [head, question.body], patience=patience)
        with lent as answer:
            while await answer.read():
                continue

    async def close(self) -> None:
        """No probe outlives this."""
        asking = tuple(self._asking.values())
        for task in asking:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*asking, return_exceptions=True)
