from typing import Any

import pytest

from gpustack_lite.gateway.listing import allowed, document, every, in_order, named
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.wire import Credential, Endpoint, ModelRoute, NamedRoute, RoutesReply, RouteTarget

CHAT = "/v1/chat/completions"


def route(name: str, *, is_ready: bool = True, **fields: Any) -> ModelRoute:
    endpoint = Endpoint(instance_id=1, address="127.0.0.1:1", engine_key="k", served_name=name)
    state = "ready" if is_ready else "pending"
    given = {"context_length": 4096, **fields}
    return ModelRoute(id=1, name=name, created=9, state=state, endpoints=(endpoint,) * is_ready, **given)


def leads(name: str, *targets: str, fallback: tuple[str, ...] = ()) -> NamedRoute:
    made = tuple(RouteTarget(model=each) for each in targets)
    return NamedRoute(name=name, created=5, targets=made, fallback=fallback)


def table(*models: ModelRoute, routes: tuple[NamedRoute, ...] = ()) -> RouteTable:
    made = RouteTable()
    reply = RoutesReply(epoch=1, models_revision=1, credentials_revision=1, models=models, routes=routes)
    made.accept(reply)
    return made


def test_names_that_answer_at_once_come_first() -> None:
    models = (route("b"), route("a", is_ready=False), route("c"), route("a2"))
    known = table(*models, routes=(leads("alias", "c"), leads("0", "a"), leads("1", "a", fallback=("c",))))
    assert [each.name for each in in_order(every(known))] == ["1", "a2", "alias", "b", "c", "0", "a"]


def test_a_key_sees_what_it_may_use_by_the_public_name() -> None:
    key = Credential(digest="d", kind="key", id=1, user_id=1, user="ada", role="user", models=("a*",))
    known = table(route("a"), route("b"), routes=(leads("alias", "b"), leads("z", "a")))
    assert [each.name for each in allowed(every(known), key, {})] == ["a", "alias"]


@pytest.mark.parametrize(
    ("models", "denied", "seen"),
    [
        (("smol",), (), ["smol", "smol:poet"]),
        (("smol:poet",), (), ["smol:poet"]),
        (("smol",), ("smol:poet",), ["smol"]),
        (("other",), (), []),
    ],
)
def test_who_may_use_a_model_may_use_its_adapters(models: Any, denied: Any, seen: list[str]) -> None:
    fields = {"digest": "d", "kind": "key", "id": 1, "user_id": 1, "user": "ada", "role": "user"}
    key = Credential(**fields, models=models, denied=denied)
    known = table(route("smol", adapters=("smol:poet",)))
    assert [each.name for each in allowed(every(known), key, known.adapted)] == seen
    assert document(named(known, "smol:poet"))["context_length"] == 4096


def test_a_model_has_openais_shape_and_vllms_context_length_and_says_what_it_can() -> None:
    abilities = {
        "input_modalities": ["text"],
        "output_modalities": ["text"],
        "tools": True,
        "reasoning": False,
        "json_schema": True,
    }
    known = table(route("m", paths=(CHAT, "/v1/completions"), abilities=abilities))
    assert document(named(known, "m")) == {
        "id": "m",
        "object": "model",
        "created": 9,
        "owned_by": "gpustack-lite",
        "context_length": 4096,
        "max_model_len": 4096,
        "modalities": {"input": ["text"], "output": ["text"]},
        "tools": True,
        "reasoning": False,
        "json_schema": True,
        "embedding_dimensions": None,
        "supported_paths": [CHAT, "/v1/completions", "/v1/messages"],
        "state": "ready",
    }


def test_what_nobody_knows_is_null() -> None:
    said = document(named(table(route("m", context_length=None)), "m"))
    unknown = {key for key, value in said.items() if value is None}
    assert unknown == {
        *("context_length", "max_model_len", "tools", "reasoning", "json_schema"),
        *("embedding_dimensions", "supported_paths"),
    }
    assert said["modalities"] == {"input": None, "output": None}


def test_an_alias_is_shown_as_the_model_behind_it() -> None:
    known = table(route("m", abilities={"tools": True}), routes=(leads("alias", "m"),))
    shown = {**document(named(known, "m")), "id": "alias", "created": 5}
    assert document(named(known, "alias")) == shown


def test_several_models_promise_what_all_of_them_keep() -> None:
    one = route("a", paths=(CHAT, "/v1/completions"), abilities={"tools": True, "reasoning": True, "json_schema": True})
    other = route("b", paths=(CHAT,), context_length=512, abilities={"tools": False, "json_schema": True})
    said = document(named(table(one, other, routes=(leads("r", "a", "b"),)), "r"))
    assert (said["tools"], said["reasoning"], said["json_schema"]) == (False, None, True)
    assert (said["context_length"], said["supported_paths"]) == (512, [CHAT, "/v1/messages"])


def test_a_name_that_leads_nowhere_is_listed_and_says_so() -> None:
    said = document(named(table(routes=(leads("r", "gone"),)), "r"))
    assert (said["state"], said["context_length"], said["supported_paths"]) == ("failed", None, None)
