"""Everything that people change is written down, once, by whom and without secrets."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import delete, update
from sqlmodel import col, select

from gpustack_lite import acting
from gpustack_lite.acting import Actor
from gpustack_lite.api.app import build
from gpustack_lite.api.failures import MOST_OPEN, Failures
from gpustack_lite.db.auditing import Unaudited, note
from gpustack_lite.db.tables import ApiKey, AuditRow, EngineVersion, LoginSession, Model, ModelFile
from gpustack_lite.server import evaluating
from tests.fakes.management import PASSWORD, Api
from tests.fakes.rows import a_device, a_placed_instance, a_worker

V1 = "/api/v1"
ECHO = {"name": "m", "source": "none:", "backend": "echo"}
BACKEND = {
    "name": "own",
    "command": ["serve", "--port", "{port}"],
    "device_kinds": ["cpu"],
    "env": {"X_TOKEN": "canary"},
}
HUB = "huggingface:org/name"
BATCH = {"input_file_id": "{file}", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
LINE = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": []}}


@pytest.fixture(autouse=True)
def backends() -> None:
    """The real ones: builds of engines are made for those."""


class Judge:
    """A plan of one move, so that a rebalance can begin."""

    unasked = staticmethod(evaluating.unasked)

    @staticmethod
    def moves(snapshot: object, name: object, now: object) -> dict[str, Any]:
        return {"model_id": 1, "model_name": "m", "moves": [{"stops_first": False, "instance": 1}], "place": []}


CALLS: dict[tuple[str, str], tuple[str, object, str]] = {
    ("POST", "/auth/login"): ("", {"username": "ada", "password": PASSWORD}, "sign_in session"),
    ("POST", "/auth/logout"): ("", None, "sign_out session"),
    ("POST", "/auth/password"): ("", {"current": PASSWORD, "new": "another word"}, "change_password user"),
    ("POST", "/users"): ("", {"username": "new", "password": "s3cret canary"}, "create user"),
    ("PATCH", "/users/{ref}"): ("ada", {"role": "viewer"}, "update user"),
    ("DELETE", "/users/{ref}"): ("ada", None, "delete user"),
    ("POST", "/users/{ref}/reset-password"): ("ada", None, "reset_password user"),
    ("POST", "/groups"): ("", {"name": "more", "members": ["ada"]}, "create group"),
    ("PATCH", "/groups/{ref}"): ("nlp", {"description": "words"}, "update group"),
    ("DELETE", "/groups/{ref}"): ("nlp", None, "delete group"),
    ("PUT", "/groups/{ref}/members/{user}"): ("nlp ada", None, "create group_member"),
    ("DELETE", "/groups/{ref}/members/{user}"): ("nlp grace", None, "delete group_member"),
    ("DELETE", "/sessions/{ref}"): ("{session}", None, "end session"),
    ("PUT", "/secrets/{name}"): ("huggingface_token", {"value": "hf_canarycanarycanary"}, "create secret"),
    ("DELETE", "/secrets/{name}"): ("modelscope_token", None, "delete secret"),
    ("POST", "/secrets/rotate-key"): ("", None, "rotate_key secret"),
    ("POST", "/models"): ("", ECHO | {"name": "n", "env": {"HF_TOKEN": "canary"}}, "create model"),
    ("PATCH", "/models/{ref}"): ("m", {"replicas": 2}, "update model"),
    ("DELETE", "/models/{ref}"): ("free", None, "delete model"),
    ("POST", "/models/{ref}/start"): ("m", None, "start model"),
    ("POST", "/models/{ref}/stop"): ("m", None, "stop model"),
    ("POST", "/models/{ref}/rollback"): ("free", {"generation": 1}, "roll_back model"),
    ("POST", "/model-routes"): ("", {"name": "other", "targets": [{"model": "m"}]}, "create model_route"),
    ("PATCH", "/model-routes/{ref}"): ("alias", {"fallback": ["free"]}, "update model_route"),
    ("DELETE", "/model-routes/{ref}"): ("alias", None, "delete model_route"),
    ("POST", "/rebalance"): ("", {}, "create rebalance"),
    ("DELETE", "/instances/{ref}"): ("1", None, "restart instance"),
    ("POST", "/workers/token"): ("", None, "create join_token"),
    ("POST", "/workers/{ref}/drain"): ("w1", None, "drain worker"),
    ("POST", "/workers/{ref}/resume"): ("w1", None, "resume worker"),
    ("DELETE", "/workers/{ref}"): ("w2", None, "delete worker"),
    ("POST", "/devices/{ref}/cordon"): ("w1:0", {"note": "hot"}, "cordon device"),
    ("POST", "/devices/{ref}/uncordon"): ("w1:0", None, "uncordon device"),
    ("POST", "/files"): ("", {"source": HUB, "worker": "w1"}, "add model_file"),
    ("POST", "/files/{ref}/pause"): ("1", None, "pause model_file"),
    ("POST", "/files/{ref}/resume"): ("1", None, "resume model_file"),
    ("DELETE", "/files/{ref}"): ("1", None, "delete model_file"),
    ("POST", "/keys"): ("", {"name": "more"}, "create key"),
    ("PATCH", "/keys/{ref}"): ("spare", {"enabled": False}, "update key"),
    ("DELETE", "/keys/{ref}"): ("spare", None, "delete key"),
    ("POST", "/keys/{ref}/rotate"): ("spare", {}, "rotate key"),
    ("POST", "/backends"): ("", BACKEND | {"name": "more"}, "create backend"),
    ("DELETE", "/backends/{name}"): ("own", None, "delete backend"),
    ("POST", "/backends/versions"): (
        "",
        {"backend": "vllm", "version": "0.18.0", "device_kind": "cpu", "path": "/opt/v"},
        "create engine_version",
    ),
    ("POST", "/backends/versions/{ref}/default"): ("1", None, "set_default engine_version"),
    ("DELETE", "/backends/versions/{ref}"): ("1", None, "delete engine_version"),
    ("POST", "/v1/files"): ("", b"upload", "create file"),
    ("DELETE", "/v1/files/{file_id}"): ("{spare_file}", None, "delete file"),
    ("POST", "/v1/batches"): ("", BATCH, "create batch"),
    ("POST", "/v1/batches/{batch_id}/cancel"): ("{batch}", None, "cancel batch"),
}
"""Route -> what stands for its parts, its body, and the row that it leaves; what is in braces is `world`'s."""
CHANGES_NOTHING = {("POST", "/evaluate"), ("POST", "/compare")}


