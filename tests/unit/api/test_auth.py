"""Who may do what: the same rules for every carrier of a credential, and no route without a rule."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from gpustack_lite.api.credentials import SESSION_COOKIE
from gpustack_lite.db.tables import User
from tests.fakes.management import TOKENS, Api

OPEN = {
    ("POST", "/api/v1/auth/login"),
    ("GET", "/api/v1/auth/methods"),
    ("GET", "/api/v1/auth/oidc/start"),
    ("GET", "/api/v1/auth/oidc/callback"),
    ("GET", "/api/v1/version"),
    ("GET", "/api/internal/readyz"),
    ("POST", "/api/agent/v1/join"),
    ("GET", "/{path:path}"),
}
"""Without a credential in the header: `join` carries its token in the body, the last one is the console's files."""

READ = {
    "/api/docs",
    "/api/v1/backends",
    "/api/v1/backends/versions",
    "/api/v1/backends/versions/{ref}",
    "/api/v1/backends/{name:path}",
    "/api/v1/backends/{name:path}/versions",
    "/api/v1/devices",
    "/api/v1/devices/{ref}",
    "/api/v1/events",
    "/api/v1/instances",
    "/api/v1/instances/{ref}",
    "/api/v1/instances/{ref}/logs",
    "/api/v1/keys",
    "/api/v1/keys/{ref:path}",
    "/api/v1/model-routes",
    "/api/v1/model-routes/{ref:path}",
    "/api/v1/models",
    "/api/v1/models/{ref:path}",
    "/api/v1/models/{ref:path}/history",
    "/api/v1/models/{ref:path}/history/{generation}",
    "/api/v1/models/{ref:path}/impact",
    "/api/v1/models/{ref:path}/instances",
    "/api/v1/openapi.json",
    "/api/v1/sessions",
    "/api/v1/usage",
    "/api/v1/watch",
    "/api/v1/workers",
    "/api/v1/workers/{ref}",
}
ROWS = {"/api/v1/requests", "/api/v1/requests/{ref}"}
WHO = {"/api/v1/auth/me", "/api/v1/users/me"}
ACCOUNT = {("POST", "/api/v1/auth/logout"), ("POST", "/api/v1/auth/password")}
OWN = {
    ("POST", "/api/v1/keys"),
    ("PATCH", "/api/v1/keys/{ref:path}"),
    ("POST", "/api/v1/keys/{ref:path}/rotate"),
    ("DELETE", "/api/v1/sessions/{ref}"),
    ("DELETE", "/api/v1/keys/{ref:path}"),
}
MODEL = {
    ("PATCH", "/api/v1/models/{ref:path}"),
    ("POST", "/api/v1/models/{ref:path}/rollback"),
    ("POST", "/api/v1/models/{ref:path}/start"),
    ("POST", "/api/v1/models/{ref:path}/stop"),
    ("DELETE", "/api/v1/instances/{ref}"),
}
ADMIN = {
    ("GET", "/api/v1/files"),
    ("GET", "/api/v1/files/{ref}"),
    ("GET", "/api/v1/rebalance"),
    ("GET", "/api/v1/rebalance/{ref}"),
    ("GET", "/api/v1/audit"),
    ("GET", "/api/v1/audit/verify"),
    ("GET", "/api/v1/audit/export"),
    ("GET", "/api/v1/secrets"),
    ("POST", "/api/v1/secrets/rotate-key"),
    ("GET", "/api/v1/secrets/{name}"),
    ("PUT", "/api/v1/secrets/{name}"),
    ("DELETE", "/api/v1/secrets/{name}"),
    ("POST", "/api/v1/groups"),
    ("GET", "/api/v1/groups"),
    ("GET", "/api/v1/groups/{ref}"),
    ("PATCH", "/api/v1/groups/{ref}"),
    ("DELETE", "/api/v1/groups/{ref}"),
    ("PUT", "/api/v1/groups/{ref}/members/{user}"),
    ("DELETE", "/api/v1/groups/{ref}/members/{user}"),
    ("GET", "/api/v1/users"),
    ("POST", "/api/v1/users"),
    ("GET", "/api/v1/users/{ref}"),
    ("PATCH", "/api/v1/users/{ref}"),
    ("DELETE", "/api/v1/users/{ref}"),
    ("POST", "/api/v1/users/{ref}/reset-password"),
    ("POST", "/api/v1/model-routes"),
    ("PATCH", "/api/v1/model-routes/{ref:path}"),
    ("DELETE", "/api/v1/model-routes/{ref:path}"),
    ("POST", "/api/v1/models"),
    ("DELETE", "/api/v1/models/{ref:path}"),
    ("GET", "/api/v1/instances/{ref}/decision"),
    ("POST", "/api/v1/evaluate"),
    ("POST", "/api/v1/rebalance"),
    ("POST", "/api/v1/files"),
    ("POST", "/api/v1/files/{ref}/pause"),
    ("POST", "/api/v1/files/{ref}/resume"),
    ("DELETE", "/api/v1/files/{ref}"),
    ("POST", "/api/v1/devices/{ref}/cordon"),
    ("POST", "/api/v1/devices/{ref}/uncordon"),
    ("POST", "/api/v1/workers/token"),
    ("POST", "/api/v1/workers/{ref}/drain"),
    ("POST", "/api/v1/workers/{ref}/resume"),
    ("DELETE", "/api/v1/workers/{ref}"),
    ("POST", "/api/v1/backends"),
    ("POST", "/api/v1/backends/versions"),
    ("POST", "/api/v1/backends/versions/{ref}/default"),
    ("DELETE", "/api/v1/backends/versions/{ref}"),
    ("DELETE", "/api/v1/backends/{name:path}"),
}
WORKER = {
    ("POST", "/api/agent/v1/heartbeat"),
    ("GET", "/api/agent/v1/assignment"),
    ("POST", "/api/agent/v1/status"),
    ("GET", "/api/agent/v1/hub-tokens/{hub}"),
    ("GET", "/api/agent/v1/logs"),
    ("POST", "/api/agent/v1/logs/{ticket}"),
}
GATEWAY = {
    ("GET", "/api/gateway/v1/routes"),
    ("POST", "/api/gateway/v1/usage"),
    ("POST", "/api/gateway/v1/status"),
}
INFERENCE = [
    ("POST", "/api/v1/compare"),
    ("POST", "/v1/files"),
    ("GET", "/v1/files"),
    ("GET", "/v1/files/{file_id}"),
    ("GET", "/v1/files/{file_id}/content"),
    ("DELETE", "/v1/files/{file_id}"),
    ("POST", "/v1/batches"),
    ("GET", "/v1/batches"),
    ("GET", "/v1/batches/{batch_id}"),
    ("POST", "/v1/batches/{batch_id}/cancel"),
]
RULES: dict[tuple[str, str], str] = (
    dict.fromkeys(OPEN, "open")
    | {("GET", path): "read" for path in READ}
    | {("GET", path): "rows" for path in ROWS}
    | {("GET", path): "who" for path in WHO}
    | dict.fromkeys(ACCOUNT, "account")
    | dict.fromkeys(OWN, "own")
    | dict.fromkeys(INFERENCE, "inference")
    | dict.fromkeys(MODEL, "model")
    | dict.fromkeys(ADMIN, "admin")
    | dict.fromkeys(WORKER, "worker")
    | dict.fromkeys(GATEWAY, "gateway")
)


