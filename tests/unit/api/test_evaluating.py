"""POST /evaluate: the answer has its shape, and nothing of the question is kept."""

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.api import asking
from gpustack_lite.api.schemas.public import EvaluationShape
from gpustack_lite.db.tables import Model
from gpustack_lite.planning.evaluation import answer_document
from scheduler import replay
from tests.fakes.management import Api
from tests.fakes.rows import a_device, a_model, a_placed_instance, a_worker, an_instance

EVALUATE = "/api/v1/evaluate"
ECHO = {"source": "none:", "backend": "echo"}
PATHS = [{"backend": "echo", "version": "1", "source": "path", "installed": True, "device_kinds": ["ascend"]}]


async def test_without_a_worker_nothing_fits(client: httpx.AsyncClient) -> None:
    found = EvaluationShape.model_validate((await client.post(EVALUATE, json=ECHO)).json())
    assert not found.fits
    assert [each.code for each in found.reasons] == ["no_workers"]
    assert [each.code for each in found.remedies] == ["join_worker"]


async def test_where_it_fits_the_place_is_told_and_no_model_is_made(client: httpx.AsyncClient, api: Api) -> None:
    await api.add(a_worker(1, backend_versions=PATHS))
    await api.add(a_device(0, kind="ascend", memory_total_bytes=2**36, memory_used_bytes=0))
    found = EvaluationShape.model_validate((await client.post(EVALUATE, json=ECHO)).json())
    assert found.fits
    assert found.placement is not None
    assert found.placement.worker == "w1"
    async with api.context.db.read() as session:
        assert list(await session.exec(select(Model))) == []


async def test_who_is_in_the_way_is_named(client: httpx.AsyncClient, api: Api) -> None:
    await api.add(a_worker(1, backend_versions=PATHS))
    await api.add(a_device(0, kind="ascend", memory_total_bytes=2**36, memory_used_bytes=0))
    claim = {"device_count": 1, "bytes_per_device": 2**35, "ram_bytes": 0, "device_kinds": ["ascend"]}
    await api.add(a_placed_instance(9, "ready", claim=claim, device_indices=[0], assigned={"model": "chat"}))
    found = (await client.post(EVALUATE, json=ECHO)).json()
    assert found["reasons"][0]["code"] == "chips_taken"
    assert {"9 (chat)"} <= {each["params"].get("instances") for each in found["remedies"]}


async def test_what_a_model_may_not_say_may_not_be_asked(client: httpx.AsyncClient) -> None:
    answer = await client.post(EVALUATE, json={"source": "none:", "backend": "nobody"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unknown_backend")


async def test_files_that_nobody_has_read_yet_are_said_to_be_awaited(
    client: httpx.AsyncClient, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0)
    await api.add(a_worker(1, backend_versions=PATHS))
    found = EvaluationShape.model_validate((await client.post(EVALUATE, json={"source": "/models/m.gguf"})).json())
    assert [each.code for each in found.reasons] == ["facts_awaited"]
    assert found.memory is None


async def test_a_decision_comes_with_all_that_it_depends_on(client: httpx.AsyncClient, api: Api) -> None:
    await api.add(a_worker(1, backend_versions=PATHS))
    await api.add(a_device(0, kind="ascend", memory_total_bytes=2**36, memory_used_bytes=0))
    await api.add(a_model(backend="echo", source="none:"))
    await api.add(an_instance(7))
    found = (await client.get("/api/v1/instances/7/decision")).json()
    assert (found["instance"], found["answer"]["placement"]["devices"]) == (7, ["w1:0"])
    again = replay.question(found["question"])
    assert answer_document(again)["placement"] == found["answer"]["placement"]


async def test_one_that_runs_is_asked_about_as_if_it_had_no_place(client: httpx.AsyncClient, api: Api) -> None:
    await api.add(a_worker(1, backend_versions=PATHS))
    await api.add(a_device(0, kind="ascend", memory_total_bytes=2**36, memory_used_bytes=0))
    await api.add(a_model(backend="echo", source="none:"))
    claim = {"device_count": 1, "bytes_per_device": 2**35, "ram_bytes": 0, "device_kinds": ["ascend"]}
    await api.add(a_placed_instance(9, "ready", claim=claim, device_indices=[0]))
    found = (await client.get("/api/v1/instances/9/decision")).json()
    assert found["answer"]["placement"]["devices"] == ["w1:0"]
