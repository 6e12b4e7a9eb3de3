"""Public names that lead to other models: who is asked first, who stands in, and in which order."""

from collections.abc import Mapping, Sequence

from gpustack_lite.gateway.answers import NotServed
from gpustack_lite.wire import Endpoint, ModelRoute, NamedRoute

Order = tuple[ModelRoute, ...]
SLEEPING = "sleeping"
_CHAT = "/v1/chat/completions"
_MESSAGES = "/v1/messages"
TRANSLATED: Mapping[str, str] = {_MESSAGES: _CHAT, "/v1/messages/count_tokens": _CHAT}
"""Paths that need not be an engine's own -> the path of the engine that stands in for it."""


class Spread:
    """The orders of trial of one name, made when the routes come, so that a request only picks one of them.

    Requests are dealt out by smooth weighted round robin (nginx's): in any run of requests each target has its
    weight's share, well mixed, and nothing is left to chance.
    """

    __slots__ = ("_credits", "_dealt", "_orders", "_total", "_weights")

    def __init__(self, orders: Sequence[Order], weights: Sequence[int], credits_before: Mapping[str, int]) -> None:
        self._orders = tuple(orders)
        self._weights = tuple(weights)
        self._total = sum(weights)
        self._dealt = range(len(self._orders))
        self._credits = [credits_before.get(order[0].name, 0) for order in self._orders]

    def next(self) -> Order:
        if len(self._orders) == 1:
            return self._orders[0]
        owed, best = self._credits, 0
        for index in self._dealt:
            owed[index] += self._weights[index]
            if owed[index] > owed[best]:
                best = index
        owed[best] -= self._total
        return self._orders[best]

    @property
    def credits(self) -> dict[str, int]:
        """For the successor: what each target is owed, so that new routes do not begin the deal anew."""
        return {order[0].name: owed for order, owed in zip(self._orders, self._credits, strict=True)}

    @property
    def models(self) -> Order:
        """Every model behind the name that exists."""
        return self._orders[0]


def spread(route: NamedRoute, models: Mapping[str, ModelRoute], before: Spread | None = None) -> Spread | None:
    """None where none of its models exists.

    Targets that are ready take turns, and those that sleep: whoever asks one of these wakes it, and is served by the
    next in order meanwhile. Behind the one whose turn it is stand the other targets and then the fallback, each time
    the ready ones first and the heaviest of them in front. A target of weight 0 gets nothing.
    """
    weights = {each.model: each.weight for each in route.targets if each.weight > 0 and each.model in models}
    targets = _ready_first([models[name] for name in sorted(weights, key=lambda name: -weights[name])])
    spares = _ready_first([models[name] for name in route.fallback if name in models and name not in weights])
    dealt = [each for each in targets if each.endpoints or each.state == SLEEPING]
    every = (*targets, *spares)
    if not every:
        return None
    if not dealt:
        return Spread([every], [1], {})
    orders = [(each, *(other for other in every if other is not each)) for each in dealt]
    return Spread(orders, [weights[each.name] for each in dealt], before.credits if before else {})


def _ready_first(routes: Sequence[ModelRoute]) -> Order:
    return tuple(sorted(routes, key=lambda each: not each.endpoints))


def for_engine(asked: str, route: ModelRoute, endpoint: Endpoint) -> str:
    """How the engine knows what was asked for: an adapter by its public name, the model by the one it serves."""
    return asked if asked in route.adapters else endpoint.served_name


def serves(route: ModelRoute, path: str) -> bool:
    """Whether its engine may be asked for `path`; of an engine of which nobody knows, the engine decides."""
    paths = route.paths
    return not paths or path in paths or TRANSLATED.get(path) in paths


def offered(paths: Sequence[str]) -> tuple[str, ...]:
    """Those of an engine, and what we make of them; tokens are counted only where the engine lets itself be asked."""
    return (*paths, _MESSAGES) if _CHAT in paths and _MESSAGES not in paths else tuple(paths)


def able(name: str, routes: Order, path: str) -> Order:
    """Those that serve `path`.

    Raises:
        Refusal: 404 `path_not_served`, naming what the model does serve.
    """
    if serves(routes[0], path) and len(routes) == 1:
        return routes
    found = tuple(route for route in routes if serves(route, path))
    if not found:
        raise NotServed(name, path, sorted({each for route in routes for each in offered(route.paths)}))
    return found
