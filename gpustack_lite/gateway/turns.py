"""Whose turn it is: a replica for a request, now if one is free, else after those that came before it."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple

from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import learning, queue
from gpustack_lite.gateway.answers import SOON_SECONDS, Later, NotReady
from gpustack_lite.gateway.balance import Balancer
from gpustack_lite.gateway.ledger import Entry
from gpustack_lite.gateway.queue import Average, Line, Waiter
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.wire import Credential, Endpoint, GatewayOrders, ModelRoute

AWAY_SECONDS = 5.0
"""A server that is silent for longer is not just restarting: what sleeps stays asleep."""


class Ask(NamedTuple):
    """What matters of a request when a replica is chosen for it.

    `prompt_bytes` is the size of its body; `most_tokens` is its own bound on the answer, None where it gave none.
    """

    credential: Credential
    path: str
    prompt_bytes: int
    most_tokens: int | None
    is_stream: bool
    body: bytes | bytearray
    """For the prefix; nobody keeps it."""


class Bounds(NamedTuple):
    """The settings that hold where a model's `serving` says nothing; seconds and requests."""

    queue_length: int = 256
    queue_seconds: float = 60.0
    in_flight_per_replica: int = 1024
    held_while_waking: int = 200
    waking_seconds: float = 600.0


DEFAULTS = Bounds()


class Place:
    """A request's hold on a replica, given back when the `with` is left; what `entry` says by then is learned from."""

    __slots__ = ("_turns", "endpoint", "entry", "flight", "instance_id", "route")

    def __init__(self, turns: "Turns", route: ModelRoute, endpoint: Endpoint, ask: Ask) -> None:
        self._turns = turns
        self.route = route
        self.endpoint = endpoint
        self.instance_id = endpoint.instance_id
        self.entry: Entry | None = None
        self.flight = turns.balancer.began(route, endpoint, ask)
        turns.table.hold(self.instance_id)

    def __enter__(self) -> Endpoint:
        return self.endpoint

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.give_back()

    def give_back(self) -> None:
        self._turns.give_back(self)


@dataclass(slots=True, eq=False, kw_only=True)
class Waiting(Waiter):
    """A request in line for `model`. Its turn ends with a place, a refusal, or None: look at the routes again."""

    model: str
    ask: Ask
    since: float
    deadline: float
    turn: asyncio.Future["Place | Refusal | None"]


