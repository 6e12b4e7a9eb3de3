import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway.balance import Balancer, Observation
from gpustack_lite.wire import Endpoint, ModelRoute, Serving


def endpoint(id_: int, context: int | None = None, worker: str = "") -> Endpoint:
    return Endpoint(
        instance_id=id_,
        address=f"127.0.0.1:{id_}",
        engine_key="k",
        served_name="m",
        context_length=context,
        worker=worker or f"w{id_}",
    )


def route(*endpoints: Endpoint, **serving: object) -> ModelRoute:
    return ModelRoute(
        id=1, name="m", created=1, state="ready", endpoints=endpoints, serving=Serving.model_validate(serving)
    )


@dataclass
class Ask:
    prompt_bytes: int = 400
    most_tokens: int | None = None
    is_stream: bool = True
    body: bytes = b""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def serve(balancer: Balancer, clock: Clock, where: ModelRoute, seconds: Mapping[int, float], ask: Ask) -> int:
    """One request, alone: a quarter of the time goes by before its first token. The replica that had it."""
    chosen = balancer.choose(where, where.endpoints, ask, {})
    flight = balancer.began(where, chosen, ask)
    took = seconds[chosen.instance_id]
    clock.now += took
    balancer.ended(flight, Observation(took, took / 4, 100, 0, 50))
    return chosen.instance_id


def trained(speeds: Mapping[int, float], rounds: int = 40, **serving: object) -> tuple[Balancer, Clock, ModelRoute]:
    clock, where = Clock(), route(*(endpoint(each) for each in speeds), **serving)
    balancer = Balancer(clock)
    for _ in range(rounds):
        serve(balancer, clock, where, speeds, Ask())
    return balancer, clock, where


def test_one_replica_is_no_choice() -> None:
    assert Balancer(lambda: 0.0).choose(route(endpoint(7)), (endpoint(7),), Ask(), {}).instance_id == 7


def test_a_replica_of_unknown_speed_is_tried_while_it_is_idle() -> None:
    balancer, _, _ = trained({1: 1.0, 2: 1.0})
    where = route(endpoint(1), endpoint(2), endpoint(3))
    assert balancer.choose(where, where.endpoints, Ask(), {1: 0}).instance_id == 3


def test_one_that_never_answers_is_not_tried_every_time() -> None:
    clock, where = Clock(), route(endpoint(1), endpoint(2))
    balancer, tried = Balancer(clock), Counter[int]()
    for _ in range(64):
        chosen = balancer.choose(where, where.endpoints, Ask(), {})
        tried[chosen.instance_id] += 1
        flight = balancer.began(where, chosen, Ask())
        works = chosen.instance_id == 1
        balancer.ended(flight, Observation(0.1, 0.05, 100, 0, 50, is_answered=works, is_alive=works))
    assert tried[2] <= 64 / 8 + 1


def test_the_faster_replica_is_preferred_until_it_is_full() -> None:
    balancer, _, where = trained({1: 1.0, 2: 3.0})
    in_flight: dict[int, int] = {}
    for _ in range(12):
        chosen = balancer.choose(where, where.endpoints, Ask(), in_flight)
        balancer.began(where, chosen, Ask())
        in_flight[chosen.instance_id] = in_flight.get(chosen.instance_id, 0) + 1
    assert in_flight[1] > in_flight[2] >= 1


def test_swapped_speeds_are_learned_again_within_tens_of_requests() -> None:
    balancer, clock, where = trained({1: 1.0, 2: 3.0})
    after = [serve(balancer, clock, where, {1: 3.0, 2: 1.0}, Ask()) for _ in range(40)]
    assert Counter(after[20:])[2] >= 18


def test_one_pause_is_not_a_new_speed() -> None:
    balancer, clock, where = trained({1: 1.0, 2: 2.5})
    ask = Ask()
    flight = balancer.began(where, where.endpoints[0], ask)
    clock.now += 60
    balancer.ended(flight, Observation(60.0, 15.0, 100, 0, 50))
    later = [serve(balancer, clock, where, {1: 1.0, 2: 2.5}, ask) for _ in range(20)]
    assert Counter(later)[1] >= 15


def test_a_slow_replica_is_looked_at_now_and_then_and_rarely() -> None:
    balancer, clock, where = trained({1: 1.0, 2: 2.0})
    served = Counter(serve(balancer, clock, where, {1: 1.0, 2: 2.0}, Ask()) for _ in range(1000))
    assert 1 <= served[2] <= 60


def test_equal_replicas_share_the_work() -> None:
    balancer, _, where = trained({1: 1.0, 2: 1.0})
    in_flight: dict[int, int] = {}
    for _ in range(10):
        chosen = balancer.choose(where, where.endpoints, Ask(), in_flight)
        balancer.began(where, chosen, Ask())
        in_flight[chosen.instance_id] = in_flight.get(chosen.instance_id, 0) + 1
    assert in_flight == {1: 5, 2: 5}


def test_a_weight_says_how_much_of_a_speed_to_assume() -> None:
    balancer, _, where = trained({1: 1.0, 2: 1.5})
    weighted = route(*where.endpoints, weights={"w1": 0.5})
    assert balancer.choose(where, where.endpoints, Ask(), {}).instance_id == 1
    assert balancer.choose(weighted, weighted.endpoints, Ask(), {}).instance_id == 2


