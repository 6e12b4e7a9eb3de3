"""Three ways to choose a replica: what the gateway learns, the least requests in flight, and one after the other."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpustack_lite.gateway.balance import Balancer, Flight, Observation
from gpustack_lite.wire import Endpoint, ModelRoute, Serving


@dataclass(frozen=True, slots=True)
class Asked:
    """As much of a request as a gateway knows of it."""

    body: bytes
    most_tokens: int | None
    is_stream: bool = True

    @property
    def prompt_bytes(self) -> int:
        return len(self.body)


class Policy(Protocol):
    def begin(self, asked: Asked) -> tuple[int, Flight | None]:
        """The index of the replica, and what to hand to `end`."""

    def end(self, replica: int, flight: Flight | None, seen: Observation) -> None: ...


class Learned:
    def __init__(self, replicas: int, now: Callable[[], float]) -> None:
        ids = range(1, replicas + 1)
        self._endpoints = [Endpoint(instance_id=id_, address="-", engine_key="-", served_name="m") for id_ in ids]
        self._route = ModelRoute(
            id=1, name="m", created=1, state="ready", endpoints=tuple(self._endpoints), serving=Serving()
        )
        self._balancer = Balancer(now)
        self._in_flight: Counter[int] = Counter()

    def begin(self, asked: Asked) -> tuple[int, Flight | None]:
        chosen = self._balancer.choose(self._route, self._endpoints, asked, self._in_flight)
        flight = self._balancer.began(self._route, chosen, asked)
        self._in_flight[chosen.instance_id] += 1
        return chosen.instance_id - 1, flight

    def end(self, replica: int, flight: Flight | None, seen: Observation) -> None:
        self._in_flight[replica + 1] -= 1
        assert flight is not None
        self._balancer.ended(flight, seen)


class LeastInFlight:
    """Among the equally busy ones each has its turn."""

    def __init__(self, replicas: int, _: Callable[[], float]) -> None:
        self._busy = [0] * replicas
        self._turn = 0

    def begin(self, _: Asked) -> tuple[int, Flight | None]:
        count = len(self._busy)
        chosen = min(range(count), key=lambda at: (self._busy[at], (at - self._turn) % count))
        self._turn += 1
        self._busy[chosen] += 1
        return chosen, None

    def end(self, replica: int, _: Flight | None, __: Observation) -> None:
        self._busy[replica] -= 1


class RoundRobin:
    def __init__(self, replicas: int, _: Callable[[], float]) -> None:
        self._replicas = replicas
        self._turn = 0

    def begin(self, _: Asked) -> tuple[int, Flight | None]:
        self._turn += 1
        return self._turn % self._replicas, None

    def end(self, _: int, __: Flight | None, ___: Observation) -> None: ...


POLICIES: Sequence[tuple[str, Callable[[int, Callable[[], float]], Policy]]] = (
    ("learned", Learned),
    ("least in flight", LeastInFlight),
    ("round robin", RoundRobin),
)
