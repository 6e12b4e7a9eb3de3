"""Who is next: fair by weight whoever asks how often, and batches last."""

from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway.queue import (
    FairLine,
    Line,
    Waiter,
    most_for_batches,
    most_in_flight,
    retry_after,
    seconds_until_loaded,
    seconds_until_turn,
)
from gpustack_lite.wire import Endpoint, Serving


def waiter(key: object, weight: float = 1, **fields: object) -> Waiter:
    return Waiter(key, weight, **fields)  # type: ignore[arg-type]


def order(line: FairLine | Line) -> list[object]:
    """The keys in the order in which they are served."""
    served = []
    while line:
        first = next(iter(line))
        line.served(first)
        served.append(first.key)
    return served


def test_each_key_has_its_turn_however_many_requests_another_has() -> None:
    line = FairLine()
    for key in "aaaab":
        line.put(waiter(key))
    assert "".join(map(str, order(line))) == "abaaa"


def test_a_key_that_comes_anew_is_next_but_is_not_paid_for_the_time_before() -> None:
    line = FairLine()
    for _ in range(50):
        line.put(waiter("old"))
    for _ in range(20):
        line.served(next(iter(line)))
    for _ in range(10):
        line.put(waiter("new"))
    assert Counter(order(line)[:12]) == {"old": 6, "new": 6}


def test_who_leaves_costs_its_key_nothing() -> None:
    line = FairLine()
    gone = [waiter("a") for _ in range(30)]
    for each in [*gone, waiter("a"), waiter("b"), waiter("b")]:
        line.put(each)
    for each in gone:
        line.dropped(each)
    assert order(line) == ["a", "b", "b"]


def test_who_tried_a_replica_stands_in_front_and_batches_wait_for_everybody() -> None:
    line = Line()
    batch, plain, again = waiter("x", is_batch=True), waiter("a"), waiter("b", without=(7,))
    for each in (batch, plain, again):
        line.put(each)
    assert list(line) == [again, plain]
    assert order(line) == ["b", "a", "x"]


def jain(shares: list[float]) -> float:
    return sum(shares) ** 2 / (len(shares) * sum(each * each for each in shares))


@pytest.mark.parametrize(
    "clients",
    [
        pytest.param({"light": 150, "middle": 40, "heavy": 10}, id="three keys"),
        pytest.param({f"key-{index}": 1 for index in range(200)}, id="a key for each client"),
    ],
)
def test_two_hundred_clients_of_three_weights_get_shares_by_weight(clients: dict[str, int]) -> None:
    """Eight places, each client asks again as soon as it is answered; services differ in length."""
    weights = {key: (1, 2, 4)[index % 3] for index, key in enumerate(clients)}
    line, places, served = FairLine(), deque([0] * 8), Counter[str]()
    for key, count in clients.items():
        for _ in range(count):
            line.put(waiter(key, weights[key]))
    for _ in range(6_000):
        if (finished := places.popleft()) in weights:
            line.put(waiter(finished, weights[finished]))  # type: ignore[index]
        first = next(iter(line))
        line.served(first)
        served[first.key] += 1  # type: ignore[index]
        places.append(first.key)  # type: ignore[arg-type]
    assert jain([served[key] / weights[key] for key in clients]) >= 0.95


STEP = st.tuples(st.sampled_from("abc"), st.sampled_from(["put", "batch", "again", "serve", "leave"]))


@given(st.lists(STEP, max_size=60))
def test_nobody_is_lost_and_nobody_is_served_twice(steps: list[tuple[str, str]]) -> None:
    line, waiting, served = Line(), [], []
    for key, what in steps:
        if what == "serve" and line:
            first = next(iter(line))
            line.served(first)
            served.append(first)
            waiting.remove(first)
        elif what == "leave" and waiting:
            line.dropped(waiting.pop(ord(key) % len(waiting)))
        elif what in {"put", "batch", "again"}:
            waiting.append(waiter(key, 1, is_batch=what == "batch", without=(1,) if what == "again" else ()))
            line.put(waiting[-1])
        assert len(line) == len(waiting)
        assert set(map(id, line.everybody())) == set(map(id, waiting))
    assert len(set(map(id, served))) == len(served)


def endpoint(slots: int | None) -> Endpoint:
    return Endpoint(instance_id=1, address="x:1", engine_key="k", served_name="m", slots=slots)


@pytest.mark.parametrize(
    ("slots", "wish", "gateways", "most"),
    [
        pytest.param(4, 7, 1, 7, id="as somebody wished"),
        pytest.param(4, None, 1, 5, id="a little more than its slots"),
        pytest.param(None, None, 1, 100, id="the setting where nobody knows"),
        pytest.param(4, None, 2, 3, id="shared among gateways"),
        pytest.param(1, None, 8, 1, id="never nothing"),
    ],
)
def test_how_many_requests_a_replica_is_given(slots: int | None, wish: int | None, gateways: int, most: int) -> None:
    assert most_in_flight(endpoint(slots), Serving(in_flight_per_replica=wish), 100, gateways) == most


def test_a_batch_leaves_half_of_a_replica_to_others() -> None:
    assert (most_for_batches(endpoint(4), 5), most_for_batches(endpoint(1), 2)) == (2, 1)
    assert most_for_batches(endpoint(None), 100) == 50


def test_when_to_come_back_follows_from_what_was_measured() -> None:
    assert seconds_until_turn(7, [(4, 2.0)]) == 4.0
    assert seconds_until_turn(7, [(4, 2.0), (4, None)]) == 2.0
    assert retry_after(0.2) == 1
    assert retry_after(1e9) == 600
    assert seconds_until_loaded(90, 30) == 60
    assert retry_after(seconds_until_loaded(10, 300)) == 1