def rule_of(dependant: Dependant) -> str:
    needs = [need for each in dependant.dependencies if (need := getattr(each.call, "need", None))]
    assert len(needs) <= 1
    return needs[0] if needs else "open"


def table(api: Api) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for route in iter_route_contexts(api.app.routes):
        dependant = route.dependant if isinstance(route.original_route, APIRoute) else None
        for method in (route.methods or set()) - {"HEAD"}:
            found[method, str(route.path)] = "open" if dependant is None else rule_of(dependant)
    return found


def test_every_route_is_in_the_table_with_the_rule_that_stands_before_it(api: Api) -> None:
    assert table(api) == RULES


WITH_A_BODY = [
    ("POST", "/api/v1/models"),
    ("PATCH", "/api/v1/models/1"),
    ("POST", "/api/v1/keys"),
    ("PATCH", "/api/v1/keys/1"),
    ("POST", "/api/v1/backends"),
    ("POST", "/api/v1/auth/password"),
    ("POST", "/api/agent/v1/heartbeat"),
    ("POST", "/api/agent/v1/status"),
]


@pytest.mark.parametrize(("method", "path"), WITH_A_BODY)
async def test_a_body_is_not_read_before_its_sender_is_known(api: Api, method: str, path: str) -> None:
    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("a stranger's body was read")
        yield b""

    async with api.client("wrong") as client:
        answer = await client.request(method, path, content=body(), headers={"content-type": "application/json"})
    assert answer.status_code == 401