def writing_routes(api: Api) -> set[tuple[str, str]]:
    paths = api.app.openapi()["paths"]
    found = {(method.upper(), path.removeprefix(V1)) for path, methods in paths.items() for method in methods}
    return {each for each in found if each[0] not in {"GET", "HEAD"}}


def test_every_writing_route_is_tried(api: Api) -> None:
    assert writing_routes(api) == CALLS.keys() | CHANGES_NOTHING


async def rows(api: Api) -> list[AuditRow]:
    async with api.context.db.read() as session:
        return list(await session.exec(select(AuditRow).order_by(col(AuditRow.id))))


@pytest.fixture
async def world(api: Api, client: httpx.AsyncClient) -> dict[str, str]:
    """Something of everything, made past the log or before it is looked at."""
    from gpustack_lite.api.vault import open_vault

    opened = open_vault(api.context.settings, api.context.ports, api.context.data_dir, has_secrets=False)
    api.context.vault.ring, api.context.vault.path = opened.ring, opened.path
    api.app = build(replace(api.context, judge=Judge()), api.context.data_dir / "none")  # type: ignore[arg-type]
    await api.add(a_worker(1))
    await api.add(a_worker(2))
    await api.add(a_device())
    await api.add(a_placed_instance(1))
    now = api.clock.wall()
    await api.add(EngineVersion(backend="vllm", version="0.1.0", device_kind="cpu", created_at=now))
    await api.add(ModelFile(worker_id=1, source=HUB + "2", created_at=now, updated_at=now))
    ada = await api.user("ada", "user")
    await api.user("grace", "user")
    await api.key(ada, "inference", name="spare")
    for path, body in (
        ("/models", ECHO),
        ("/models", ECHO | {"name": "free"}),
        ("/model-routes", {"name": "alias", "targets": [{"model": "m"}]}),
        ("/groups", {"name": "nlp", "members": ["grace"]}),
        ("/backends", BACKEND),
    ):
        assert (await client.post(V1 + path, json=body)).status_code == 201, path
    await client.patch(f"{V1}/models/free", json={"replicas": 0})
    await client.put(f"{V1}/secrets/modelscope_token", json={"value": "ms_canarycanarycanary"})
    upload = {"files": {"file": ("b.jsonl", json.dumps(LINE).encode())}, "data": {"purpose": "batch"}}
    file, spare = [(await client.post("/v1/files", **upload)).json()["id"] for _ in range(2)]  # type: ignore[arg-type]
    batch = (await client.post("/v1/batches", json=BATCH | {"input_file_id": file})).json()["id"]
    await api.sign_in("ada")
    return {"file": file, "spare_file": spare, "batch": batch, "session": "1"}


