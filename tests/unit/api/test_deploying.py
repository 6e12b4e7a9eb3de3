import asyncio
import json
from typing import Any

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.api import asking
from gpustack_lite.db.queries import inspections
from gpustack_lite.db.tables import CustomBackend, Event, Inspection, Model, ModelInstance, Worker
from gpustack_lite.wire import FactsReport, Said
from tests.fakes.management import Api
from tests.fakes.rows import a_placed_instance, a_worker

MODELS = "/api/v1/models"
ECHO = {"name": "m", "source": "none:", "backend": "echo"}
FILE = {"name": "m", "source": "/models/m.gguf"}
AUTO = {"min": 2, "max": 4, "in_flight_per_replica": None, "up_seconds": 30.0, "down_seconds": 300.0}
NOT_WISHED = {
    "strategy": "spread",
    "worker_labels": {},
    "devices": [],
    "workers": [],
    "chips": [],
    "apart": False,
    "share_chips": False,
    "priority": 0,
}


async def test_only_name_and_source_are_required_and_the_rest_has_its_defaults(client: httpx.AsyncClient) -> None:
    answer = await client.post(MODELS, json=FILE)
    assert answer.status_code == 201
    assert answer.json() | FILE == answer.json()
    expected = {
        "id": 1,
        "backend": None,
        "backend_version": None,
        "replicas": 1,
        "ready_replicas": 0,
        "options": {},
        "env": {},
        "placement": NOT_WISHED,
        "restart_limit": 5,
        "state": "pending",
        "generation": 1,
    }
    assert expected.items() <= answer.json().items()


async def test_everything_that_was_wished_is_kept(client: httpx.AsyncClient) -> None:
    wished = ECHO | {
        "replicas": 3,
        "options": {"max-model-len": 4096, "flag": True, "nested": {"a": [1, None]}},
        "env": {"A": "b"},
        "placement": {
            "strategy": "binpack",
            "worker_labels": {"zone": "a"},
            "devices": ["w1:0", "w1:1"],
            "workers": ["w1"],
            "chips": ["910B3"],
            "apart": True,
            "share_chips": True,
            "priority": 7,
        },
        "restart_limit": 2,
    }
    await client.post(MODELS, json=wished)
    assert wished.items() <= (await client.get(f"{MODELS}/m")).json().items()


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        pytest.param({"replicas": -1}, "field_out_of_bounds", "replicas", id="negative replicas"),
        pytest.param({"replicas": 1001}, "field_out_of_bounds", "replicas", id="too many replicas"),
        pytest.param({"replicas": "2"}, "field_not_integer", "replicas", id="replicas in quotes"),
        pytest.param({"replicas": 1.5}, "field_not_integer", "replicas", id="half a replica"),
        pytest.param({"replicas": True}, "field_not_integer", "replicas", id="true replicas"),
        pytest.param({"replicas": "auto(1"}, "replicas_unreadable", "replicas", id="half a range"),
        pytest.param({"replicas": {"min": 0, "max": 2}}, "autoscale_from_zero", "autoscale.min", id="from none"),
        pytest.param({"replicas": "auto(3, 2)"}, "autoscale_bounds", "autoscale.max", id="a range upside down"),
        pytest.param({"replicas": {"min": 1}}, "field_missing", "autoscale.max", id="half an object"),
        pytest.param(
            {"autoscale": {"min": 1, "max": 2, "up_seconds": 0}}, "field_out_of_bounds", "autoscale.up_seconds"
        ),
        pytest.param({"source": "nowhere:x"}, "unknown_source", "source", id="unknown source"),
        pytest.param({"source": "models/m.gguf"}, "source_not_absolute", "source", id="relative path"),
        pytest.param({"source": ""}, "field_length", "source", id="empty source"),
        pytest.param({"source": "none:", "backend": None}, "backend_needed", "backend", id="nothing to run"),
        pytest.param({"backend": "vlmm"}, "unknown_backend", "backend", id="unknown backend"),
        pytest.param({"options": []}, "field_not_object", "options", id="options no object"),
        pytest.param({"source": "/\ud800"}, "field_not_text", "source", id="half a character in the source"),
        pytest.param({"options": {"a": "\ud800"}}, "text_not_whole", "options.a", id="half a character"),
        pytest.param({"backend_version": "\0"}, "text_not_whole", "backend_version", id="a version no database holds"),
        pytest.param({"env": {"1A": "x"}}, "env_name", "env", id="bad variable"),
        pytest.param({"env": {"A": 1}}, "field_not_text", "env.A", id="variable no text"),
        pytest.param({"placement": {"strategy": "x"}}, "field_not_one_of", "placement.strategy", id="strategy"),
        pytest.param({"placement": {"devices": ["w1"]}}, "device_address", "placement.devices", id="device"),
        pytest.param({"placement": {"priority": 5000}}, "field_out_of_bounds", "placement.priority", id="priority"),
        pytest.param({"placement": {"node": "w1"}}, "field_unknown", "placement.node", id="unknown inner field"),
        pytest.param({"serving": []}, "field_not_object", "serving", id="serving no object"),
        pytest.param({"serving": {"queue": 1}}, "field_unknown", "serving.queue", id="unknown serving field"),
        pytest.param({"serving": {"queue_length": -1}}, "field_out_of_bounds", "serving.queue_length", id="queue"),
        pytest.param({"serving": {"queue_seconds": "9"}}, "field_not_number", "serving.queue_seconds", id="quoted"),
        pytest.param({"serving": {"weights": {"w1": 0}}}, "field_out_of_bounds", "serving.weights.w1", id="weight"),
        pytest.param({"serving": {"pinned": 1}}, "field_not_boolean", "serving.pinned", id="pinned by a number"),
        pytest.param({"serving": {"reasoning": "x"}}, "field_not_one_of", "serving.reasoning", id="reasoning"),
        pytest.param(
            {"serving": {"limits": {"concurrency": 0}}}, "field_out_of_bounds", "serving.limits.concurrency", id="limit"
        ),
        pytest.param(
            {"serving": {"limits": {"timezone": "Mars/Base"}}}, "timezone_unknown", "serving.limits.timezone", id="zone"
        ),
        pytest.param({"generation": 7}, "field_unknown", "generation", id="a field that is ours"),
        pytest.param({"name": "a\x1b[0m"}, "name_unprintable", "name", id="control characters"),
        pytest.param({"name": "n" * 40_000}, "name_length", "name", id="40 kB name"),
        pytest.param({"name": 7}, "field_not_text", "name", id="name no text"),
    ],
)
async def test_bad_input_gets_one_clear_sentence_and_makes_nothing(
    client: httpx.AsyncClient, change: dict[str, Any], code: str, param: str
) -> None:
    content = json.dumps(ECHO | change)
    answer = await client.post(MODELS, content=content, headers={"content-type": "application/json"})
    found = answer.json()["error"]
    assert (answer.status_code, found["code"], found["param"]) == (400, code, param)
    assert len(found["message"]) < 1000
    assert (await client.get(MODELS)).json()["total"] == 0