class Turns:
    """`take` answers at once and is the way of nearly every request; `join` and `left` are for the rest.

    Everything is synchronous: whoever frees a replica gives it to the next in line before anybody else can ask.
    `on_wake` is called when a model that sleeps is asked for the first time.
    """

    def __init__(
        self,
        table: RouteTable,
        balancer: Balancer,
        bounds: Bounds = DEFAULTS,
        *,
        is_connected: Callable[[], bool] = lambda: True,
        on_wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.table = table
        self.balancer = balancer
        self.now = balancer.now
        self.bounds = bounds
        self.waited_seconds = 0.0
        self.refused = 0
        self._is_connected = is_connected
        self._on_wake = on_wake
        self._away_since: float | None = None
        self._gateways = 1
        self.lines: dict[str, Line] = {}
        """Of models for which somebody waits."""
        self._most: dict[int, tuple[int, int]] = {}
        self._models: dict[int, str] = {}
        self._loads: dict[str, Average] = {}
        self._woken: dict[str, float] = {}
        self._used: set[str] = set()
        self._told_used: set[str] = set()
        table.listeners.append(self._routes_changed)
        self._recount()

    # --- at once

    def take(self, routes: Sequence[ModelRoute], ask: Ask, without: Collection[int] = ()) -> Place | None:
        """A place on the first of `routes` that has a replica outside `without`; None where it has to wait.

        Nobody overtakes: where others wait already, there is none. Who tried a replica already stands before them.
        """
        for route in routes:
            if self.table.has_others(route, without) if without else route.endpoints:
                self._used.add(route.name)
                must_queue = self.lines and self._must_queue(route, ask, without)
                return None if must_queue else self._place(route, ask, without)
            if route.state == "sleeping":
                self._wake(route.name)
        return None

    def has_another(self, routes: Sequence[ModelRoute], without: Collection[int]) -> bool:
        return any(self.table.has_another(route.name, without) for route in routes)

    def _must_queue(self, route: ModelRoute, ask: Ask, without: Collection[int]) -> bool:
        line = self.lines.get(route.name)
        if line is None or without:
            return False
        return bool(line) if _is_batch(ask) else line.ordinary > 0

    def _place(self, route: ModelRoute, ask: Ask, without: Collection[int]) -> Place | None:
        """The one spot where a replica is chosen among those that are free."""
        kind = 1 if ask.credential.kind == "batch" else 0
        in_flight, most = self.table.in_flight, self._most
        others = self.table.others(route, without) if without else route.endpoints
        free: Sequence[Endpoint] = [
            each for each in others if in_flight.get(each.instance_id, 0) < most.get(each.instance_id, _UNBOUNDED)[kind]
        ]
        return Place(self, route, self.balancer.choose(route, free, ask, in_flight), ask) if free else None

    def give_back(self, place: Place) -> None:
        self.table.give_back(place.instance_id)
        flight, entry, now = place.flight, place.entry, self.now()
        if self.balancer.left(flight, now, is_alive=learning.is_alive(flight, entry)):
            self.balancer.learn(flight, learning.observation(flight, entry, now), now)
        if self.lines:
            self._serve(self._models.get(place.instance_id, place.route.name))

    # --- in line

    def join(self, routes: Sequence[ModelRoute], ask: Ask, without: Sequence[int] = ()) -> Waiting:
        """In the line of the first of `routes` that has a replica and room in its line, else of one that is coming.

        Raises:
            Refusal: 429 `queue_full` or `held_full` with a Retry-After, 503 `model_not_ready` with the cause.
        """
        known = self.as_they_are(routes)
        refusals: list[Refusal] = []
        for route in (each for each in known if self.table.has_others(each, without)):
            if without or (refusal := self._no_room(route, ask)) is None:
                return self._stand(route, ask, without, self.queue_seconds(route))
            refusals.append(refusal)
        for route in (each for each in known if self.can_be_held(each)):
            if (refusal := self._cannot_hold(route)) is None:
                return self._stand(route, ask, without, self.bounds.waking_seconds)
            refusals.append(refusal)
        self.refused += 1
        raise refusals[0] if refusals else self._not_ready(known, routes)

    def as_they_are(self, routes: Sequence[ModelRoute]) -> list[ModelRoute]:
        """What was resolved before a wait may have changed meanwhile, or be gone."""
        return [found for route in routes if (found := self.table.models.get(route.name)) is not None]

    def _stand(self, route: ModelRoute, ask: Ask, without: Sequence[int], seconds: float) -> Waiting:
        now = self.now()
        credential = ask.credential
        waiting = Waiting(
            key=(credential.kind, credential.id),
            weight=max(credential.weight, 1),
            is_batch=_is_batch(ask),
            without=tuple(without),
            model=route.name,
            ask=ask,
            since=now,
            deadline=now + seconds,
            turn=asyncio.get_running_loop().create_future(),
        )
        self._used.add(route.name)
        if route.state == "sleeping":
            self._wake(route.name)
        self.lines.setdefault(route.name, Line()).put(waiting)
        return waiting

    def left(self, waiting: Waiting) -> None:
        """Its client went, or its turn has come: it is in no line any more, and a place that nobody takes is free."""
        if not waiting.turn.done():
            self._drop(waiting)
            waiting.turn.cancel()
        elif not waiting.turn.cancelled() and isinstance(place := waiting.turn.result(), Place):
            place.give_back()

    def is_waking(self, waiting: Waiting) -> bool:
        """Whether it waits for the model rather than for its turn."""
        route = self.table.models.get(waiting.model)
        return route is not None and not route.endpoints

    def _serve(self, model: str) -> None:
        line, route = self.lines.get(model), self.table.models.get(model)
        while line and route is not None and (found := self._next(line, route)) is not None:
            waiting, place = found
            line.served(waiting)
            self._told(waiting, place)
        if line is not None and not line:
            self.lines.pop(model, None)

    def _next(self, line: Line, route: ModelRoute) -> tuple[Waiting, Place] | None:
        if not any(self._is_free(each) for each in route.endpoints):
            return None
        for waiting in line:
            assert isinstance(waiting, Waiting)
            if self.table.has_others(route, waiting.without):
                place = self._place(route, waiting.ask, waiting.without)
                if place is not None:
                    return waiting, place
        return None

    def _is_free(self, endpoint: Endpoint) -> bool:
        most = self._most.get(endpoint.instance_id, _UNBOUNDED)[0]
        return self.table.in_flight.get(endpoint.instance_id, 0) < most

    def _told(self, waiting: Waiting, outcome: Place | Refusal | None) -> None:
        self.waited_seconds += self.now() - waiting.since
        waiting.turn.set_result(outcome)

    def _drop(self, waiting: Waiting) -> None:
        line = self.lines[waiting.model]
        line.dropped(waiting)
        if not line:
            del self.lines[waiting.model]
        elif waiting.without or not line.ordinary:
            self._serve(waiting.model)  # who stood in front of a batch, or for one replica only, holds up nobody now

    # --- refusing

    def queue_seconds(self, route: ModelRoute) -> float:
        wish = route.serving.queue_seconds
        return self.bounds.queue_seconds if wish is None else wish

    def _no_room(self, route: ModelRoute, ask: Ask) -> Refusal | None:
        wish = route.serving.queue_length
        most = self.bounds.queue_length if wish is None else wish
        line = self.lines.get(route.name)
        waiting = 0 if line is None else len(line) if _is_batch(ask) else line.ordinary
        if waiting < most:
            return None
        seconds = self._retry_after(route)
        return _later("queue_full", seconds, model=route.name, waiting=waiting)

    def _cannot_hold(self, route: ModelRoute) -> Refusal | None:
        if route.state == "sleeping" and self.is_server_away:
            return not_ready(route, Sentence("model_sleeps_server_away"))
        line = self.lines.get(route.name)
        waiting = 0 if line is None else len(line)
        if waiting < self.bounds.held_while_waking:
            return None
        return _later("held_full", self._load_left(route.name), model=route.name, waiting=waiting)

    @staticmethod
    def can_be_held(route: ModelRoute) -> bool:
        """One that never sleeps is started by a person, who may take long about it."""
        may_sleep = route.serving.sleep_after_seconds is not None or route.state == "sleeping"
        return may_sleep and route.is_coming and not route.endpoints

    def _not_ready(self, known: Sequence[ModelRoute], routes: Sequence[ModelRoute]) -> Refusal:
        if not known:
            return Refusal("model_not_found", status=404, param="model", model=routes[0].name)
        return not_ready(known[0])

    def _too_late(self, waiting: Waiting) -> Refusal:
        route = self.table.models[waiting.model]
        if not route.endpoints:
            return not_ready(route, retry_seconds=self._load_left(route.name))
        seconds = f"{self.now() - waiting.since:.0f}"
        return _later("queue_timeout", self._retry_after(route), model=route.name, waited=seconds)

    def _retry_after(self, route: ModelRoute) -> int:
        line = self.lines.get(route.name)
        replicas = [(self._most[each.instance_id][0], self._usual(each)) for each in route.endpoints]
        return queue.retry_after(queue.seconds_until_turn(0 if line is None else len(line), replicas))

    def _usual(self, endpoint: Endpoint) -> float | None:
        replica = self.balancer.replicas.get(endpoint.instance_id)
        return replica.service_seconds if replica is not None and replica.observations else None

    def _load_left(self, model: str) -> int:
        average, since = self._loads.get(model), self._woken.get(model, self.now())
        usual = None if average is None else average.value
        return queue.retry_after(queue.seconds_until_loaded(usual, self.now() - since))

    # --- what changes around us

    def sweep(self) -> None:
        """A few times each second: whose time is over is told."""
        now = self.now()
        self._note_connection(now)
        for waiting in tuple(self._everybody()):
            if waiting.turn.done():  # another's end was this one's turn
                continue
            route = self.table.models[waiting.model]
            if now >= waiting.deadline:
                self._give_up(waiting, self._too_late(waiting))
            elif route.state == "sleeping" and self.is_server_away:
                self._give_up(waiting, not_ready(route, Sentence("model_sleeps_server_away")))

    def _give_up(self, waiting: Waiting, refusal: Refusal) -> None:
        self.refused += 1
        self._told(waiting, refusal)
        self._drop(waiting)

    def _note_connection(self, now: float) -> None:
        if self._is_connected():
            self._away_since = None
        elif self._away_since is None:
            self._away_since = now
        if self.is_server_away:  # a wake that nobody hears would come as a surprise, hours later
            self._woken = {model: since for model, since in self._woken.items() if not self._sleeps(model)}

    @property
    def is_server_away(self) -> bool:
        return self._away_since is not None and self.now() - self._away_since >= AWAY_SECONDS

    def _everybody(self) -> Iterator[Waiting]:
        for line in tuple(self.lines.values()):
            for each in line.everybody():
                assert isinstance(each, Waiting)
                yield each

    def _routes_changed(self) -> None:
        self._recount()
        for model in tuple(self._woken):
            self._look_at_woken(model)
        for model in tuple(self.lines):
            self._look_at_line(model)

    def _recount(self) -> None:
        every = [(route, each) for route in self.table.models.values() for each in route.endpoints]
        self._models = {each.instance_id: route.name for route, each in every}
        self._most = {}
        for route, each in every:
            default = self.bounds.in_flight_per_replica
            most = queue.most_in_flight(each, route.serving, default, self._gateways)
            self._most[each.instance_id] = (most, queue.most_for_batches(each, most))

    def _look_at_woken(self, model: str) -> None:
        route = self.table.models.get(model)
        if route is not None and not route.endpoints and route.is_coming:
            return
        since = self._woken.pop(model)
        if route is not None and route.endpoints:
            self._loads.setdefault(model, Average()).learn(self.now() - since)

    def _look_at_line(self, model: str) -> None:
        """Those for whom nobody will come any more look for another model, or are told why."""
        route = self.table.models.get(model)
        is_hopeless = route is None or not (route.endpoints or route.is_coming)
        for waiting in self.lines[model].everybody():
            assert isinstance(waiting, Waiting)
            if route is None or is_hopeless or (waiting.without and not self.table.has_others(route, waiting.without)):
                self._told(waiting, None)
                self.lines[model].dropped(waiting)
            elif route.endpoints:
                waiting.deadline = min(waiting.deadline, self.now() + self.queue_seconds(route))
        if route is not None and route.state == "sleeping" and self.lines[model]:
            self._wake(model)
        self._serve(model)

    def _wake(self, model: str) -> None:
        """The wake is the model's: it is asked for until it was heard, whoever waits or leaves."""
        if model not in self._woken:
            self._woken[model] = self.now()
            self._on_wake()

    def _sleeps(self, model: str) -> bool:
        route = self.table.models.get(model)
        return route is not None and route.state == "sleeping"

    # --- what the server is told, and tells

    @property
    def queued(self) -> dict[str, int]:
        return {model: len(line) for model, line in self.lines.items()}

    @property
    def longest_wait_seconds(self) -> float:
        return max((self.now() - each.since for each in self._everybody()), default=0.0)

    def status(self) -> Mapping[str, Any]:
        """Fields of wire.GatewayStatus. What was used stays said until the server has answered."""
        self._told_used |= self._used
        self._used = set()
        busy = {self._models[key] for key in self.table.in_flight if key in self._models}
        sleeping = [name for name in self._woken if self._sleeps(name)]
        used = self._told_used | busy | set(self.lines)
        return {"queued": self.queued, "wake": tuple(sleeping), "used": tuple(sorted(used))}

    def heed(self, orders: GatewayOrders) -> None:
        self._told_used = set()
        if orders.gateways != self._gateways:
            self._gateways = max(1, orders.gateways)
            self._recount()
            for model in tuple(self.lines):
                self._serve(model)


_UNBOUNDED = (2**31, 2**31)
"""Of a replica that has left the routes meanwhile."""


def _is_batch(ask: Ask) -> bool:
    return ask.credential.kind == "batch"


def _later(code: str, seconds: int, *, model: str, **params: int | str) -> Refusal:
    return Later(code, status=429, retry_seconds=seconds, param=None, model=model, seconds=seconds, **params)


def not_ready(route: ModelRoute, said: Sentence | None = None, *, retry_seconds: int = SOON_SECONDS) -> NotReady:
    reason = said or (Sentence(route.said.code, route.said.params) if route.said else None)
    return NotReady(route.name, route.state, reason, route.loading, retry_seconds)
