"""GET /v1/models: what a key may use, in OpenAI's shape, those that answer at once first."""

from collections.abc import Iterable

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.control import CatchUp
from gpustack_lite.gateway.credentials import may_use
from gpustack_lite.gateway.gate import Gate
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.wire import Credential, ModelRoute

OWNER = "gpustack-lite"


class Listing:
    def __init__(self, table: RouteTable, gate: Gate, catch_up: CatchUp) -> None:
        self._table = table
        self._gate = gate
        self._catch_up = catch_up

    async def list(self, call: Call) -> None:
        credential = self._gate.admit(call)
        routes = in_order(allowed(self._table.models.values(), credential))
        await call.answer_json(200, {"object": "list", "data": [document(route) for route in routes]})

    async def show(self, call: Call, name: str) -> None:
        credential = self._gate.admit(call)
        if name not in self._table.models:
            await self._catch_up()
        route = self._table.route(name)
        if not may_use(credential, name):
            raise Refusal("model_not_allowed", status=403, param="model", model=name)
        await call.answer_json(200, document(route))


def allowed(routes: Iterable[ModelRoute], credential: Credential) -> list[ModelRoute]:
    return [route for route in routes if may_use(credential, route.name)]


def in_order(routes: Iterable[ModelRoute]) -> list[ModelRoute]:
    """Many scripts take the first one."""
    return sorted(routes, key=lambda route: (not route.endpoints, route.name))


def document(route: ModelRoute) -> dict[str, object]:
    """`max_model_len` is vLLM's name for the context length, which its clients look for."""
    return {
        "id": route.name,
        "object": "model",
        "created": route.created,
        "owned_by": OWNER,
        "context_length": route.context_length,
        "max_model_len": route.context_length,
        "state": route.state,
    }
