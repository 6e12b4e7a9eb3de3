import asyncio
from typing import Any

import httpx
import pytest

from gpustack_lite.api.door import (
    MACHINE_BODY_BYTES,
    PEOPLE_AT_ONCE,
    PEOPLE_WAITING,
    PERSON_BODY_BYTES,
    PICTURES_BODY_BYTES,
    STRANGER_BODY_BYTES,
    Door,
    body_limit,
    host_is_ours,
    is_canonical,
)
from gpustack_lite.ports import Ports
from tests.fakes.management import Api

OURS = {"gpu-1", "gpu-1.example.org"}


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("LOCALHOST:9090", True),
        ("127.0.0.1:9090", True),
        ("10.0.0.7", True),
        ("[::1]:9090", True),
        ("gpu-1:9090", True),
        ("GPU-1.example.org.", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
        ("a/admin?x=", False),
        ("localhost@evil.example", False),
        ("localhost:9090:1", False),
        ("local host", False),
        ("2130706433", False),
    ],
)
def test_only_our_own_names_and_addresses_are_answered(host: str, ours: bool) -> None:
    assert host_is_ours(host, OURS) is ours


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/", True),
        ("/api/v1/models/org/tiny-model:q4", True),
        ("/api/v1/models/模型", True),
        ("/api/v1/models/", True),
        ("/api/v1/../users", False),
        ("/api/v1/./users", False),
        ("/..", False),
        ("//evil", False),
        ("/api//v1", False),
        ("/api\\v1", False),
        ("/api/v1/a\x00b", False),
        ("/api/v1/a\nb", False),
        ("http://x/", False),
        ("", False),
    ],
)
def test_a_path_has_one_meaning_or_is_refused(path: str, canonical: bool) -> None:
    assert is_canonical(path) is canonical


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/api/v1/models", PERSON_BODY_BYTES),
        ("/api/v1/compare", PICTURES_BODY_BYTES),
        ("/api/v1/auth/login", STRANGER_BODY_BYTES),
        ("/api/agent/v1/join", STRANGER_BODY_BYTES),
        ("/api/gateway/v1/usage", MACHINE_BODY_BYTES),
        ("/api/agent/v1/status", MACHINE_BODY_BYTES),
        ("/api/agent/v1/logs/ticket", None),
        ("/api/agent/v1/logs/ticket/more", MACHINE_BODY_BYTES),
    ],
)
def test_bodies_are_bounded_but_for_an_engines_log(path: str, limit: int | None) -> None:
    assert body_limit(path) == limit


async def test_models_files_may_be_asked_for_under_any_name_as_models_may(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/files", headers={"host": "models.example"})).status_code == 200


async def test_a_foreign_host_is_answered_with_421(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/models", headers={"host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host_not_ours")


async def test_a_machine_need_not_know_our_name(api: Api) -> None:
    async with api.client("wrong") as client:
        answer = await client.get("/api/agent/v1/assignment", headers={"host": "server"})
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/%2e%2e/users", "/api/v1/models/%2e%2e/users", "/api/v1/models/a%5cb"])
async def test_a_path_with_two_meanings_is_refused(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "path_not_canonical")


async def chunks(total_bytes: int) -> object:
    for _ in range(total_bytes // 65536 + 1):
        yield b" " * 65536


async def test_a_body_that_is_announced_as_too_large_is_not_read(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/models", content=b" " * (PERSON_BODY_BYTES + 1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert "connection" not in answer.headers  # else whoever still sends finds it closed and reads no answer


async def test_a_body_that_turns_out_too_large_is_cut(client: httpx.AsyncClient) -> None:
    json = {"content-type": "application/json"}
    answer = await client.post("/api/v1/models", content=chunks(PERSON_BODY_BYTES), headers=json)  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert "connection" not in answer.headers  # else whoever still sends finds it closed and reads no answer


async def test_every_answer_has_an_id_and_the_safe_headers(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/models", headers={"x-request-id": "from-the-gateway"})
    assert answer.headers["x-request-id"] == "from-the-gateway"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_a_request_id_that_could_forge_a_log_line_is_replaced(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/models", headers={"x-request-id": "a b" * 100})
    assert " " not in answer.headers["x-request-id"]


class Guests:
    """An application that answers when it is told to, behind a door of its own."""

    def __init__(self) -> None:
        self.inside = 0
        self.let_go = asyncio.Event()
        self.door = Door(self._app, hosts=(), randomness=Ports().randomness)

    async def _app(self, _: Any, __: Any, send: Any) -> None:
        self.inside += 1
        await self.let_go.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await asyncio.Event().wait()  # an answer that goes on for ever

    def asks(self, path: str) -> "asyncio.Task[list[int]]":
        return asyncio.ensure_future(self._ask(path))

    async def _ask(self, path: str) -> list[int]:
        said: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                said.append(message["status"])
                told.set()

        told = asyncio.Event()
        headers = [(b"host", b"localhost")]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
        asking = asyncio.ensure_future(self.door(scope, _no_body, send))
        await told.wait()
        asking.cancel()
        return said


async def _no_body() -> Any:
    return {"type": "http.request"}


async def _turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_machines_do_not_wait_behind_people_and_streams_hold_no_turn() -> None:
    guests = Guests()
    people = [guests.asks("/api/v1/watch") for _ in range(2 * PEOPLE_AT_ONCE)]
    await _turns()
    assert guests.inside == PEOPLE_AT_ONCE
    at_once = [guests.asks(path) for path in ("/api/agent/v1/heartbeat", "/api/v1/instances/7/logs")]
    await _turns()
    assert guests.inside == PEOPLE_AT_ONCE + 2
    guests.let_go.set()
    assert await asyncio.gather(*at_once, *people) == [[204]] * (2 * PEOPLE_AT_ONCE + 2)


async def test_a_queue_that_is_too_long_is_told_as_such() -> None:
    guests = Guests()
    waiting = [guests.asks("/api/v1/models") for _ in range(PEOPLE_AT_ONCE + PEOPLE_WAITING)]
    await _turns()
    assert await guests.asks("/api/v1/models") == [503]
    guests.let_go.set()
    await asyncio.gather(*waiting)