def test_requests_of_other_gateways_count() -> None:
    balancer, _, where = trained({1: 1.0, 2: 1.1})
    balancer.elsewhere = {1: 20}
    assert balancer.choose(where, where.endpoints, Ask(), {}).instance_id == 2


@pytest.mark.parametrize(
    ("size", "most", "chosen"),
    [
        pytest.param(400, 100, 1, id="fits both: the faster one"),
        pytest.param(400, 4000, 2, id="the answer would not fit"),
        pytest.param(20_000, None, 2, id="the prompt would not fit"),
        pytest.param(400_000, None, 2, id="fits nowhere: the longest one may say so"),
    ],
)
def test_a_replica_with_a_context_that_is_too_short_is_left_out(size: int, most: int | None, chosen: int) -> None:
    speeds = {1: 1.0, 2: 9.0}
    balancer, _, _ = trained(speeds, 60)
    where = route(endpoint(1, 4096), endpoint(2, 32_768))
    assert balancer.choose(where, where.endpoints, Ask(size, most), {}).instance_id == chosen


def test_who_seems_stuck_is_taken_only_where_there_is_no_other() -> None:
    balancer, _, where = trained({1: 1.0, 2: 9.0})
    balancer.avoided = {1}
    assert balancer.choose(where, where.endpoints, Ask(), {}).instance_id == 2
    balancer.avoided = {1, 2}
    assert balancer.choose(where, where.endpoints, Ask(), {}).instance_id == 1


def prompt(number: int, size: int = 8000) -> Ask:
    body = b'{"messages":[{"role":"system","content":"' + str(number).encode() * size + b'"}]}'
    return Ask(len(body), 8, is_stream=True, body=body)


def warmed(**serving: object) -> tuple[Balancer, Clock, ModelRoute]:
    """Two equal replicas; the second one was given the prompt number 7."""
    clock, where = Clock(), route(endpoint(1), endpoint(2), **serving)
    balancer = Balancer(clock)
    for id_, number in ((0, 1), (1, 7), (0, 2)):
        flight = balancer.began(where, where.endpoints[id_], prompt(number))
        clock.now += 2.2
        balancer.ended(flight, Observation(2.2, 2.0, 2000, 0, 8))
    return balancer, clock, where


def test_a_prompt_goes_where_its_beginning_is_cached() -> None:
    balancer, _, where = warmed()
    assert balancer.choose(where, where.endpoints, prompt(7), {}).instance_id == 2


def test_affinity_can_be_switched_off() -> None:
    balancer, _, where = warmed(affinity=False)
    chosen = {balancer.choose(where, where.endpoints, prompt(7), {2: 1}).instance_id for _ in range(5)}
    assert chosen == {1}


def test_affinity_ends_where_the_wait_costs_more_than_the_cache_saves() -> None:
    balancer, _, where = warmed()
    in_flight = {2: 0}
    for number in range(8):
        balancer.began(where, where.endpoints[1], prompt(100 + number))
        in_flight[2] += 1
    assert balancer.choose(where, where.endpoints, prompt(7), in_flight).instance_id == 1


def test_a_replica_that_says_it_kept_nothing_is_believed() -> None:
    balancer, clock, where = warmed()
    flight = balancer.began(where, where.endpoints[1], prompt(7))
    assert flight.cached_tokens > 1000
    clock.now += 2.2
    balancer.ended(flight, Observation(2.2, 2.0, 2000, 0, 8))
    assert balancer.began(where, where.endpoints[1], prompt(7)).cached_tokens == 0


def test_what_is_gone_is_forgotten() -> None:
    balancer, _, _ = trained({1: 1.0, 2: 1.0})
    balancer.keep_only([2])
    assert set(balancer.replicas) == {2}


EVENT = st.tuples(st.integers(0, 3), st.floats(1e-3, 1e3), st.booleans(), st.booleans())


@given(st.lists(EVENT, max_size=60), st.integers(0, 2**31))
def test_whatever_is_observed_every_number_stays_finite_and_somebody_is_chosen(
    events: list[tuple[int, float, bool, bool]], seed: int
) -> None:
    chance, clock, where = random.Random(seed), Clock(), route(*(endpoint(each) for each in range(1, 4)))
    balancer, flights = Balancer(clock), []
    for what, seconds, answered, streamed in events:
        clock.now += seconds / 10
        in_flight = Counter(each.endpoint.instance_id for each in flights)
        if what or not flights:
            ask = prompt(chance.randrange(3), chance.randrange(1, 4000))
            chosen = balancer.choose(where, where.endpoints, ask, in_flight)
            assert chosen in where.endpoints
            flights.append(balancer.began(where, chosen, ask))
        else:
            flight = flights.pop(chance.randrange(len(flights)))
            first = seconds / 3 if streamed else None
            seen = Observation(
                seconds, first, chance.choice([None, 0, 5, 9000]), None, chance.choice([None, 0, 1, 500])
            )
            balancer.ended(flight, seen._replace(is_answered=answered, is_alive=answered))
    for replica in balancer.replicas.values():
        for number in (replica.overhead_seconds, replica.prompt_token_seconds, replica.token_seconds):
            assert 0 < number < 1e9
