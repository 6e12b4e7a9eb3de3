from collections import Counter
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.balance import Balancer
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.gateway.turns import Ask, Place, Turns
from gpustack_lite.wire import Credential, Endpoint, ModelRoute, RoutesReply


def route(name: str, *ids: int) -> ModelRoute:
    endpoints = tuple(
        Endpoint(instance_id=each, address=f"127.0.0.1:{each}", engine_key="k", served_name=name) for each in ids
    )
    return ModelRoute(id=1, name=name, created=1, state="ready" if ids else "starting", endpoints=endpoints)


def credential(digest: str) -> Credential:
    return Credential(digest=digest, kind="key", id=1, user_id=1, user="ada", role="user")


def reply(
    epoch: int,
    models: tuple[int, tuple[ModelRoute, ...] | None],
    credentials: tuple[int, tuple[Credential, ...] | None] = (1, ()),
) -> RoutesReply:
    return RoutesReply(
        epoch=epoch,
        models_revision=models[0],
        models=models[1],
        credentials_revision=credentials[0],
        credentials=credentials[1],
    )


def table(*routes: ModelRoute) -> RouteTable:
    made = RouteTable()
    made.accept(reply(1, (1, routes)))
    return made


ASK = Ask(credential("k"), "/v1/chat/completions", 100, None, False, b"")


def lease(routes: RouteTable, name: str, without: tuple[int, ...] | list[int] = ()) -> Place:
    place = Turns(routes, Balancer(lambda: 1.0)).take((routes.route(name),), ASK, without)
    assert place is not None
    return place


def test_what_is_leased_is_counted_until_it_is_given_back() -> None:
    routes = table(route("m", 1, 2, 3))
    turns = Turns(routes, Balancer(lambda: 1.0))
    with ExitStack() as held:
        places = [turns.take((routes.route("m"),), ASK) for _ in range(6)]
        ids = [held.enter_context(place).instance_id for place in places if place is not None]
        assert Counter(ids) == {1: 2, 2: 2, 3: 2}
        assert routes.leases() == {1: 2, 2: 2, 3: 2}
    assert routes.leases() == {}


def test_a_place_is_given_back_however_the_request_ends() -> None:
    routes = table(route("m", 1))
    with pytest.raises(ZeroDivisionError), lease(routes, "m"):
        raise ZeroDivisionError
    assert routes.leases() == {}


def test_a_lease_outlives_the_route_it_was_taken_from() -> None:
    routes = table(route("m", 1))
    with lease(routes, "m"):
        routes.accept(reply(1, (2, ())))
        assert routes.leases() == {1: 1}
    assert routes.leases() == {}


def test_a_replica_can_be_left_out() -> None:
    routes = table(route("m", 1, 2))
    with lease(routes, "m", without=[1]) as endpoint:
        assert endpoint.instance_id == 2
    assert routes.has_another("m", [1])
    assert not routes.has_another("m", [1, 2])
    assert not routes.has_another("gone", [])


def test_an_unknown_model_is_404() -> None:
    with pytest.raises(Refusal) as refused:
        table().route("nope")
    assert (refused.value.code, refused.value.status) == ("model_not_found", 404)


def test_without_a_replica_there_is_no_place() -> None:
    routes = table(route("idle"))
    assert Turns(routes, Balancer(lambda: 1.0)).take((routes.route("idle"),), ASK) is None


@pytest.mark.parametrize(
    ("said", "is_taken"),
    [
        pytest.param(reply(1, (6, (route("new"),))), True, id="a later revision"),
        pytest.param(reply(2, (1, (route("new"),))), True, id="a later epoch counts from anew"),
        pytest.param(reply(1, (5, (route("new"),))), False, id="the same again"),
        pytest.param(reply(1, (4, (route("new"),))), False, id="an earlier revision"),
        pytest.param(reply(0, (9, (route("new"),))), False, id="an earlier epoch"),
        pytest.param(reply(1, (6, None)), False, id="nothing said"),
    ],
)
def test_older_never_replaces_newer(said: RoutesReply, is_taken: bool) -> None:
    routes = RouteTable()
    routes.accept(reply(1, (5, (route("old"),)), (5, ())))
    assert routes.accept(said) == is_taken
    assert ("new" in routes.models) == is_taken


def test_sections_have_revisions_of_their_own() -> None:
    routes = RouteTable()
    routes.accept(reply(1, (5, (route("m"),)), (5, (credential("a"),))))
    routes.accept(reply(1, (4, (route("old"),)), (6, (credential("b"),))))
    assert list(routes.models) == ["m"]
    assert routes.credential("a") is None
    assert routes.credential("b") is not None


def test_a_new_epoch_that_has_nothing_new_is_noted() -> None:
    """Else the gateway would ask with the old epoch for ever, and be answered at once each time."""
    routes = RouteTable()
    routes.accept(reply(1, (5, (route("m"),)), (5, ())))
    assert not routes.accept(reply(2, (5, None), (5, None)))
    assert routes.revisions == ((2, 5), (2, 5))
    assert "m" in routes.models


def test_a_table_is_filled_once_both_sections_have_come() -> None:
    routes = RouteTable()
    assert not routes.is_filled
    routes.accept(reply(1, (1, ()), (1, None)))
    assert not routes.is_filled
    routes.accept(reply(1, (1, None), (1, ())))
    assert routes.is_filled


def test_a_document_fills_another_table_alike() -> None:
    routes = RouteTable()
    routes.accept(reply(3, (5, (route("m", 1),)), (7, (credential("a"),))))
    other = RouteTable()
    other.accept(routes.document())
    assert (other.revisions, other.models) == (routes.revisions, routes.models)
    assert other.credential("a") == credential("a")


STEP = st.tuples(st.integers(0, 1), st.integers(0, 2), st.booleans())


@given(st.lists(STEP, max_size=12), st.randoms(use_true_random=False))
def test_the_order_in_which_replies_arrive_does_not_matter(steps: list[tuple[int, int, bool]], random: object) -> None:
    """Lost, repeated and reordered replies end at the newest section that came; the server's numbers never go back."""
    epoch = number = 1
    replies, newest = [], 0
    for epoch_step, number_step, has_section in steps:
        epoch, number = epoch + epoch_step, number + number_step
        replies.append(reply(epoch, (number, (route(str(number)),) if has_section else None)))
        newest = number if has_section else newest
    shuffled = replies * 2
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    routes = RouteTable()
    for each in shuffled:
        routes.accept(each)
    assert list(routes.models) == ([str(newest)] if newest else [])
