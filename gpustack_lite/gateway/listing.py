"""GET /v1/models: what a key may use, in OpenAI's shape, those that answer at once first."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import naming
from gpustack_lite.gateway.anthropic import models
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.control import CatchUp
from gpustack_lite.gateway.credentials import may_use
from gpustack_lite.gateway.gate import Gate
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.wire import Credential, ModelRoute, NamedRoute

OWNER = "gpustack-lite"


class Named(NamedTuple):
    """A public name, the models that answer to it, and those that stand in for them."""

    name: str
    created: int
    models: Sequence[ModelRoute]
    spares: Sequence[ModelRoute] = ()

    @property
    def is_ready(self) -> bool:
        return any(each.endpoints for each in (*self.models, *self.spares))


class Listing:
    def __init__(self, table: RouteTable, gate: Gate, catch_up: CatchUp) -> None:
        self._table = table
        self._gate = gate
        self._catch_up = catch_up

    async def list(self, call: Call) -> None:
        credential = self._gate.admit(call)
        found = in_order(allowed(every(self._table), credential, self._table.adapted))
        documents = [document(each) for each in found]
        plain = {"object": "list", "data": documents}
        await call.answer_json(200, models.page(documents) if models.VERSION in call.headers else plain)

    async def show(self, call: Call, name: str) -> None:
        credential = self._gate.admit(call)
        if not self._table.knows(name):
            await self._catch_up()
        found = named(self._table, name)
        if not may_use(credential, name, self._table.adapted.get(name)):
            raise Refusal("model_not_allowed", status=403, param="model", model=name)
        plain = document(found)
        await call.answer_json(200, models.model(plain) if models.VERSION in call.headers else plain)


def every(table: RouteTable) -> list[Named]:
    return [named(table, name) for name in (*table.models, *table.named, *table.adapted)]


def named(table: RouteTable, name: str) -> Named:
    """
    Raises:
        Refusal: `model_not_found`.
    """
    leads = table.named.get(name)
    if leads is not None:
        return _led(table, leads)
    route = table.route(table.adapted.get(name, name))
    return Named(name, route.created, (route,))


def _led(table: RouteTable, leads: NamedRoute) -> Named:
    targets = [each.model for each in leads.targets if each.weight > 0]
    models, spares = (
        [table.models[each] for each in names if each in table.models] for names in (targets, leads.fallback)
    )
    return Named(leads.name, leads.created, models or spares, spares)


def allowed(routes: Iterable[Named], credential: Credential, adapted: Mapping[str, str]) -> list[Named]:
    return [route for route in routes if may_use(credential, route.name, adapted.get(route.name))]


def in_order(routes: Iterable[Named]) -> list[Named]:
    """Many scripts take the first one."""
    return sorted(routes, key=lambda route: (not route.is_ready, route.name))


def document(named: Named) -> dict[str, object]:
    """What a client needs to know before it asks; null is what nobody knows.

    `max_model_len` is vLLM's name for the context length, which its clients look for.
    """
    context_length = _least([each.context_length for each in named.models])
    return {
        "id": named.name,
        "object": "model",
        "created": named.created,
        "owned_by": OWNER,
        "context_length": context_length,
        "max_model_len": context_length,
        "modalities": {
            "input": _modalities(named, "input_modalities"),
            "output": _modalities(named, "output_modalities"),
        },
        "tools": _agreed(named, "tools"),
        "reasoning": _agreed(named, "reasoning"),
        "json_schema": _agreed(named, "json_schema"),
        "embedding_dimensions": _agreed(named, "embedding_dimensions"),
        "supported_paths": _common([naming.offered(each.paths) or None for each in named.models]),
        "state": _state(named),
    }


def _state(named: Named) -> str:
    """Of whoever would answer first; a name that leads nowhere has failed."""
    models = (*named.models, *named.spares)
    answering = next((each for each in models if each.endpoints), models[0] if models else None)
    return "failed" if answering is None else answering.state


def _agreed(named: Named, ability: str) -> object:
    """What holds whichever model answers; a thing that one of them lacks is lacking."""
    said = [each.abilities.get(ability) for each in named.models]
    if any(each is False for each in said):
        return False
    return said[0] if said and all(each == said[0] for each in said) else None


def _modalities(named: Named, ability: str) -> list[str] | None:
    return _common([each.abilities.get(ability) for each in named.models])


def _common(known: Sequence[Iterable[str] | None]) -> list[str] | None:
    sets = [set(each) for each in known if each is not None]
    return sorted(set.intersection(*sets)) if sets and len(sets) == len(known) else None


def _least(lengths: Sequence[int | None]) -> int | None:
    known = [each for each in lengths if each is not None]
    return min(known) if known and len(known) == len(lengths) else None