async def test_a_number_that_is_none_is_refused(client: httpx.AsyncClient) -> None:
    content = b'{"name": "m", "source": "none:", "backend": "echo", "options": {"a": NaN}}'
    answer = await client.post(MODELS, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "value_not_finite")


async def test_an_unknown_backend_is_told_with_those_there_are(api: Api, client: httpx.AsyncClient) -> None:
    await api.add(CustomBackend(name="mine", created_at=api.clock.wall()))
    answer = await client.post(MODELS, json=ECHO | {"backend": "vlmm"})
    assert "echo, llama_cpp, mine" in answer.json()["error"]["message"]


async def test_a_name_that_is_taken_is_refused(client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO)
    answer = await client.post(MODELS, json=ECHO | {"replicas": 2})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "model_name_taken")
    assert (await client.get(f"{MODELS}/m")).json()["replicas"] == 1


async def test_of_two_that_take_a_name_at_once_one_gets_it(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(client.post(MODELS, json=ECHO) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]


@pytest.mark.parametrize("address", ["1", "org/tiny-model:q4", "org%2Ftiny-model%3Aq4", "org%2ftiny-model:q4"])
async def test_a_model_is_addressed_by_id_or_by_name_however_it_is_encoded(
    client: httpx.AsyncClient, address: str
) -> None:
    await client.post(MODELS, json=ECHO | {"name": "org/tiny-model:q4"})
    assert (await client.get(f"{MODELS}/{address}")).json()["name"] == "org/tiny-model:q4"
    assert (await client.get(f"{MODELS}/{address}/instances")).json()["items"] == []
    assert (await client.post(f"{MODELS}/{address}/stop")).json()["state"] == "stopped"
    assert (await client.post(f"{MODELS}/{address}/start")).json()["state"] == "pending"
    assert (await client.patch(f"{MODELS}/{address}", json={"replicas": 2})).json()["replicas"] == 2
    assert (await client.delete(f"{MODELS}/{address}")).status_code == 204
    assert (await client.get(f"{MODELS}/{address}")).status_code == 404


@pytest.mark.parametrize(
    ("patch", "generation", "launch_generation"),
    [
        pytest.param({"replicas": 2}, 2, 1, id="scaling restarts nothing"),
        pytest.param({"restart_limit": 9}, 2, 1, id="nor does the restart limit"),
        pytest.param({"options": {"b": 2}}, 2, 2, id="options make new instances"),
        pytest.param({"env": {"A": "b"}}, 2, 2, id="so does the environment"),
        pytest.param({"placement": {"strategy": "binpack"}}, 2, 2, id="and the placement"),
        pytest.param({"backend_version": "1.0"}, 2, 2, id="and the version"),
        pytest.param({"source": "/other.gguf"}, 2, 2, id="and the source"),
        pytest.param({"replicas": 1, "options": {"a": 1}}, 1, 1, id="what changes nothing is no generation"),
        pytest.param({}, 1, 1, id="an empty patch"),
    ],
)
async def test_a_patch_raises_the_generation(
    api: Api, client: httpx.AsyncClient, patch: dict[str, Any], generation: int, launch_generation: int
) -> None:
    await client.post(MODELS, json=ECHO | {"options": {"a": 1}})
    answer = (await client.patch(f"{MODELS}/m", json=patch)).json()
    assert (answer["generation"], answer["launch_generation"]) == (generation, launch_generation)


async def test_a_patch_is_a_merge_patch(client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO | {"options": {"a": 1, "b": 2}, "backend_version": "1", "replicas": 3})
    patch = {"options": {"a": None, "c": {"d": 1}}, "backend_version": None, "placement": {"worker_labels": {"z": "1"}}}
    answer = (await client.patch(f"{MODELS}/m", json=patch)).json()
    assert answer["options"] == {"b": 2, "c": {"d": 1}}
    assert answer["backend_version"] is None
    assert answer["placement"] == {**NOT_WISHED, "worker_labels": {"z": "1"}}
    assert answer["replicas"] == 3


@pytest.mark.parametrize("spelling", [{"min": 2, "max": 4}, "auto(2,4)", " Auto( 2 , 4 ) "], ids=str)
async def test_replicas_may_follow_the_load_however_that_is_spelled(client: httpx.AsyncClient, spelling: Any) -> None:
    answer = (await client.post(MODELS, json=ECHO | {"replicas": spelling})).json()
    assert (answer["replicas"], answer["autoscale"]) == (2, AUTO)


@pytest.mark.parametrize(
    ("patch", "replicas", "autoscale"),
    [
        pytest.param({"replicas": 3}, 3, None, id="a number ends it"),
        pytest.param({"replicas": {"max": 6}}, 2, AUTO | {"max": 6}, id="one bound alone"),
        pytest.param({"replicas": "auto(3,5)"}, 3, AUTO | {"min": 3, "max": 5}, id="other bounds"),
        pytest.param({"autoscale": {"up_seconds": 60}}, 2, AUTO | {"up_seconds": 60.0}, id="a longer window"),
        pytest.param({"autoscale": None}, 2, None, id="null ends it where it stands"),
        pytest.param({"restart_limit": 9}, 2, AUTO, id="something else"),
    ],
)
async def test_a_patch_of_what_follows_the_load(
    client: httpx.AsyncClient, patch: dict[str, Any], replicas: int, autoscale: dict[str, Any] | None
) -> None:
    await client.post(MODELS, json=ECHO | {"replicas": "auto(2,4)"})
    answer = (await client.patch(f"{MODELS}/m", json=patch)).json()
    assert (answer["replicas"], answer["autoscale"], answer["launch_generation"]) == (replicas, autoscale, 1)


async def test_a_new_priority_makes_no_new_instances_and_another_wish_does(client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO)
    for placement, generations in (({"priority": 5}, (2, 1)), ({"apart": True}, (3, 3))):
        answer = (await client.patch(f"{MODELS}/m", json={"placement": placement})).json()
        assert (answer["generation"], answer["launch_generation"]) == generations


async def test_a_masked_secret_that_comes_back_keeps_its_value(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO | {"env": {"HF_TOKEN": "secret", "A": "b"}})
    shown = (await client.get(f"{MODELS}/m")).json()
    assert shown["env"] == {"HF_TOKEN": "***", "A": "b"}
    await client.patch(f"{MODELS}/m", json={"env": shown["env"] | {"A": "c"}})
    async with api.context.db.read() as session:
        (model,) = (await session.exec(select(Model))).all()
    assert model.env == {"HF_TOKEN": "secret", "A": "c"}


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"name": "other"}, "name_is_fixed"),
        ({"state": "ready"}, "field_unknown"),
        ({"replicas": -1}, "field_out_of_bounds"),
        ({"source": None}, "field_missing"),
        ({"env": {"NEW": "***"}}, None),
        ({"backend": "vlmm"}, "unknown_backend"),
    ],
)
async def test_a_patch_is_held_against_the_same_rules(
    client: httpx.AsyncClient, patch: dict[str, Any], code: str | None
) -> None:
    await client.post(MODELS, json=ECHO)
    answer = await client.patch(f"{MODELS}/m", json=patch)
    assert answer.status_code == (200 if code is None else 400)
    if code is not None:
        assert answer.json()["error"]["code"] == code
        assert (await client.get(f"{MODELS}/m")).json()["generation"] == 1


