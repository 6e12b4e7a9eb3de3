"""What is answered has the shapes that scripts rely on, and OpenAPI tells of them as they are."""

from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from gpustack_lite.api.schemas import public
from gpustack_lite.db.tables import CustomBackend, Event, ModelFile, ModelRouteRow, Rebalance, UsageRecord
from tests.fakes.clock import START
from tests.fakes.management import Api
from tests.fakes.rows import a_device, a_model, a_placed_instance, a_worker, an_instance

REASON = {
    "worker": "w1",
    "check": "memory",
    "code": "unreachable",
    "params": {"where": "w1", "why": "it is silent"},
    "needed_bytes": 7,
    "free_bytes": None,
}
REMEDY = {"code": "unreachable", "params": {"where": "w1", "why": "x"}, "change": {"options": {"max-model-len": 1024}}}
SAID = {"code": "unreachable", "params": {"where": "w1", "why": "it is silent"}}


@pytest.fixture(autouse=True)
async def cluster(api: Api) -> None:
    spec = {"command": ["prog"], "device_kinds": ["cpu"]}
    await api.add(
        a_worker(1, backend_versions=[{"backend": "echo", "version": "1", "source": "path", "installed": True}])
    )
    await api.add(a_device(0))
    await api.add(a_device(1, memory_used_bytes=None, health="unknown"))
    await api.add(a_model(said=None))
    claim = {"device_count": 1, "bytes_per_device": 7, "ram_bytes": 1, "device_kinds": ["ascend"]}
    await api.add(a_placed_instance(None, "failed", said=SAID, claim=claim, device_indices=[0], attempt=2))
    await api.add(an_instance(None, reasons=[REASON], remedies=[REMEDY], reason_counts={"memory": 1}))
    await api.add(Event(at=START, kind="move", model_id=1, model_name="m", code=SAID["code"], params=SAID["params"]))
    served = {"request_id": "r", "model": "m", "instance_id": 1, "path": "/v1/x", "seconds": 1.5, "status": 200}
    await api.add(UsageRecord(**served, started_at=START))
    route = {"targets": [{"model": "gone", "weight": 1}], "created_at": START, "updated_at": START}
    await api.add(ModelRouteRow(name="alias", **route))
    files = {
        "source": "huggingface:org/name",
        "state": "failed",
        "said": SAID,
        "created_at": START,
        "updated_at": START,
    }
    await api.add(ModelFile(worker_id=1, **files))
    spot = {"worker": "w1", "devices": [0]}
    move = {"instance": 1, "model": "m", "from": spot, "to": spot, "stops_first": False}
    move |= {"begun": False, "replacement": None}
    await api.add(
        Rebalance(model_id=1, model_name="m", moves=[move], place=["w1:0"], created_at=START, updated_at=START)
    )
    await api.add(CustomBackend(name="mine", spec=spec, created_at=START))


LISTS: list[tuple[str, type[BaseModel]]] = [
    ("models", public.Listed[public.ModelShape]),
    ("models/m/instances", public.Listed[public.InstanceShape]),
    ("model-routes", public.Listed[public.ModelRouteShape]),
    ("instances", public.Listed[public.InstanceShape]),
    ("rebalance", public.Whole[public.RebalanceShape]),
    ("workers", public.Listed[public.WorkerShape]),
    ("devices", public.Listed[public.DeviceShape]),
    ("files", public.Listed[public.FilesShape]),
    ("files?worker=w1&q=org&sort=-source", public.Listed[public.FilesShape]),
    ("keys", public.Listed[public.KeyShape]),
    ("users", public.Listed[public.UserShape]),
    ("events", public.Listed[public.EventShape]),
    ("requests", public.Listed[public.RequestShape]),
    ("usage?by=model,key,user", public.Whole[public.UsageShape]),
    ("backends", public.Whole[public.BackendShape]),
    ("backends/echo/versions", public.Whole[public.VersionShape]),
]
ONES: list[tuple[str, type[BaseModel]]] = [
    ("models/m", public.ModelShape),
    ("model-routes/alias", public.ModelRouteShape),
    ("instances/1", public.InstanceShape),
    ("instances/2", public.InstanceShape),
    ("workers/w1", public.WorkerShape),
    ("rebalance/1", public.RebalanceShape),
    ("files/1", public.FilesShape),
    ("keys/1", public.KeyShape),
    ("requests/r", public.RequestShape),
    ("backends/echo", public.BackendShape),
    ("auth/me", public.Me),
    ("users/me", public.Me),
]


@pytest.fixture(autouse=True)
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    from backends import registry
    from tests.fakes.fake_backends import FakeBackend

    monkeypatch.setattr(registry, "with_custom", lambda spec: FakeBackend(str(spec["name"])))


@pytest.mark.parametrize(("path", "shape"), LISTS + ONES, ids=[path for path, _ in LISTS + ONES])
async def test_an_answer_has_the_shape_that_openapi_tells(
    client: httpx.AsyncClient, path: str, shape: type[BaseModel]
) -> None:
    answer = await client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    shape.model_validate(answer.json())


@pytest.mark.parametrize(("path", "shape"), LISTS, ids=[path for path, _ in LISTS])
async def test_no_list_is_empty_here(client: httpx.AsyncClient, path: str, shape: type[BaseModel]) -> None:
    found = (await client.get(f"/api/v1/{path}")).json()
    assert len(found["items"]) == found["total"] > 0


async def test_reasons_remedies_and_states_come_with_their_sentences(client: httpx.AsyncClient) -> None:
    failed, pending = (await client.get("/api/v1/instances", headers={"accept-language": "zh"})).json()["items"]
    assert failed["state_message"] == "w1 没有应答：it is silent。"
    assert pending["state_message"] is None
    (reason,) = pending["reasons"]
    assert reason["message"] == "w1 没有应答：it is silent。"
    assert (reason["needed_bytes"], reason["free_bytes"]) == (7, None)
    (remedy,) = pending["remedies"]
    assert remedy["change"] == {"options": {"max-model-len": 1024}}


async def test_a_device_shows_what_is_claimed_beside_what_is_used(client: httpx.AsyncClient) -> None:
    first, second = (await client.get("/api/v1/devices?worker=w1")).json()["items"]
    assert (first["memory_claimed_bytes"], first["memory_used_bytes"], first["foreign_bytes"]) == (7, 0, 0)
    assert (second["memory_claimed_bytes"], second["memory_used_bytes"], second["foreign_bytes"]) == (0, None, None)


async def test_openapi_tells_of_every_management_route(client: httpx.AsyncClient) -> None:
    schema: dict[str, Any] = (await client.get("/api/v1/openapi.json")).json()
    assert {"/api/v1/models", "/api/v1/watch", "/api/v1/instances/{ref}/logs"} <= set(schema["paths"])
    assert not any(path.startswith(("/api/agent", "/api/gateway")) for path in schema["paths"])
    listed = schema["paths"]["/api/v1/models"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert listed["$ref"].endswith("Listed_ModelShape_")


async def test_the_reference_asks_no_other_host_for_anything(client: httpx.AsyncClient) -> None:
    page = await client.get("/api/docs")
    assert page.status_code == 200
    assert "POST /api/v1/models" in page.text
    assert "ModelCreate" in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "<script" not in page.text
