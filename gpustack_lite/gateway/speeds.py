"""What was learned of the replicas, as lines of /metrics."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpustack_lite.gateway.balance import Replica
from gpustack_lite.wire import Endpoint, ModelRoute


class Known(NamedTuple):
    route: ModelRoute
    endpoint: Endpoint
    replica: Replica


def lines(routes: Iterable[ModelRoute], replicas: Mapping[int, Replica]) -> Iterator[str]:
    """Of those that have answered something; speeds are those of a request that is alone there."""
    known = [
        Known(route, endpoint, replicas[endpoint.instance_id])
        for route in routes
        for endpoint in route.endpoints
        if endpoint.instance_id in replicas and replicas[endpoint.instance_id].observations
    ]
    yield from _gauge("prompt_tokens_per_second", known, [1.0 / each.replica.prompt_token_seconds for each in known])
    yield from _gauge("tokens_per_second", known, [1.0 / each.replica.token_seconds for each in known])
    yield from _gauge("overhead_seconds", known, [each.replica.overhead_seconds for each in known])
    yield from _gauge("queue_share", known, [each.replica.share for each in known])
    yield from _gauge("weight", known, [each.route.serving.weights.get(each.endpoint.worker, 1.0) for each in known])


def _gauge(name: str, known: Iterable[Known], values: Iterable[float]) -> Iterator[str]:
    yield f"# TYPE gpustack_lite_replica_{name} gauge"
    for each, value in zip(known, values, strict=True):
        labels = {"model": each.route.name, "worker": each.endpoint.worker, "instance": str(each.endpoint.instance_id)}
        told = ",".join(f'{key}="{_quoted(text)}"' for key, text in labels.items())
        yield f"gpustack_lite_replica_{name}{{{told}}} {value:g}"


def _quoted(text: str) -> str:
    """A label's value, as Prometheus' text format has it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
