from gpustack_lite.gateway.listing import allowed, document, in_order
from gpustack_lite.wire import Credential, Endpoint, ModelRoute


def route(name: str, *, is_ready: bool = True) -> ModelRoute:
    endpoint = Endpoint(instance_id=1, address="127.0.0.1:1", engine_key="k", served_name=name)
    state = "ready" if is_ready else "pending"
    return ModelRoute(id=1, name=name, created=9, state=state, context_length=4096, endpoints=(endpoint,) * is_ready)


def test_models_that_answer_at_once_come_first() -> None:
    routes = [route("b"), route("a", is_ready=False), route("c"), route("a2")]
    assert [each.name for each in in_order(routes)] == ["a2", "b", "c", "a"]


def test_a_key_sees_what_it_may_use() -> None:
    key = Credential(digest="d", kind="key", id=1, user_id=1, user="ada", role="user", models=("a*",))
    assert [each.name for each in allowed([route("a"), route("b")], key)] == ["a"]


def test_a_model_has_openais_shape_and_vllms_context_length() -> None:
    assert document(route("m")) == {
        "id": "m",
        "object": "model",
        "created": 9,
        "owned_by": "gpustack-lite",
        "context_length": 4096,
        "max_model_len": 4096,
        "state": "ready",
    }
