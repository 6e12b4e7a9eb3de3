import asyncio
from typing import Any

import httpx
import pytest

from gpustack_lite.api.credentials import digest
from gpustack_lite.db.queries import cluster, moves
from gpustack_lite.db.tables import Event, Leadership, ModelInstance
from gpustack_lite.wire import LogRequest
from tests.fakes.management import Api
from tests.fakes.rows import a_model, a_placed_instance, a_worker

CREDENTIAL = "w1's credential"
ASSIGNMENT = "/api/agent/v1/assignment"
LOGS = "/api/agent/v1/logs"


@pytest.fixture(autouse=True)
async def rows(api: Api) -> None:
    await api.add(a_model())
    await api.add(a_worker(1, credential_digest=digest(CREDENTIAL), assignment_revision=3))
    await api.add(a_worker(2, credential_digest=digest("other")))
    await api.add(a_placed_instance(1, "starting", attempt=2))
    await api.add(Leadership(epoch=5))
    async with api.context.db.write() as session:
        await cluster.secret(session, cluster.ENGINE_KEYS, api.context.ports.randomness)


@pytest.fixture
async def worker(api: Api) -> Any:
    async with api.client(CREDENTIAL) as each:
        yield each


async def test_an_assignment_that_is_new_is_answered_at_once(worker: httpx.AsyncClient) -> None:
    found = (await worker.get(ASSIGNMENT, params={"after": 2, "epoch": 5})).json()
    assert (found["epoch"], found["revision"]) == (5, 3)
    assert [each["id"] for each in found["instances"]] == [1]
    assert len(found["instances"][0]["engine_key"]) == 64


@pytest.mark.parametrize(("known", "epoch"), [((5, 4), 6), ((6, 0), 7), ((9, 9), 10)], ids=str)
async def test_a_worker_that_knows_a_later_time_is_outrun(
    worker: httpx.AsyncClient, known: tuple[int, int], epoch: int
) -> None:
    """Else it would take nothing any more from a database that was restored from a backup."""
    answer = await worker.get(ASSIGNMENT, params={"epoch": known[0], "after": known[1]})
    assert (answer.json()["epoch"], answer.json()["revision"]) == (epoch, 3)
    again = await worker.get(ASSIGNMENT, params={"epoch": epoch, "after": 3, "wait": 0})
    assert again.status_code == 204


async def test_nobody_can_use_up_the_epochs(worker: httpx.AsyncClient) -> None:
    answer = await worker.get(ASSIGNMENT, params={"epoch": cluster.LATEST_EPOCH, "after": 0})
    assert answer.json()["epoch"] == 5


@pytest.mark.parametrize("known", [{"after": 2, "epoch": 5}, {"after": 3, "epoch": 4}], ids=["revision", "epoch"])
async def test_whatever_differs_is_new(worker: httpx.AsyncClient, known: dict[str, int]) -> None:
    assert (await worker.get(ASSIGNMENT, params=known)).json()["revision"] == 3


async def test_a_worker_that_knows_it_all_waits_until_something_changes(api: Api, worker: httpx.AsyncClient) -> None:
    waiting = asyncio.ensure_future(worker.get(ASSIGNMENT, params={"after": 3, "epoch": 5}))
    await asyncio.sleep(0)
    async with api.context.db.write() as session:
        revision = await moves.change_assignment(session, 1)
        await cluster.next_counter(session, cluster.CLUSTER)
    api.context.signals.touch("assignments")
    assert (await waiting).json()["revision"] == revision


async def test_a_poll_that_nothing_came_of_is_answered_with_204(worker: httpx.AsyncClient) -> None:
    assert (await worker.get(ASSIGNMENT, params={"after": 3, "epoch": 5, "wait": 0})).status_code == 204


@pytest.mark.parametrize("path", [f"{ASSIGNMENT}?after=3&epoch=5", LOGS])
async def test_a_server_that_stops_lets_its_waiters_go(api: Api, worker: httpx.AsyncClient, path: str) -> None:
    waiting = asyncio.ensure_future(worker.get(path))
    await asyncio.sleep(0)
    api.context.stop()
    assert (await waiting).status_code == 204


