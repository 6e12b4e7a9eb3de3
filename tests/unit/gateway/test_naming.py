from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import NotServed
from gpustack_lite.gateway.naming import able, spread
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.wire import Endpoint, ModelRoute, NamedRoute, RoutesReply, RouteTarget

CHAT = "/v1/chat/completions"


def model(name: str, *, state: str = "ready", paths: tuple[str, ...] = ()) -> ModelRoute:
    endpoint = Endpoint(instance_id=1, address="127.0.0.1:1", engine_key="k", served_name=name)
    endpoints = (endpoint,) if state == "ready" else ()
    return ModelRoute(id=1, name=name, created=9, state=state, endpoints=endpoints, paths=paths)


def leads(name: str, *targets: tuple[str, int], fallback: tuple[str, ...] = ()) -> NamedRoute:
    made = tuple(RouteTarget(model=each, weight=weight) for each, weight in targets)
    return NamedRoute(name=name, created=5, targets=made, fallback=fallback)


def table(*models: ModelRoute, routes: tuple[NamedRoute, ...] = (), revision: int = 1) -> RouteTable:
    made = RouteTable()
    publish(made, *models, routes=routes, revision=revision)
    return made


def publish(made: RouteTable, *models: ModelRoute, routes: tuple[NamedRoute, ...], revision: int) -> None:
    made.accept(
        RoutesReply(
            epoch=1,
            models_revision=revision,
            models=models,
            routes=routes,
            credentials_revision=1,
            credentials=(),
        )
    )


def names(order: tuple[ModelRoute, ...]) -> list[str]:
    return [each.name for each in order]


def test_a_plain_model_is_resolved_to_the_same_tuple_each_time() -> None:
    routes = table(model("m"))
    assert routes.resolve("m") is routes.resolve("m")
    assert names(routes.resolve("m")) == ["m"]


def test_an_alias_leads_to_its_model() -> None:
    routes = table(model("m"), routes=(leads("gpt-4o", ("m", 1)),))
    assert names(routes.resolve("gpt-4o")) == ["m"]
    assert routes.is_served("gpt-4o")


def test_weights_are_shares_and_well_mixed() -> None:
    routes = table(model("a"), model("b"), model("c"), routes=(leads("r", ("a", 5), ("b", 1), ("c", 1)),))
    first = [routes.resolve("r")[0].name for _ in range(7)]
    assert first == ["a", "a", "b", "a", "c", "a", "a"]


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=6))
def test_a_full_deal_gives_each_target_its_weight_exactly(weights: list[int]) -> None:
    targets = [(f"m{index}", weight) for index, weight in enumerate(weights)]
    routes = table(*(model(name) for name, _ in targets), routes=(leads("r", *targets),))
    assert Counter(routes.resolve("r")[0].name for _ in range(sum(weights))) == dict(targets)


def test_who_is_not_drawn_stands_behind_and_the_fallback_behind_them() -> None:
    routes = table(model("a"), model("b"), model("f"), routes=(leads("r", ("a", 1), ("b", 3), fallback=("f",)),))
    assert {tuple(names(routes.resolve("r"))) for _ in range(4)} == {("b", "a", "f"), ("a", "b", "f")}


def test_what_is_not_ready_is_left_out_of_the_deal() -> None:
    models = (model("a", state="pending"), model("b"), model("f"))
    routes = table(*models, routes=(leads("r", ("a", 9), ("b", 1), fallback=("f",)),))
    assert [names(routes.resolve("r")) for _ in range(2)] == [["b", "a", "f"]] * 2


def test_what_sleeps_has_its_turn_so_that_it_is_woken_and_another_one_serves() -> None:
    models = (model("a", state="sleeping"), model("b"))
    routes = table(*models, routes=(leads("r", ("a", 1), ("b", 1)),))
    assert sorted(names(routes.resolve("r")) for _ in range(2)) == [["a", "b"], ["b", "a"]]


