from typing import Any

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.db.tables import Change, Inspection, ModelInstance, WorkerDevice
from tests.fakes.clock import START
from tests.fakes.management import Api
from tests.fakes.rows import a_device, a_model, a_placed_instance, a_worker

WORKERS = "/api/v1/workers"
JOIN = {"uid": "u-1", "name": "w1", "version": "0.1.0", "hostname": "h", "labels": {"zone": "a"}}


async def join(client: httpx.AsyncClient, token: str = "join-token", **given: Any) -> httpx.Response:
    return await client.post("/api/agent/v1/join", json=JOIN | {"token": token} | given)


async def test_a_worker_joins_with_the_local_token_and_gets_a_credential_of_its_own(api: Api) -> None:
    async with api.client() as client:
        joined = (await join(client)).json()
    assert (joined["worker_id"], joined["name"]) == (1, "w1")
    async with api.client(joined["credential"]) as worker:
        beat = {"version": "0.1.0", "cpu_count": 4, "ram_total_bytes": 7, "ram_used_bytes": 1}
        assert (await worker.post("/api/agent/v1/heartbeat", json=beat)).status_code == 204
        assert (await worker.get("/api/v1/models")).status_code == 401
    assert [worker_id for worker_id, _ in api.heartbeats.beats] == [1]


async def test_a_token_made_by_an_admin_is_good_for_a_day_and_many_workers(api: Api, client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{WORKERS}/token", headers={"host": "10.0.0.1:9090"})
    made = answer.json()
    assert answer.status_code == 201
    assert made["command"] == f"gpustack-lite join http://10.0.0.1:9090 --token {made['token']}"
    async with api.client() as anybody:
        for number in (1, 2):
            joined = await join(anybody, made["token"], uid=f"u-{number}", name=f"w{number}")
            assert joined.status_code == 200
        api.clock.advance(24 * 3600)
        assert (await join(anybody, made["token"])).status_code == 401


@pytest.mark.parametrize("token", ["", "wrong", "gateway-token", "cli-token"])
async def test_another_token_is_refused(api: Api, token: str) -> None:
    async with api.client() as client:
        answer = await join(client, token)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "join_token_refused")


async def test_a_worker_that_joins_again_keeps_its_id_and_loses_its_old_credential(api: Api) -> None:
    async with api.client() as client:
        first = (await join(client)).json()
        second = (await join(client, name="renamed")).json()
    assert second["worker_id"] == first["worker_id"]
    assert second["name"] == "renamed"
    for credential, status in ((first["credential"], 401), (second["credential"], 200)):
        async with api.client(credential) as worker:
            answer = await worker.get("/api/agent/v1/assignment")
            assert answer.status_code == status
    assert api.heartbeats.forgotten == [1, 1]


async def test_what_it_refused_before_is_asked_again(api: Api) -> None:
    async with api.client() as client:
        await join(client)
        rows = [Inspection(source=f"/{n}", worker_id=1, asked_at=START, answered_at=START) for n in range(2)]
        rows[0].refused, rows[1].facts = {"code": "x", "params": {}}, {"format": "gguf"}
        for row in rows:
            await api.add(row)
        await join(client)
    async with api.context.db.read() as session:
        assert [row.source for row in await session.exec(select(Inspection))] == ["/1"]


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"uid": "u-2"}, 409, "worker_name_taken"),
        ({"uid": "u-2", "name": ""}, 400, "worker_name"),
        ({"uid": "u-2", "name": "a\nb"}, 400, "worker_name"),
        ({"uid": "u-2", "name": "7"}, 400, "worker_name"),
    ],
)
async def test_a_name_must_be_its_own_and_printable(api: Api, given: dict[str, str], status: int, code: str) -> None:
    async with api.client() as client:
        await join(client)
        answer = await join(client, **given)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.fixture
async def busy(api: Api) -> None:
    await api.add(a_model())
    await api.add(a_worker(1))
    await api.add(a_device(0))
    for state in ("ready", "stopping", "lost"):
        await api.add(a_placed_instance(None, state))


@pytest.mark.usefixtures("busy")
async def test_a_worker_in_use_is_deleted_only_by_force(api: Api, client: httpx.AsyncClient) -> None:
    refused = await client.delete(f"{WORKERS}/w1")
    assert (refused.status_code, refused.json()["error"]["params"]["count"]) == (409, 3)
    assert (await client.delete(f"{WORKERS}/w1?force=true")).status_code == 204
    assert (await client.get(f"{WORKERS}/w1")).status_code == 404
    async with api.context.db.read() as session:
        assert (await session.exec(select(ModelInstance))).all() == []
        assert (await session.exec(select(WorkerDevice))).all() == []
        told = [(change.kind, change.op) for change in await session.exec(select(Change).order_by("id"))]
    assert told.count(("instance", "delete")) == 3
    assert told[-1] == ("worker", "delete")


async def test_an_empty_worker_is_deleted_at_once_and_its_credential_with_it(
    api: Api, client: httpx.AsyncClient
) -> None:
    async with api.client() as anybody:
        credential = (await join(anybody)).json()["credential"]
    assert (await client.delete(f"{WORKERS}/w1")).status_code == 204
    async with api.client(credential) as worker:
        answer = await worker.get("/api/agent/v1/assignment")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "worker_unknown")


async def test_a_worker_is_drained_and_takes_instances_again(api: Api, client: httpx.AsyncClient) -> None:
    await join(client)
    for verb, is_drained in (("drain", True), ("drain", True), ("resume", False)):
        assert (await client.post(f"{WORKERS}/w1/{verb}")).json()["drained"] is is_drained
    told = [each["kind"] for each in (await client.get("/api/v1/events")).json()["items"]]
    assert told[:3] == ["worker_resumed", "worker_drained", "worker_joined"]