async def test_of_two_patches_at_once_neither_is_lost(client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO)
    patches: list[dict[str, Any]] = [{"replicas": 4}, {"options": {"a": 1}}, {"env": {"A": "b"}}]
    await asyncio.gather(*(client.patch(f"{MODELS}/m", json=patch) for patch in patches))
    model = (await client.get(f"{MODELS}/m")).json()
    assert (model["replicas"], model["options"], model["env"], model["generation"]) == (4, {"a": 1}, {"A": "b"}, 4)


async def events_of(api: Api) -> list[str]:
    async with api.context.db.read() as session:
        return [event.kind for event in await session.exec(select(Event).order_by("id"))]


async def test_stopping_and_starting_are_written_down_once(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO)
    for _ in range(2):
        assert (await client.post(f"{MODELS}/m/stop")).json()["stopped"] is True
    for _ in range(2):
        assert (await client.post(f"{MODELS}/m/start")).json()["stopped"] is False
    await client.delete(f"{MODELS}/m")
    assert await events_of(api) == ["model_created", "model_stopped", "model_started", "model_deleted"]


async def test_starting_tries_what_gave_up_again(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO)
    await api.add(a_worker(1))
    await api.add(a_placed_instance(None, "failed", gave_up=True, holds_claim=False))
    await api.add(a_placed_instance(None, "ready"))
    await client.post(f"{MODELS}/m/start")
    async with api.context.db.read() as session:
        left = (await session.exec(select(ModelInstance))).all()
    assert [instance.state for instance in left] == ["ready"]