async def sent(api: Api, client: httpx.AsyncClient, call: tuple[str, str], made: dict[str, str]) -> httpx.Response:
    (method, path), (parts, body, _) = call, CALLS[call]
    values = iter(parts.format(**made).split())
    filled = "/".join(next(values) if "{" in part else part for part in path.split("/"))
    url = filled if filled.startswith("/v1/") else V1 + filled
    if path.startswith("/auth/") and path != "/auth/login":
        secret = (await api.sign_in("ada"))["token"]
        async with api.client(secret) as ada:
            return await ada.request(method, url, json=body)
    if body == b"upload":
        return await client.post(url, files={"file": ("c.jsonl", b"{}")}, data={"purpose": "batch"})
    told = {name: each.format(**made) for name, each in body.items()} if body is BATCH else body  # type: ignore[attr-defined]
    return await client.request(method, url, json=told)


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
async def test_what_a_route_changes_is_written_down(
    api: Api, client: httpx.AsyncClient, world: dict[str, str], call: tuple[str, str]
) -> None:
    before = len(await rows(api))
    async with api.client(**{"authorization": client.headers["authorization"], "x-request-id": "the-request"}) as own:
        answer = await sent(api, own, call, world)
    assert answer.is_success, answer.text
    told = (await rows(api))[before:]
    assert CALLS[call][2] in [f"{each.action} {each.kind}" for each in told]
    last = next(each for each in told if f"{each.action} {each.kind}" == CALLS[call][2])
    who = "ada" if call[1].startswith("/auth/") else "admin"
    assert (last.actor, last.address) == (who, "127.0.0.1")
    assert last.request_id == "the-request" or call[1] in {"/auth/logout", "/auth/password"}
    written = json.dumps([each.model_dump(mode="json") for each in await rows(api)])
    assert [each for each in ("canary", PASSWORD, "argon2", "another word") if each in written] == []
    check = await client.get(f"{V1}/audit/verify")
    assert check.json()["ok"], check.text


async def audited(client: httpx.AsyncClient, **sought: str) -> list[dict[str, Any]]:
    answer = await client.get(f"{V1}/audit", params=sought)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_a_row_says_what_was_there_before_and_what_after(client: httpx.AsyncClient) -> None:
    await client.post(f"{V1}/models", json=ECHO | {"env": {"A": "1"}})
    await client.patch(f"{V1}/models/m", json={"replicas": 2, "env": {"A": "2"}})
    row = (await audited(client, kind="model", action="update"))[0]
    assert row["before"] == {"replicas": 1, "env": {"A": "***"}, "generation": 1}
    assert row["after"] == {"replicas": 2, "env": {"A": "***"}, "generation": 2}
    assert (row["actor"], row["carrier"], row["credential_id"], row["name"]) == ("admin", "key", 1, "m")


