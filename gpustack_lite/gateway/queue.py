"""Who is next: one line per model, shared out among keys by their weights; pure.

Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with a cost of one for each request: a key that comes
anew stands where the line is now, however long the backlog of another key is.
"""

import math
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from gpustack_lite.wire import Endpoint, Serving

SLACK = 0.25
"""How much more than its slots an engine is given, so that it need not wait for us between two requests."""
LEARNING = 0.2
"""The weight of the newest service time."""
UNKNOWN_SECONDS = 5.0
"""Of a request, as long as none has ended."""
UNKNOWN_LOAD_SECONDS = 30.0
"""From asleep to ready, as long as nobody has seen it."""
LONGEST_RETRY_SECONDS = 600


@dataclass(slots=True, eq=False)
class Waiter:
    """One request in line. `without` are the replicas that it has tried; who has tried one stands in front."""

    key: Hashable
    weight: float
    is_batch: bool = False
    without: Sequence[int] = ()


@dataclass(slots=True)
class Flow:
    """The requests of one key. `start` is the tag of its first one, as long as there is one."""

    weight: float
    start: float
    waiting: deque[tuple[int, Waiter]] = field(default_factory=deque)


class FairLine:
    """`put`, then `served` or `dropped`; iterating goes over the first of each key, whoever is next first."""

    def __init__(self) -> None:
        self._flows: dict[Hashable, Flow] = {}
        self._now = 0.0
        self._numbers = count()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Waiter]:
        backlogged = [flow for flow in self._flows.values() if flow.waiting]
        backlogged.sort(key=lambda flow: (flow.start, flow.waiting[0][0]))
        return iter([flow.waiting[0][1] for flow in backlogged])

    def everybody(self) -> list[Waiter]:
        return [waiter for flow in self._flows.values() for _, waiter in flow.waiting]

    def put(self, waiter: Waiter) -> None:
        flow = self._flows.setdefault(waiter.key, Flow(waiter.weight, self._now))
        if not flow.waiting:
            flow.start = max(flow.start, self._now)
            flow.weight = waiter.weight
        flow.waiting.append((next(self._numbers), waiter))
        self._length += 1

    def served(self, waiter: Waiter) -> None:
        """It is the first of its key, and has its turn now."""
        flow = self._flows[waiter.key]
        flow.waiting.popleft()
        self._now = max(self._now, flow.start)
        flow.start += 1.0 / flow.weight
        self._shrink()

    def dropped(self, waiter: Waiter) -> None:
        """It left without a turn, which costs its key nothing."""
        flow = self._flows[waiter.key]
        flow.waiting = deque(each for each in flow.waiting if each[1] is not waiter)
        self._shrink()

    def _shrink(self) -> None:
        self._length -= 1
        if not self._length:  # nobody waits, so nobody is owed a turn
            self._flows.clear()
            self._now = 0.0


class Line:
    """All who wait for one model: those who tried a replica already, then everybody, then batches."""

    def __init__(self) -> None:
        self._front: deque[Waiter] = deque()
        self._fair = FairLine()
        self._batches = FairLine()

    def __len__(self) -> int:
        return self.ordinary + len(self._batches)

    @property
    def ordinary(self) -> int:
        """How many wait that a batch has to give way to."""
        return len(self._front) + len(self._fair)

    def __iter__(self) -> Iterator[Waiter]:
        """Those of whom one may be next, in order. A batch is among them only when nobody else waits."""
        yield from tuple(self._front)
        yield from self._fair
        if not self.ordinary:
            yield from self._batches

    def everybody(self) -> list[Waiter]:
        return [*self._front, *self._fair.everybody(), *self._batches.everybody()]

    def put(self, waiter: Waiter) -> None:
        if waiter.without:
            self._front.append(waiter)
        else:
            self._fair_line(waiter).put(waiter)

    def served(self, waiter: Waiter) -> None:
        if waiter.without:
            self._front.remove(waiter)
        else:
            self._fair_line(waiter).served(waiter)

    def dropped(self, waiter: Waiter) -> None:
        if waiter.without:
            self._front.remove(waiter)
        else:
            self._fair_line(waiter).dropped(waiter)

    def _fair_line(self, waiter: Waiter) -> FairLine:
        return self._batches if waiter.is_batch else self._fair


def most_in_flight(endpoint: Endpoint, serving: Serving, default: int, gateways: int) -> int:
    """How many requests this gateway gives to a replica at once; several gateways share what the replica takes."""
    if serving.in_flight_per_replica is not None:
        most = serving.in_flight_per_replica
    elif endpoint.slots is not None:
        most = math.ceil(endpoint.slots * (1 + SLACK))
    else:
        most = default
    return max(1, math.ceil(most / gateways))


def most_for_batches(endpoint: Endpoint, most: int) -> int:
    """A replica is idle enough for a batch's request when less than half of what it can work on is taken."""
    return max(1, min(most, endpoint.slots or most) // 2)


@dataclass(slots=True)
class Average:
    """An exponentially weighted mean; None before the first value."""

    value: float | None = None

    def learn(self, seconds: float) -> None:
        self.value = seconds if self.value is None else self.value + LEARNING * (seconds - self.value)


def seconds_until_turn(ahead: int, replicas: Sequence[tuple[int, float | None]]) -> float:
    """With so many before it. `replicas` are (requests at once, seconds of one): Little's law gives their rate."""
    known = [seconds for _, seconds in replicas if seconds is not None]
    usual = sum(known) / len(known) if known else UNKNOWN_SECONDS
    rate = sum(at_once / max(usual if seconds is None else seconds, 1e-3) for at_once, seconds in replicas)
    return (ahead + 1) / rate if rate else UNKNOWN_SECONDS


def seconds_until_loaded(usual: float | None, since_wake: float) -> float:
    """What is left of a load; one that takes longer than usual is said to be nearly done."""
    return (UNKNOWN_LOAD_SECONDS if usual is None else usual) - since_wake


def retry_after(seconds: float) -> int:
    """Whole seconds, as the header wants them."""
    return max(1, min(LONGEST_RETRY_SECONDS, math.ceil(seconds)))