# --- what the workers know of the files ------------------------------------------------------------------------------

MISSING = Said(code="unreachable", params={"where": "/models/m.gguf", "why": "it is not there"})


async def answer_as_workers(api: Api, *answers: FactsReport | None) -> None:
    """Each worker answers once it was asked; None stays silent."""
    with api.context.signals.listen("assignments") as asked:
        await asked.wait(5)
    async with api.context.db.write() as session:
        for worker_id, answer in enumerate(answers, 1):
            if answer is not None:
                assert await inspections.answer(session, worker_id, answer, api.clock)
    api.context.signals.touch("inspections")


def refusal() -> FactsReport:
    return FactsReport(source=FILE["source"], refused=MISSING)


def facts() -> FactsReport:
    return FactsReport(source=FILE["source"], facts={"format": "gguf", "path": FILE["source"], "size_bytes": 7})


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        pytest.param([refusal()], 400, id="the only worker refuses"),
        pytest.param([refusal(), refusal()], 400, id="every worker refuses"),
        pytest.param([facts()], 201, id="the only worker has it"),
        pytest.param([refusal(), facts()], 201, id="one of two has it"),
        pytest.param([refusal(), None], 201, id="one refuses and one is silent"),
        pytest.param([None], 201, id="nobody answers"),
    ],
)
async def test_a_model_that_every_living_worker_refuses_is_not_made(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, answers: list[FactsReport | None], status: int
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.3)
    for worker_id in range(1, len(answers) + 1):
        await api.add(a_worker(worker_id))
    await api.add(a_worker(9, state="silent"))
    answer, _ = await asyncio.gather(client.post(MODELS, json=FILE), answer_as_workers(api, *answers))
    assert answer.status_code == status
    if status == 400:
        error = answer.json()["error"]
        assert (error["code"], error["param"], error["params"]) == (MISSING.code, "source", MISSING.params)
        assert (await client.get(MODELS)).json()["total"] == 0


