"""Users: made, changed, deactivated and removed, and never the last administrator."""

from typing import Any

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.api.first_start import ensure_admin
from gpustack_lite.db.tables import ApiKey, Change, Event, GroupMember, LoginSession, User
from tests.fakes.management import PASSWORD, Api

USERS = "/api/v1/users"


async def rows(api: Api, table: Any) -> list[Any]:
    async with api.context.db.read() as session:
        return list(await session.exec(select(table)))


async def test_a_user_is_made_with_a_password_that_is_shown_once_and_must_be_changed(
    api: Api, client: httpx.AsyncClient
) -> None:
    answer = await client.post(USERS, json={"username": "ada"})
    made = answer.json()
    assert (answer.status_code, made["role"], made["active"], made["source"]) == (201, "user", True, "local")
    assert (await api.sign_in("ada", made["password"]))["must_change_password"] is True
    shown = (await client.get(f"{USERS}/ada")).json()
    assert "password" not in shown
    assert shown["last_login_at"] is not None
    stored = [row.model_dump_json() for table in (User, Event, Change) for row in await rows(api, table)]
    assert not any(made["password"] in row for row in stored)


async def test_a_password_that_was_given_is_not_shown(client: httpx.AsyncClient) -> None:
    made = (await client.post(USERS, json={"username": "ada", "password": PASSWORD})).json()
    assert made["password"] is None


async def test_a_first_password_opens_nothing_but_its_own_change(api: Api, client: httpx.AsyncClient) -> None:
    made = (await client.post(USERS, json={"username": "ada", "role": "admin"})).json()
    token = (await api.sign_in("ada", made["password"]))["token"]
    async with api.client(token) as ada:
        for method, path in (("GET", "/api/v1/models"), ("POST", "/api/v1/keys"), ("GET", USERS), ("GET", "/v1/files")):
            answer = await ada.request(method, path, json={"name": "n"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "password_change_required")
        assert (await ada.get("/api/v1/auth/me")).status_code == 200
        body = {"current": made["password"], "new": "something longer"}
        assert (await ada.post("/api/v1/auth/password", json=body)).status_code == 204
        assert (await ada.get(USERS)).status_code == 200
        assert (await ada.post("/api/v1/auth/logout")).status_code == 204


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "field_missing", "username"),
        ({"username": ""}, "field_length", "username"),
        ({"username": "12"}, "username_invalid", "username"),
        ({"username": "me"}, "username_invalid", "username"),
        ({"username": "a b"}, "username_invalid", "username"),
        ({"username": "a/b"}, "username_invalid", "username"),
        ({"username": ".."}, "username_invalid", "username"),
        ({"username": "a\0"}, "username_invalid", "username"),
        ({"username": "n" * 65}, "username_invalid", "username"),
        ({"username": "\N{FULLWIDTH LATIN SMALL LETTER A}"}, "username_invalid", "username"),
        ({"username": "a", "role": "root"}, "field_not_one_of", "role"),
        ({"username": "a", "password": "short"}, "password_length", "password"),
        ({"username": "a", "password": "Password123"}, "password_guessable", "password"),
        ({"username": "a", "password": "abababababab"}, "password_guessable", "password"),
        ({"username": "long-enough", "password": "Long-Enough"}, "password_guessable", "password"),
        ({"username": "a", "id": 3}, "field_unknown", "id"),
    ],
    ids=str,
)
async def test_a_user_that_cannot_be_made_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], code: str, param: str
) -> None:
    answer = await client.post(USERS, json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, param)


