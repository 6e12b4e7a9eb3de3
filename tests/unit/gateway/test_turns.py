"""Places and the lines before them, without sockets and without time."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.balance import Balancer, Replica
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.gateway.turns import Ask, Bounds, Place, Turns, Waiting
from gpustack_lite.wire import Credential, Endpoint, GatewayOrders, ModelRoute, RoutesReply, Said, Serving


def route(name: str = "m", *ids: int, **fields: Any) -> ModelRoute:
    endpoints = tuple(
        Endpoint(instance_id=each, address=f"127.0.0.1:{each}", engine_key="k", served_name=name, slots=1)
        for each in ids
    )
    state = "ready" if ids else "starting"
    return ModelRoute(**{"id": 1, "name": name, "created": 1, "state": state, "endpoints": endpoints, **fields})


ONE_AT_ONCE = Serving(in_flight_per_replica=1, sleep_after_seconds=60)
ASLEEP = route(state="sleeping", is_coming=True, serving=ONE_AT_ONCE)
STARTING = route(state="starting", is_coming=True, serving=ONE_AT_ONCE)


def ask(key: int = 1, **fields: Any) -> Ask:
    given = {"kind": "key", "user_id": 1, "user": "ada", "role": "user", **fields}
    return Ask(Credential(digest=str(key), id=key, **given), "/v1/chat/completions", 2, None, False, b"{}")


class House:
    """Turns with a clock, a server and a table that a test moves."""

    def __init__(self, *routes: ModelRoute, **bounds: Any) -> None:
        self.now = 100.0
        self.is_connected = True
        self.wakes = 0
        self.revision = 0
        self.table = RouteTable()
        self.balancer = Balancer(lambda: self.now)
        self.turns = Turns(
            self.table,
            self.balancer,
            Bounds(**bounds),
            is_connected=lambda: self.is_connected,
            on_wake=self._woken,
        )
        self.publish(*routes)

    def _woken(self) -> None:
        self.wakes += 1

    def publish(self, *routes: ModelRoute) -> None:
        self.revision += 1
        reply = RoutesReply(epoch=1, models_revision=self.revision, models=routes, credentials_revision=1)
        self.table.accept(reply)

    def take(self, asked: Ask | None = None, without: tuple[int, ...] = (), model: str = "m") -> Place | None:
        return self.turns.take([self.table.models[model]], asked or ask(), without)

    def held(self, asked: Ask | None = None, **more: Any) -> Place:
        place = self.take(asked, **more)
        assert place is not None
        return place

    def join(self, asked: Ask | None = None, without: tuple[int, ...] = (), model: str = "m") -> Waiting:
        return self.turns.join([self.table.models[model]], asked or ask(), without)

    def refused(self, act: Callable[[], object]) -> Refusal:
        with pytest.raises(Refusal) as caught:
            act()
        return caught.value


def place_of(waiting: Waiting) -> Place:
    outcome = waiting.turn.result()
    assert isinstance(outcome, Place)
    return outcome


def cause(waiting: Waiting) -> str | None:
    outcome = waiting.turn.result()
    return outcome.code if isinstance(outcome, Refusal) else None


async def test_a_place_that_is_given_back_goes_to_whoever_waits_and_nobody_overtakes() -> None:
    house = House(route("m", 1, serving=ONE_AT_ONCE))
    place = house.held()
    assert house.take() is None
    waiting = house.join()
    place.give_back()
    assert place_of(waiting).endpoint.instance_id == 1
    second = house.join()
    place_of(waiting).give_back()
    assert house.take() is None
    place_of(second).give_back()
    house.held()


async def test_who_leaves_is_in_no_line_and_holds_no_place() -> None:
    house = House(route("m", 1, serving=ONE_AT_ONCE))
    place, early, late = house.held(), house.join(), house.join()
    house.turns.left(early)
    assert house.turns.queued == {"m": 1}
    place.give_back()
    house.turns.left(late)  # its turn had come, but it did not hear of it any more
    assert (house.turns.queued, dict(house.table.in_flight)) == ({}, {})


async def test_a_line_has_an_end_and_says_when_to_come_back() -> None:
    house = House(route("m", 1, serving=Serving(in_flight_per_replica=1, queue_length=2)))
    house.balancer.replicas[1] = Replica(service_seconds=8.0, observations=1)
    house.held()
    house.join()
    house.join()
    refusal = house.refused(house.join)
    assert (refusal.code, refusal.status, refusal.params["seconds"]) == ("queue_full", 429, 24)


async def test_who_waited_too_long_is_told() -> None:
    house = House(route("m", 1, serving=Serving(in_flight_per_replica=1, queue_seconds=10)))
    house.held()
    waiting = house.join()
    house.now += 9
    house.turns.sweep()
    assert not waiting.turn.done()
    house.now += 1
    house.turns.sweep()
    assert (cause(waiting), house.turns.queued) == ("queue_timeout", {})


async def test_a_request_that_tried_a_replica_stands_in_front_and_is_not_given_the_same() -> None:
    house = House(route("m", 1, 2, serving=ONE_AT_ONCE))
    first, second = house.held(), house.held()
    plain, again = house.join(ask(2)), house.join(ask(3), without=(first.endpoint.instance_id,))
    first.give_back()
    assert not again.turn.done()
    assert place_of(plain).endpoint == first.endpoint
    other = house.join(ask(2))
    second.give_back()
    assert place_of(again).endpoint == second.endpoint
    assert not other.turn.done()


async def test_a_batch_takes_only_what_nobody_else_wants() -> None:
    house = House(route("m", 1, serving=Serving(in_flight_per_replica=2)))
    batch = ask(9, kind="batch")
    first = house.held(batch)
    assert house.take(batch) is None
    waiting = house.join(batch)
    plain = house.held(ask(1))
    first.give_back()
    assert not waiting.turn.done()
    plain.give_back()
    place_of(waiting).give_back()


async def test_a_new_replica_serves_those_who_wait() -> None:
    house = House(route("m", 1, serving=ONE_AT_ONCE))
    house.held()
    waiting = house.join()
    house.publish(route("m", 1, 2, serving=ONE_AT_ONCE))
    assert place_of(waiting).endpoint.instance_id == 2


@pytest.mark.parametrize(
    ("after", "code"),
    [
        pytest.param((route(state="stopped"),), "model_not_ready", id="stopped"),
        pytest.param((route(state="failed", said=Said(code="x")),), "model_not_ready", id="failed"),
        pytest.param((), "model_not_found", id="deleted"),
    ],
)
async def test_whoever_waits_for_what_will_not_come_is_told_the_cause(after: tuple[ModelRoute, ...], code: str) -> None:
    house = House(route("m", 1, serving=ONE_AT_ONCE))
    routes = [house.table.models["m"]]
    house.held()
    waiting = house.join()
    house.publish(*after)
    assert waiting.turn.result() is None
    assert house.refused(lambda: house.turns.join(routes, ask())).code == code
    assert house.turns.queued == {}


async def test_a_sleeping_model_is_woken_once_and_the_wake_outlives_its_waiters() -> None:
    house = House(ASLEEP)
    assert house.take() is None
    house.turns.left(house.join())
    assert (house.wakes, house.turns.status()["wake"]) == (1, ("m",))
    house.publish(STARTING)
    assert house.turns.status()["wake"] == ()
    waiting = house.join()
    house.publish(route("m", 1, serving=ONE_AT_ONCE))
    place_of(waiting).give_back()
    house.publish(ASLEEP)
    house.take()
    assert (house.wakes, house.turns.status()["wake"]) == (2, ("m",))


async def test_held_requests_are_capped_and_the_rest_hears_how_long_loads_take() -> None:
    house = House(ASLEEP, held_while_waking=1)
    house.join()
    assert house.refused(house.join).params["seconds"] == 30
    house.now += 90
    house.publish(route("m", 1, serving=ONE_AT_ONCE))
    house.publish(ASLEEP)
    house.join()
    house.now += 20
    house.publish(STARTING)
    refusal = house.refused(house.join)
    assert (refusal.code, refusal.status, refusal.params["seconds"]) == ("held_full", 429, 70)


async def test_the_time_in_line_counts_from_when_the_model_is_there() -> None:
    house = House(STARTING, queue_seconds=10)
    first, second = house.join(), house.join()
    house.now += 300
    house.turns.sweep()
    house.publish(route("m", 1, serving=ONE_AT_ONCE))
    place_of(first)
    house.now += 9
    house.turns.sweep()
    assert not second.turn.done()
    house.now += 1
    house.turns.sweep()
    assert cause(second) == "queue_timeout"


async def test_without_a_server_nothing_is_woken() -> None:
    house = House(ASLEEP)
    waiting = house.join()
    house.is_connected = False
    house.turns.sweep()
    house.join()  # it may only be restarting
    house.now += 6
    house.turns.sweep()
    assert cause(waiting) == "model_not_ready"
    assert house.refused(house.join).status == 503


async def test_a_model_that_nobody_allowed_to_sleep_is_not_waited_for() -> None:
    house = House(route(state="starting", is_coming=True))
    assert house.refused(house.join).code == "model_not_ready"


async def test_another_model_of_the_name_serves_while_the_first_sleeps() -> None:
    house = House(ASLEEP, route("other", 5))
    place = house.turns.take([house.table.models["m"], house.table.models["other"]], ask())
    assert place is not None
    assert (place.route.name, house.wakes) == ("other", 1)


async def test_what_was_used_is_told_until_the_server_has_heard_it() -> None:
    house = House(route("m", 1))
    house.held().give_back()
    assert house.turns.status()["used"] == house.turns.status()["used"] == ("m",)
    house.turns.heed(GatewayOrders())
    assert house.turns.status()["used"] == ()
    house.held()
    house.turns.status()
    house.turns.heed(GatewayOrders())
    assert house.turns.status()["used"] == ("m",)


STEP = st.tuples(st.sampled_from(["ask", "batch", "again", "end", "leave", "routes", "time"]), st.integers(0, 6))


@given(st.lists(STEP, max_size=80))
@settings(deadline=None)
def test_no_waiter_is_lost_and_no_replica_gets_more_than_its_bound(steps: list[tuple[str, int]]) -> None:
    asyncio.run(_walk(steps))


async def _walk(steps: list[tuple[str, int]]) -> None:
    serving = Serving(in_flight_per_replica=2, queue_seconds=5, sleep_after_seconds=60)
    house = House(route("m", 1, 2, serving=serving), queue_length=6)
    places: list[Place] = []
    waiting: list[Waiting] = []
    for what, number in steps:
        if what in {"ask", "batch", "again"}:
            asked = ask(number, kind="batch" if what == "batch" else "key")
            without = (1,) if what == "again" else ()
            if place := house.take(asked, without):
                places.append(place)
            else:
                with contextlib.suppress(Refusal):
                    waiting.append(house.join(asked, without))
        elif what == "end" and places:
            places.pop(number % len(places)).give_back()
        elif what == "leave" and waiting:
            house.turns.left(waiting.pop(number % len(waiting)))
        elif what == "routes":
            ids = ((1,), (1, 2), (2,), (), (2, 3), (1, 2, 3), ())[number]
            state = {} if ids else {"state": "starting", "is_coming": number == 3}
            house.publish(route("m", *ids, serving=serving, **state))
        elif what == "time":
            house.now += number
            house.turns.sweep()
        told = [each for each in waiting if each.turn.done()]
        waiting = [each for each in waiting if not each.turn.done()]
        places += [each.turn.result() for each in told if isinstance(each.turn.result(), Place)]
        assert sum(house.turns.queued.values()) == len(waiting)
        assert all(house.table.in_flight.get(key, 0) <= 2 for key in (1, 2, 3))
        assert sum(house.table.in_flight.values()) == len(places)
    for each in waiting:
        house.turns.left(each)
    for place in places:
        place.give_back()
    assert (dict(house.table.in_flight), house.turns.queued) == ({}, {})


async def test_a_wake_that_nobody_could_hear_is_forgotten_when_nobody_waits() -> None:
    house = House(ASLEEP)
    house.turns.left(house.join())
    house.is_connected = False
    house.turns.sweep()
    house.now += 6
    house.turns.sweep()
    assert house.turns.status()["wake"] == ()


async def test_gateways_share_what_a_replica_takes() -> None:
    house = House(route("m", 1, serving=Serving(in_flight_per_replica=4)))
    house.turns.heed(GatewayOrders(gateways=2))
    places = [house.held(), house.held()]
    assert house.take() is None
    waiting = house.join()
    house.turns.heed(GatewayOrders(gateways=1))
    places.append(place_of(waiting))
    assert len({each.endpoint.instance_id for each in places}) == 1
