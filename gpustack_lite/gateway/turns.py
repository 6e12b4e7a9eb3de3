"""Whose turn it is: a replica for a request, now if one is free, else after those that came before it."""

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import NamedTuple

from gpustack_lite.gateway.balance import Balancer
from gpustack_lite.gateway.learning import observation
from gpustack_lite.gateway.ledger import Entry
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.wire import Credential, Endpoint, ModelRoute


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


class Place:
    """A request's hold on a replica, given back when the `with` is left; what `entry` says by then is learned from."""

    __slots__ = ("_balancer", "_table", "endpoint", "entry", "flight", "route")

    def __init__(self, table: RouteTable, balancer: Balancer, route: ModelRoute, endpoint: Endpoint, ask: Ask) -> None:
        self._table = table
        self._balancer = balancer
        self.route = route
        self.endpoint = endpoint
        self.entry: Entry | None = None
        self.flight = balancer.began(route, endpoint, ask, table.in_flight.get(endpoint.instance_id, 0))
        table.hold(endpoint.instance_id)

    def __enter__(self) -> Endpoint:
        return self.endpoint

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._table.give_back(self.endpoint.instance_id)
        self._balancer.ended(self.flight, observation(self.flight, self.entry, self._balancer.now()))


class Turns:
    """`take` answers at once and is the way of nearly every request; `wait` is for the rest."""

    def __init__(self, table: RouteTable, balancer: Balancer) -> None:
        self._table = table
        self._balancer = balancer

    def take(self, routes: Sequence[ModelRoute], ask: Ask, without: Collection[int] = ()) -> Place | None:
        """A place on the first of `routes` that has a free replica outside `without`; None where it has to wait."""
        for route in routes:
            if endpoints := self._table.others(route, without):
                chosen = self._balancer.choose(route, endpoints, ask, self._table.in_flight)
                return Place(self._table, self._balancer, route, chosen, ask)
        return None

    def has_another(self, routes: Sequence[ModelRoute], without: Collection[int]) -> bool:
        return any(self._table.has_another(route.name, without) for route in routes)