async def test_a_name_is_given_once(client: httpx.AsyncClient) -> None:
    answer = await client.post(USERS, json={"username": "admin"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "username_taken")


async def test_who_is_deactivated_has_no_session_and_no_key_any_more(api: Api, client: httpx.AsyncClient) -> None:
    ada = await api.user("ada", "user")
    carried = [await api.key(ada, "read"), (await api.sign_in("ada"))["token"]]
    with api.context.signals.listen("credentials") as told:
        assert (await client.patch(f"{USERS}/ada", json={"active": False})).json()["active"] is False
        assert await told.wait(0)
    for secret in carried:
        async with api.client(secret) as hers:
            assert (await hers.get("/api/v1/models")).status_code == 401
    assert await rows(api, LoginSession) == []
    await client.patch(f"{USERS}/ada", json={"active": True})
    statuses = []
    for secret in carried:
        async with api.client(secret) as hers:
            statuses.append((await hers.get("/api/v1/models")).status_code)
    assert statuses == [200, 401]


async def test_who_is_deleted_leaves_nothing_that_lets_anybody_in(api: Api, client: httpx.AsyncClient) -> None:
    ada = await api.user("ada", "user")
    await api.key(ada, "read")
    await api.sign_in("ada")
    await api.add(GroupMember(group_id=1, user_id=ada.id or 0))
    assert (await client.delete(f"{USERS}/ada")).status_code == 204
    assert (await client.get(f"{USERS}/ada")).status_code == 404
    left = [row.user_id for table in (ApiKey, LoginSession, GroupMember) for row in await rows(api, table)]
    assert ada.id not in left
    assert "user_deleted" in [event.kind for event in await rows(api, Event)]


@pytest.mark.parametrize("change", [{"role": "user"}, {"role": "viewer"}, {"active": False}, None], ids=str)
async def test_the_last_active_administrator_stays(api: Api, client: httpx.AsyncClient, change: Any) -> None:
    async def attempt() -> httpx.Response:
        if change is None:
            return await client.delete(f"{USERS}/admin")
        return await client.patch(f"{USERS}/admin", json=change)

    await api.user("sleeping", active=False)
    refused = await attempt()
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "last_admin")
    await api.user("second")
    assert (await attempt()).status_code in {200, 204}


async def test_a_changed_role_holds_for_what_was_made_before(api: Api, client: httpx.AsyncClient) -> None:
    ada = await api.user("ada", "user")
    async with api.client(await api.key(ada, "inference", "manage")) as hers:
        assert (await hers.get("/v1/files")).status_code == 200
        await client.patch(f"{USERS}/ada", json={"role": "viewer"})
        assert (await hers.get("/v1/files")).status_code == 403
        assert (await hers.post("/api/v1/keys", json={"name": "n"})).status_code == 403


async def test_a_viewer_looks_and_makes_keys_that_look(api: Api) -> None:
    await api.user("eve", "viewer")
    async with api.client((await api.sign_in("eve"))["token"]) as hers:
        assert (await hers.get("/api/v1/models")).status_code == 200
        assert (await hers.get("/v1/files")).json()["error"]["code"] == "viewer_only_reads"
        answer = await hers.post("/api/v1/keys", json={"name": "n", "scopes": ["inference"]})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "viewer_key_reads")
        assert (await hers.post("/api/v1/keys", json={"name": "n", "scopes": ["read"]})).status_code == 201


async def test_an_admin_gives_no_viewers_key_more_than_read(api: Api, client: httpx.AsyncClient) -> None:
    await api.key(await api.user("eve", "viewer"), "read", name="eves")
    answer = await client.patch("/api/v1/keys/eves", json={"scopes": ["inference"]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "viewer_key_reads")


@pytest.mark.parametrize("given", [{"models": ["m"]}, {"expires_at": "soon"}], ids=["models", "time"])
async def test_a_key_with_bounds_makes_no_user_and_no_role(api: Api, admin: User, given: dict[str, Any]) -> None:
    bounds = {name: api.clock.wall().replace(year=2030) if value == "soon" else value for name, value in given.items()}
    await api.user("ada", "user")
    async with api.client(await api.key(admin, "manage", **bounds)) as bounded:
        made = await bounded.post(USERS, json={"username": "eve", "role": "admin"})
        raised = await bounded.patch(f"{USERS}/ada", json={"role": "admin"})
        reset = await bounded.post(f"{USERS}/ada/reset-password")
    assert [each.json()["error"]["code"] for each in (made, raised, reset)] == ["key_is_limited"] * 3


async def test_who_signs_in_elsewhere_gets_no_password_here(api: Api, client: httpx.AsyncClient) -> None:
    await api.user("ada", "user", source="oidc", subject="s")
    answer = await client.post(f"{USERS}/ada/reset-password")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "password_elsewhere")


async def test_the_host_acts_as_an_administrator_who_is_left(api: Api, client: httpx.AsyncClient) -> None:
    await api.user("second")
    assert (await client.delete(f"{USERS}/admin")).status_code == 204
    async with api.client("cli-token") as host:
        assert (await host.get("/api/v1/auth/me")).json()["username"] == "second"
    await ensure_admin(api.context)
    assert [user.username for user in await rows(api, User)] == ["second"]