async def test_a_refusal_of_yesterday_is_asked_about_again(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 5.0)
    await api.add(a_worker(1))
    now = api.clock.wall()
    old = Inspection(source=FILE["source"], worker_id=1, asked_at=now, answered_at=now, refused=MISSING.model_dump())
    await api.add(old)
    answer, _ = await asyncio.gather(client.post(MODELS, json=FILE), answer_as_workers(api, facts()))
    assert answer.status_code == 201


@pytest.mark.parametrize(("allowed", "status"), [(False, 400), (True, 201)])
async def test_pickled_weights_are_an_administrators_decision(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, allowed: bool, status: int
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 5.0)
    await api.add(a_worker(1))
    body = FILE | {"backend": "llama_cpp", "allow_pickle": allowed}
    pickled = facts().model_copy(update={"facts": {**(facts().facts or {}), "has_pickle": True}})
    answer, _ = await asyncio.gather(client.post(MODELS, json=body), answer_as_workers(api, pickled))
    assert answer.status_code == status
    if status == 400:
        assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (
            "model_pickle_not_allowed",
            "allow_pickle",
        )


async def test_whom_a_model_trusts_is_shown_and_makes_new_instances(client: httpx.AsyncClient) -> None:
    made = (await client.post(MODELS, json=ECHO)).json()
    assert (made["trust_remote_code"], made["trusts_remote_code"], made["allow_pickle"]) == (False, False, False)
    answer = (await client.patch(f"{MODELS}/m", json={"trust_remote_code": True})).json()
    assert (answer["trust_remote_code"], answer["trusts_remote_code"], answer["launch_generation"]) == (True, True, 2)


@pytest.mark.parametrize("workers", [[], [a_worker(1, state="silent")]], ids=["no worker", "a silent one"])
async def test_without_a_living_worker_nobody_waits(api: Api, client: httpx.AsyncClient, workers: list[Worker]) -> None:
    for worker in workers:
        await api.add(worker)
    assert (await client.post(MODELS, json=FILE)).status_code == 201


async def test_a_backend_that_needs_no_files_asks_nobody(api: Api, client: httpx.AsyncClient) -> None:
    await api.add(a_worker(1))
    assert (await client.post(MODELS, json=ECHO)).status_code == 201
    async with api.context.db.read() as session:
        assert (await session.exec(select(Inspection))).all() == []


async def test_a_patch_of_the_source_asks_too(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 5.0)
    await client.post(MODELS, json=FILE | {"source": "/first.gguf"})
    await api.add(a_worker(1))
    answer, _ = await asyncio.gather(
        client.patch(f"{MODELS}/m", json={"source": FILE["source"]}), answer_as_workers(api, refusal())
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, MISSING.code)
    assert (await client.get(f"{MODELS}/m")).json()["source"] == "/first.gguf"


async def test_how_a_model_is_served_is_merged_and_starts_nothing_anew(client: httpx.AsyncClient) -> None:
    given = {"queue_length": 9, "limits": {"concurrency": 4, "timezone": "Asia/Shanghai"}, "weights": {"w1": 2}}
    await client.post(MODELS, json=ECHO | {"serving": given})
    patch = {"serving": {"queue_length": None, "sleep_after_seconds": 600, "limits": {"requests_per_minute": 60}}}
    answer = await client.patch(f"{MODELS}/m", json=patch)
    document = answer.json()
    assert (answer.status_code, document["generation"], document["launch_generation"]) == (200, 2, 1)
    serving = document["serving"]
    assert (serving["queue_length"], serving["sleep_after_seconds"], serving["weights"]) == (None, 600, {"w1": 2})
    assert serving["limits"]["concurrency"] == 4
    assert (serving["limits"]["requests_per_minute"], serving["limits"]["timezone"]) == (60, "Asia/Shanghai")


async def test_a_wish_that_is_the_default_changes_nothing(client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO)
    answer = await client.patch(f"{MODELS}/m", json={"serving": {"affinity": True, "queue_seconds": None}})
    assert answer.json()["generation"] == 1