async def test_a_report_moves_an_instance_and_wakes_those_who_wait_for_it(api: Api, worker: httpx.AsyncClient) -> None:
    status = {"id": 1, "state": "ready", "pid": 7, "port": 21000, "attempt": 2}
    with api.context.signals.listen("changes") as told:
        answer = await worker.post("/api/agent/v1/status", json={"epoch": 5, "revision": 3, "instances": [status]})
        assert answer.status_code == 204
        assert await told.wait(0)
    async with api.context.db.read() as session:
        instance = await session.get(ModelInstance, 1)
        event = await session.get(Event, 1)
    assert instance is not None
    assert (instance.state, instance.pid) == ("ready", 7)
    assert event is not None
    assert (event.from_state, event.to_state) == ("starting", "ready")


async def serve_log(worker: httpx.AsyncClient, *pieces: bytes) -> LogRequest:
    """What the worker does with the next ticket."""
    request = LogRequest.model_validate_json((await worker.get(LOGS)).content)

    async def text() -> Any:
        for piece in pieces:
            yield piece

    answer = await worker.post(f"{LOGS}/{request.ticket}", content=text())
    assert answer.status_code == 204
    return request


async def test_a_log_flows_from_the_worker_to_its_reader(client: httpx.AsyncClient, worker: httpx.AsyncClient) -> None:
    reading = client.get("/api/v1/instances/1/logs", params={"attempt": 2, "tail": 5})
    answer, request = await asyncio.gather(reading, serve_log(worker, b"one\n", b"", b"two\n"))
    assert (answer.status_code, answer.text) == (200, "one\ntwo\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert (request.instance_id, request.attempt, request.tail, request.follow) == (1, 2, 5, False)


async def test_an_empty_log_is_empty(client: httpx.AsyncClient, worker: httpx.AsyncClient) -> None:
    answer, _ = await asyncio.gather(client.get("/api/v1/instances/1/logs"), serve_log(worker))
    assert (answer.status_code, answer.text) == (200, "")


async def test_a_log_larger_than_what_is_kept_in_between_comes_whole(
    client: httpx.AsyncClient, worker: httpx.AsyncClient
) -> None:
    pieces = [b"%d\n" % number for number in range(500)]
    answer, _ = await asyncio.gather(client.get("/api/v1/instances/1/logs"), serve_log(worker, *pieces))
    assert answer.content == b"".join(pieces)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("1/logs?attempt=3", 404, "not_found"),
        ("9/logs", 404, "not_found"),
        ("x/logs", 404, "not_found"),
        ("1/logs?tail=-1", 400, "field_out_of_bounds"),
        ("1/logs?follow=maybe", 400, "field_not_boolean"),
    ],
)
async def test_a_log_that_never_was_is_refused(client: httpx.AsyncClient, path: str, status: int, code: str) -> None:
    answer = await client.get(f"/api/v1/instances/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_a_worker_that_does_not_send_the_log_is_named(
    client: httpx.AsyncClient, worker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpustack_lite.api.reading_logs.WORKER_SECONDS", 0.05)
    answer = await client.get("/api/v1/instances/1/logs")
    assert (answer.status_code, answer.json()["error"]["params"]["worker"]) == (503, "w1")
    assert (await worker.get(LOGS, params={"wait": 0})).status_code == 204


async def test_a_ticket_is_good_for_its_worker_alone(
    api: Api, client: httpx.AsyncClient, worker: httpx.AsyncClient
) -> None:
    reading = asyncio.ensure_future(client.get("/api/v1/instances/1/logs"))
    request = LogRequest.model_validate_json((await worker.get(LOGS)).content)
    async with api.client("other") as other:
        assert (await other.post(f"{LOGS}/{request.ticket}", content=b"forged")).status_code == 404
    assert (await worker.post(f"{LOGS}/{request.ticket}", content=b"true")).status_code == 204
    assert (await reading).text == "true"


async def test_restarting_an_instance_ends_it_and_a_second_wish_changes_nothing(
    api: Api, client: httpx.AsyncClient
) -> None:
    for _ in range(2):
        assert (await client.delete("/api/v1/instances/1")).status_code == 204
    assert (await client.get("/api/v1/instances/1")).json()["state"] == "stopping"
    assert (await client.get("/api/v1/events?instance=1")).json()["total"] == 1