def filled(path: str) -> str:
    return path.replace("{ref:path}", "1").replace("{name:path}", "1").replace("{ref}", "1").replace("{ticket}", "1")


CLOSED = sorted(key for key, rule in RULES.items() if rule != "open")


@pytest.mark.parametrize(("method", "path"), CLOSED, ids=str)
async def test_without_a_credential_every_closed_route_answers_401(api: Api, method: str, path: str) -> None:
    async with api.client() as client:
        answer = await client.request(method, filled(path), json={})
    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "authentication_error"


@pytest.mark.parametrize(("method", "path"), sorted(WORKER | GATEWAY), ids=str)
async def test_a_persons_key_is_no_machines_credential(client: httpx.AsyncClient, method: str, path: str) -> None:
    assert (await client.request(method, filled(path), json={})).status_code == 401


@pytest.mark.parametrize("token", ["", TOKENS.gateway, TOKENS.join, "x"], ids=["empty", "gateway", "join", "unknown"])
async def test_a_machines_token_is_no_persons_credential(api: Api, admin: User, token: str) -> None:
    async with api.client(token) as client:
        assert (await client.get("/api/v1/models")).status_code == 401


def carried(carrier: str, secret: str) -> dict[str, Any]:
    match carrier:
        case "bearer":
            return {"headers": {"authorization": f"bEARER  {secret}"}}
        case "x-api-key":
            return {"headers": {"x-api-key": secret}}
        case _:
            return {"headers": {"cookie": f"{SESSION_COOKIE}={secret}"}}


HEADERS = ("bearer", "x-api-key")
CARRIERS = (*HEADERS, "cookie")


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_session_reads_by_every_carrier(api: Api, admin: User, carrier: str) -> None:
    token = (await api.sign_in())["token"]
    async with api.client() as client:
        assert (await client.get("/api/v1/models", **carried(carrier, token))).status_code == 200


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("end", ["logout", "expiry", "deactivation", "reset"])
async def test_a_session_that_ended_is_refused_by_every_carrier(api: Api, admin: User, carrier: str, end: str) -> None:
    token = (await api.sign_in())["token"]
    async with api.client(token) as client:
        match end:
            case "logout":
                assert (await client.post("/api/v1/auth/logout")).status_code == 204
            case "expiry":
                api.clock.advance(24 * 3600)
            case "deactivation":
                admin.active = False
                await api.add(admin)
            case _:
                assert (await client.post("/api/v1/users/admin/reset-password")).status_code == 200
    async with api.client() as client:
        answer = await client.get("/api/v1/models", **carried(carrier, token))
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "credential_refused")


@pytest.mark.parametrize("carrier", HEADERS)
@pytest.mark.parametrize(
    ("role", "scopes", "read", "own", "admin_only"),
    [
        pytest.param("admin", ["inference"], 403, 403, 403, id="inference does nothing here"),
        pytest.param("admin", ["read"], 200, 403, 403, id="read only reads"),
        pytest.param("admin", ["manage"], 200, 201, 201, id="manage does all"),
        pytest.param("user", ["manage"], 200, 201, 403, id="manage of a user stays a user's"),
    ],
)
async def test_scopes_hold_for_every_carrier(
    api: Api, carrier: str, role: str, scopes: list[str], read: int, own: int, admin_only: int
) -> None:
    secret = await api.key(await api.user("somebody", role), *scopes)
    async with api.client() as client:
        sent = carried(carrier, secret)
        assert (await client.get("/api/v1/models", **sent)).status_code == read
        assert (await client.post("/api/v1/keys", json={"name": "n"}, **sent)).status_code == own
        assert (await client.post("/api/v1/workers/token", **sent)).status_code == admin_only


