"""What gateways are told."""

from datetime import timedelta
from typing import Any

import pytest

from gpustack_lite.db.queries.publishing import Published
from gpustack_lite.db.queries.replicas import Fleet
from gpustack_lite.db.tables import ApiKey, Batch, LoginSession, Model, ModelInstance, User
from gpustack_lite.server.routes import address, credentials, model_routes
from gpustack_lite.wire import ModelRoute
from tests.fakes.clock import START
from tests.fakes.rows import a_model, a_placed_instance, a_worker, an_instance

ADA = User(id=7, username="ada", role="admin", password_hash="", created_at=START)


def view(model: Model, *instances: ModelInstance, **given: Any) -> Published:
    base: dict[str, Any] = {
        "epoch": 1,
        "models_revision": 1,
        "credentials_revision": 1,
        "fleet": Fleet({1: model}, {1: instances}),
        "workers": {1: a_worker(data_address="10.0.0.5")},
        "engine_secret": "s",
        "keys": [],
        "sessions": [],
    }
    return Published(**base | given)


def only(published: Published) -> ModelRoute:
    (route,) = model_routes(published)
    return route


def test_a_ready_replica_is_an_endpoint_at_its_workers_address() -> None:
    route = only(view(a_model(), a_placed_instance(3, context_length=4096)))
    (endpoint,) = route.endpoints
    assert (endpoint.instance_id, endpoint.address, endpoint.context_length) == (3, "10.0.0.5:21000", 4096)
    assert len(endpoint.engine_key) == 64
    assert (route.state, route.said, route.loading, route.backend) == ("ready", None, None, "echo")


@pytest.mark.parametrize("state", ["starting", "unhealthy", "stopping", "lost", "failed"])
def test_no_other_replica_is(state: str) -> None:
    assert only(view(a_model(), a_placed_instance(3, state))).endpoints == ()


def test_the_context_is_what_every_replica_can_do() -> None:
    pair = [a_placed_instance(number, context_length=length) for number, length in ((1, 4096), (2, 2048))]
    assert only(view(a_model(replicas=2), *pair)).context_length == 2048


@pytest.mark.parametrize(
    ("model", "instances", "code"),
    [
        pytest.param(a_model(stopped=True), [], "model_stopped", id="stopped"),
        pytest.param(a_model(), [], "model_pending", id="nothing yet"),
        pytest.param(a_model(), [a_placed_instance(1, "starting")], "model_starting", id="starting"),
        pytest.param(a_model(), [a_placed_instance(1, "failed", gave_up=True)], "model_failed", id="gave up"),
        pytest.param(
            a_model(), [an_instance(1, said={"code": "no_workers", "params": {}})], "no_workers", id="its own words"
        ),
    ],
)
def test_a_model_that_does_not_serve_says_why(model: Model, instances: list[ModelInstance], code: str) -> None:
    said = only(view(model, *instances)).said
    assert said is not None
    assert said.code == code


def test_a_load_is_told_in_whole_percents() -> None:
    progress = {"phase": "weights", "bytes_done": 505, "bytes_total": 1000, "fraction": 0.505}
    loading = only(view(a_model(), a_placed_instance(1, "preparing", progress=progress))).loading
    assert loading == {
        "state": "preparing",
        "worker": "w1",
        "phase": "weights",
        "progress": 0.5,
        "bytes_done": 500,
        "bytes_total": 1000,
    }


@pytest.mark.parametrize(("seconds", "told"), [(0.4, 5), (12.0, 10), (47.0, 45), (100.0, 90), (4000.0, 3900)])
def test_a_time_is_told_in_steps(seconds: float, told: int) -> None:
    progress = {"phase": "weights", "bytes_done": 5, "bytes_total": 10, "eta_seconds": seconds}
    loading = only(view(a_model(), a_placed_instance(1, "preparing", progress=progress))).loading
    assert (loading or {})["eta_seconds"] == told


def test_the_furthest_replica_tells_how_far_it_is() -> None:
    loading = only(view(a_model(replicas=2), an_instance(1), a_placed_instance(2, "starting"))).loading
    assert (loading or {})["state"] == "starting"


@pytest.mark.parametrize(("host", "written"), [("10.0.0.5", "10.0.0.5:1"), ("::1", "[::1]:1"), ("w1", "w1:1")])
def test_addresses(host: str, written: str) -> None:
    assert address(host, 1) == written