async def test_by_what_somebody_came_is_written_down(api: Api, client: httpx.AsyncClient) -> None:
    secret = (await api.sign_in())["token"]
    for name, credential in (("by-session", secret), ("by-cli", "cli-token")):
        async with api.client(credential) as own:
            assert (await own.post(f"{V1}/groups", json={"name": name})).status_code == 201
    await client.post(f"{V1}/groups", json={"name": "by-key"})
    told = {row["name"]: row["carrier"] for row in await audited(client, kind="group")}
    assert told == {"by-session": "session", "by-cli": "cli", "by-key": "key"}


async def test_what_is_refused_leaves_no_row(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(f"{V1}/models", json=ECHO)
    before = len(await rows(api))
    assert (await client.post(f"{V1}/models", json=ECHO)).status_code == 409
    assert (await client.patch(f"{V1}/models/m", json={"replicas": 1})).status_code == 200
    assert (await client.delete(f"{V1}/users/admin")).status_code == 409
    assert len(await rows(api)) == before


async def test_what_the_platform_does_by_itself_is_not_in_it(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(f"{V1}/models", json=ECHO)
    before = len(await rows(api))
    async with api.context.db.write() as session:
        model = await session.get(Model, 1)
        assert model is not None
        model.replicas = 3
        session.add(model)
    assert len(await rows(api)) == before


ACTOR = Actor(1, "admin", "key", 1, "10.0.0.1", "r")


async def test_a_change_of_many_rows_that_nothing_tells_of_is_not_committed(
    api: Api, client: httpx.AsyncClient
) -> None:
    with pytest.raises(Unaudited), acting.acting(ACTOR):
        async with api.context.db.write() as session:
            await session.exec(update(ApiKey).values(enabled=False))
    async with api.context.db.read() as session:
        assert set(await session.exec(select(ApiKey.enabled))) == {True}
    with acting.acting(ACTOR):
        async with api.context.db.write() as session:
            await session.exec(delete(LoginSession))
            note(session, "end_all", "session", "", "")


async def test_a_worker_that_is_new_is_written_down_once(api: Api, client: httpx.AsyncClient) -> None:
    join = {"token": "join-token", "uid": "u", "name": "w", "labels": {}, "version": "1", "hostname": "h"}
    async with api.client() as worker:
        for _ in range(2):
            assert (await worker.post("/api/agent/v1/join", json=join)).status_code == 200
            async with api.context.db.write() as session:
                row = (await session.exec(select(a_worker().__class__))).one()
                row.state = "ready"
                session.add(row)
    told = await audited(client, action="join")
    assert [(row["name"], row["carrier"], row["actor_id"]) for row in told] == [("w", "token", None)]


# --- sign-ins that fail


async def fail(api: Api, username: str, password: str = "wrong", address: str = "10.0.0.9") -> None:
    async with api.client(**{"x-gpustack-client": address}) as client:
        body = json.dumps({"username": username, "password": password})
        answer = await client.post(f"{V1}/auth/login", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in {401, 429}


async def test_a_failed_sign_in_is_written_and_a_minute_of_them_is_two_rows(
    api: Api, client: httpx.AsyncClient
) -> None:
    for _ in range(4):
        await fail(api, "admin")
    assert [row["after"] for row in await audited(client, action="sign_in_failed")] == [{"count": 1}]
    api.clock.advance(61)
    told = await audited(client, action="sign_in_failed")
    assert [row["after"] for row in told] == [{"count": 3}, {"count": 1}]
    assert {(row["actor"], row["carrier"]) for row in told} == {("admin", "none")}


async def test_a_name_that_nobody_has_is_not_written_down(api: Api, client: httpx.AsyncClient) -> None:
    for word in ("my-passw0rd", "x\0", "other"):
        await fail(api, word)
    told = await audited(client, action="sign_in_failed")
    assert [row["actor"] for row in told] == ["(unknown)"]


async def test_the_answer_is_the_same_whether_or_not_it_can_be_written(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy.exc import OperationalError

    def full() -> Callable[[], Awaitable[None]]:
        raise OperationalError("INSERT", {}, Exception("disk full"))

    monkeypatch.setattr(api.context.db, "write", full)
    await fail(api, "admin")


def test_a_flood_from_everywhere_is_few_rows() -> None:
    failures, told = Failures(), []
    for number in range(10_000):
        told += failures.heard(f"user{number}", f"10.0.{number % 250}.1", 0.0)
    told += failures.over(61.0)
    assert len(told) <= MOST_OPEN + 2
    assert sum(each.count for each in told) == 10_000


# --- reading it


async def test_it_is_found_by_who_what_where_and_when(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(f"{V1}/groups", json={"name": "a"})
    api.clock.advance(3600)
    noon = api.clock.wall()
    await client.post(f"{V1}/groups", json={"name": "b"})
    assert [row["name"] for row in await audited(client, since=noon.isoformat())] == ["b"]
    assert [row["name"] for row in await audited(client, until=noon.isoformat(), kind="group")] == ["a"]
    assert [row["name"] for row in await audited(client, name="b", actor="admin", action="create")] == ["b"]
    assert await audited(client, address="10.9.9.9") == []
    assert [row["name"] for row in await audited(client, kind="group")] == ["b", "a"]
    assert [row["name"] for row in await audited(client, kind="group", sort="id", limit="1")] == ["a"]


async def test_an_export_is_whole_in_order_and_no_formula(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpustack_lite.db.queries.audit.AT_ONCE", 2)
    for name in ("=1+1", "b", "c", "-d", "+e"):
        assert (await client.post(f"{V1}/keys", json={"name": name})).status_code == 201
    lines = (await client.get(f"{V1}/audit/export")).text.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["=1+1", "b", "c", "-d", "+e"]
    answer = await client.get(f"{V1}/audit/export", params={"format": "csv", "kind": "key"})
    assert answer.headers["content-type"].startswith("text/csv")
    assert [line.split(",")[11] for line in answer.text.splitlines()] == ["name", "'=1+1", "b", "c", "'-d", "'+e"]
    assert (await client.get(f"{V1}/audit/export", params={"format": "xls"})).status_code in {400, 422}


async def test_a_broken_log_says_so_in_both_languages(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(f"{V1}/groups", json={"name": "a"})
    whole = (await client.get(f"{V1}/audit/verify")).json()
    async with api.context.db.write() as session:
        await session.exec(update(AuditRow).values(name="forged"))
    broken = (await client.get(f"{V1}/audit/verify")).json()
    assert (whole["ok"], broken["ok"], broken["fault"]["code"]) == (True, False, "audit_row_changed")
    assert "Row 1" in broken["fault"]["message"]
    assert "第 1 行" in (await client.get(f"{V1}/audit/verify", params={"lang": "zh"})).json()["fault"]["message"]
    assert (await client.get(f"{V1}/audit/verify", params={"noted": "1"})).json()["error"][
        "code"
    ] == "audit_noted_malformed"
    answer = await client.get(f"{V1}/audit/verify", params={"noted": whole["head"]})
    assert answer.json()["ok"] is False


async def test_what_is_old_is_trimmed_and_the_rest_is_still_whole(api: Api, client: httpx.AsyncClient) -> None:
    from gpustack_lite.db.queries import audit

    for name in "abc":
        await client.post(f"{V1}/groups", json={"name": name})
    api.clock.advance(timedelta(days=10).total_seconds())
    await client.post(f"{V1}/groups", json={"name": "d"})
    now = api.clock.wall()
    async with api.context.db.write() as session:
        assert await audit.trim(session, now - timedelta(days=1), 2, now) == 2
    async with api.context.db.write() as session:
        assert await audit.trim(session, now - timedelta(days=1), 9, now) == 1
    found = (await client.get(f"{V1}/audit/verify")).json()
    assert (found["ok"], found["trimmed"], found["rows"]) == (True, 3, 6)
    assert [row["action"] for row in await audited(client)] == ["trim", "trim", "create"]