@pytest.mark.parametrize("carrier", HEADERS)
async def test_a_key_that_was_deleted_or_expired_is_refused(api: Api, client: httpx.AsyncClient, carrier: str) -> None:
    made = (await client.post("/api/v1/keys", json={"name": "gone", "scopes": ["read"]})).json()
    body = {"name": "short", "scopes": ["read"], "expires_at": "2026-11-30T12:00:10Z"}
    short = (await client.post("/api/v1/keys", json=body)).json()
    async with api.client() as other:
        assert (await other.get("/api/v1/models", **carried(carrier, made["key"]))).status_code == 200
        assert (await client.delete(f"/api/v1/keys/{made['id']}")).status_code == 204
        assert (await other.get("/api/v1/models", **carried(carrier, made["key"]))).status_code == 401
        assert (await other.get("/api/v1/models", **carried(carrier, short["key"]))).status_code == 200
        api.clock.advance(10)
        assert (await other.get("/api/v1/models", **carried(carrier, short["key"]))).status_code == 401


async def test_a_key_or_the_cli_token_in_the_cookie_is_refused(api: Api, admin: User) -> None:
    async with api.client() as client:
        for secret in (await api.key(admin, "manage"), "cli-token"):
            assert (await client.get("/api/v1/models", **carried("cookie", secret))).status_code == 401


@pytest.mark.parametrize("carrier", HEADERS)
async def test_the_cli_of_this_machine_is_the_administrator(api: Api, admin: User, carrier: str) -> None:
    async with api.client() as client:
        answer = await client.get("/api/v1/auth/me", **carried(carrier, "cli-token"))
    assert answer.json()["username"] == "admin"
    assert answer.json()["credential"] == {"kind": "cli", "id": None, "scopes": ["inference", "manage", "read"]}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(lambda csrf: {}, 403, id="none"),
        pytest.param(lambda csrf: {"x-csrf-token": "wrong"}, 403, id="wrong"),
        pytest.param(lambda csrf: {"x-csrf-token": csrf}, 201, id="right"),
    ],
)
async def test_a_write_by_cookie_needs_the_csrf_token(api: Api, admin: User, sent: Any, status: int) -> None:
    signed_in = await api.sign_in()
    headers = {"cookie": f"{SESSION_COOKIE}={signed_in['token']}"} | sent(signed_in["csrf_token"])
    async with api.client() as client:
        assert (await client.post("/api/v1/keys", json={"name": "n"}, headers=headers)).status_code == status


async def test_a_reloaded_console_can_ask_for_its_csrf_token_again(api: Api, admin: User) -> None:
    signed_in = await api.sign_in()
    async with api.client() as client:
        by_cookie = await client.get("/api/v1/auth/me", **carried("cookie", signed_in["token"]))
        by_bearer = await client.get("/api/v1/auth/me", **carried("bearer", signed_in["token"]))
    assert by_cookie.json()["csrf_token"] == signed_in["csrf_token"]
    assert by_bearer.json()["csrf_token"] is None


@pytest.mark.parametrize("secret", ["' OR 1=1 --", "x" * 40_000, "\xff\xfe", "%00", "\ud7ff"], ids=range(5))
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_whatever_stands_in_a_credential_is_only_looked_up(
    api: Api, admin: User, carrier: str, secret: str
) -> None:
    async with api.client() as client:
        sent = carried(carrier, secret)
        raw = {name: value.encode("utf-8") for name, value in sent["headers"].items()}
        assert (await client.get("/api/v1/models", headers=raw)).status_code == 401