def test_keys_and_sessions_are_credentials_by_digest() -> None:
    key = ApiKey(
        id=1, name="k", user_id=7, digest="d1", prefix="gpl_", scopes=["inference"], models=["m"], created_at=START
    )
    later = START + timedelta(hours=1)
    session = LoginSession(id=2, user_id=7, digest="d2", csrf_digest="c", created_at=START, expires_at=later)
    of_key, of_session = credentials(view(a_model(), keys=[(key, ADA)], sessions=[(session, ADA)]))
    assert (of_key.kind, of_key.digest, of_key.scopes, of_key.models) == ("key", "d1", ("inference",), ("m",))
    assert (of_session.kind, of_session.csrf_digest, of_session.expires_at) == ("session", "c", later)
    assert (of_key.user, of_session.role) == ("ada", "admin")


@pytest.mark.parametrize(
    ("model", "instances", "is_coming"),
    [
        pytest.param(a_model(asleep=True), [], True, id="a request wakes it"),
        pytest.param(a_model(), [], True, id="its replicas will be made"),
        pytest.param(a_model(), [an_instance(3, "starting")], True, id="it loads"),
        pytest.param(a_model(), [a_placed_instance(3, "failed")], True, id="it is tried again"),
        pytest.param(a_model(), [a_placed_instance(3, "failed", gave_up=True)], False, id="it gave up"),
        pytest.param(a_model(), [an_instance(3, reasons=[{}])], False, id="there is no room"),
        pytest.param(a_model(), [an_instance(3, reasons=[{}]), a_placed_instance(2, "stopping")], True, id="but soon"),
        pytest.param(a_model(stopped=True), [], False, id="it is stopped"),
        pytest.param(a_model(), [a_placed_instance(3)], False, id="it is here"),
    ],
)
def test_it_is_known_whether_waiting_helps(model: Model, instances: list[ModelInstance], is_coming: bool) -> None:
    assert only(view(model, *instances)).is_coming is is_coming


def test_a_sleeping_model_says_so() -> None:
    route = only(view(a_model(asleep=True)))
    assert (route.state, route.said.code if route.said else None) == ("sleeping", "model_sleeping")


@pytest.mark.parametrize(
    ("backend", "served"), [("mindie", "org-Model.1"), ("echo", "org/Model.1"), ("gone", "org/Model.1")]
)
def test_an_engine_is_asked_by_the_name_that_it_takes(backend: str, served: str) -> None:
    placed = a_placed_instance(3, assigned={"backend": backend, "model": "org/Model.1", "options": {}})
    (endpoint,) = only(view(a_model(), placed)).endpoints
    assert endpoint.served_name == served


@pytest.mark.parametrize(
    ("backend", "options", "slots"),
    [
        ("llama_cpp", {}, 4),
        ("llama_cpp", {"parallel": 8}, 8),
        ("vllm", {"max-num-seqs": 64}, 64),
        ("vllm", {}, None),
        ("echo", {"parallel": 8}, None),
        ("mindie", {}, 200),
        ("mindie", {"maxBatchSize": 64}, 64),
        ("mindie", {"BackendConfig.ScheduleConfig.maxBatchSize": 32}, 32),
    ],
)
def test_an_engines_slots_are_told_where_its_options_say_them(
    backend: str, options: dict[str, Any], slots: int | None
) -> None:
    (endpoint,) = only(
        view(a_model(), a_placed_instance(3, assigned={"backend": backend, "options": options}))
    ).endpoints
    assert endpoint.slots == slots


def test_a_batch_has_the_rights_of_the_key_that_made_it_and_none_when_that_is_gone() -> None:
    given: dict[str, Any] = {"name": "k", "user_id": 7, "prefix": "p", "created_at": START}
    key = ApiKey(id=2, digest="k", scopes=["inference"], models=["tiny"], **given)
    made: dict[str, Any] = {"user_id": 7, "endpoint": "e", "input_file_id": "f", "created_at": START}
    batches = [
        (Batch(id=f"batch_{key_id}", key_id=key_id, digest=f"b{key_id}", expires_at=START, **made), ADA)
        for key_id in (2, 3, None)
    ]
    _, by_key, by_hand = credentials(view(a_model(), keys=[(key, ADA)], batches=batches))
    assert (by_key.kind, by_key.digest, by_key.id, by_key.user_id, by_key.models) == ("batch", "b2", 2, 7, ("tiny",))
    assert (by_hand.kind, by_hand.digest, by_hand.id, by_hand.scopes) == ("batch", "bNone", 0, ("inference",))