@pytest.mark.parametrize("state", ["sleeping", "pending"])
def test_the_fallback_serves_when_no_target_can(state: str) -> None:
    """The target stands in front of it, so that it is asked for and woken."""
    routes = table(model("a", state=state), model("f"), routes=(leads("r", ("a", 1), fallback=("f",)),))
    assert names(routes.resolve("r")) == ["a", "f"]
    assert routes.is_served("r")


def test_where_nothing_is_ready_the_heaviest_target_is_told_of() -> None:
    models = (model("a", state="failed"), model("b", state="failed"))
    routes = table(*models, routes=(leads("r", ("a", 1), ("b", 2)),))
    assert names(routes.resolve("r")) == ["b", "a"]
    assert not routes.is_served("r")


def test_a_target_of_weight_nothing_gets_nothing() -> None:
    routes = table(model("a"), model("b"), routes=(leads("r", ("a", 1), ("b", 0)),))
    assert names(routes.resolve("r")) == ["a"]


def test_new_routes_do_not_begin_the_deal_anew() -> None:
    """The server publishes often while something loads: each time the first target would gain."""
    named = (leads("r", ("a", 1), ("b", 1)),)
    routes = table(model("a"), model("b"), routes=named)
    dealt = []
    for revision in range(2, 12):
        dealt.append(routes.resolve("r")[0].name)
        publish(routes, model("a"), model("b"), routes=named, revision=revision)
    assert Counter(dealt) == {"a": 5, "b": 5}


@pytest.mark.parametrize(("name", "code"), [("unknown", "model_not_found"), ("empty", "route_leads_nowhere")])
def test_a_name_without_a_model_is_refused(name: str, code: str) -> None:
    routes = table(model("m"), routes=(leads("empty", ("gone", 1)),))
    with pytest.raises(Refusal) as refused:
        routes.resolve(name)
    assert (refused.value.code, refused.value.status, refused.value.param) == (code, 404, "model")
    assert not routes.is_served(name)


def test_targets_that_are_gone_are_passed_over() -> None:
    routes = table(model("m"), routes=(leads("r", ("gone", 5), ("m", 1)),))
    assert names(routes.resolve("r")) == ["m"]


def test_a_model_wins_over_a_route_of_its_name() -> None:
    routes = table(model("m"), model("n"), routes=(leads("m", ("n", 1)),))
    assert names(routes.resolve("m")) == ["m"]


def test_without_any_model_there_is_no_spread() -> None:
    assert spread(leads("r", ("gone", 1), ("m", 0)), {"m": model("m")}) is None


@pytest.mark.parametrize(
    ("paths", "path", "is_able"),
    [
        pytest.param((), "/v1/score", True, id="nobody knows: the engine decides"),
        pytest.param((CHAT,), CHAT, True, id="served"),
        pytest.param((CHAT,), "/v1/embeddings", False, id="not served"),
        pytest.param((CHAT,), "/v1/messages", True, id="chat stands in for messages"),
        pytest.param((CHAT,), "/v1/messages/count_tokens", True, id="and for counting them"),
        pytest.param(("/v1/embeddings",), "/v1/messages", False, id="nothing stands in"),
    ],
)
def test_a_path_is_asked_of_engines_that_serve_it(paths: tuple[str, ...], path: str, is_able: bool) -> None:
    order = (model("m", paths=paths),)
    if is_able:
        assert able("m", order, path) is order
        return
    with pytest.raises(NotServed) as refused:
        able("m", order, path)
    said = refused.value.document("en")["error"]
    assert isinstance(said, dict)
    assert (refused.value.status, said["code"]) == (404, "path_not_served")
    served = ", ".join([*paths, *(["/v1/messages"] if CHAT in paths else [])])
    assert said["message"] == f"The engine behind the model m does not serve {path}: it serves {served}."


def test_of_several_models_those_that_serve_the_path_are_asked() -> None:
    chat, embed = model("a", paths=(CHAT,)), model("b", paths=("/v1/embeddings",))
    assert able("r", (chat, embed), "/v1/embeddings") == (embed,)
