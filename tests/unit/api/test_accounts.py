from pathlib import Path

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.api import accounts
from gpustack_lite.api.first_start import ensure_admin
from gpustack_lite.api.passwords import Passwords
from gpustack_lite.db.queries import sessions, users
from gpustack_lite.db.tables import LoginSession, User
from tests.fakes.management import CHEAP, PASSWORD, Api

LOGIN = "/api/v1/auth/login"
RIGHT = {"username": "admin", "password": PASSWORD}
WRONG = {"username": "admin", "password": "wrong"}
NEW = "a new password"


def password_file(api: Api) -> Path:
    return api.context.data_dir / "initial_admin_password"


async def test_signing_in_answers_with_a_token_and_a_cookie_that_scripts_cannot_read(api: Api, admin: User) -> None:
    async with api.client() as client:
        answer = await client.post(LOGIN, json=RIGHT)
    assert set(answer.json()) == {"token", "expires_at", "must_change_password", "csrf_token"}
    assert answer.json()["expires_at"] == "2026-12-01T12:00:00.000Z"
    cookie = answer.headers["set-cookie"]
    assert f"gpustack_lite_session={answer.json()['token']}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie


async def test_behind_tls_the_cookie_stays_within_tls(api: Api, admin: User) -> None:
    async with api.client() as client:
        answer = await client.post(LOGIN, json=RIGHT, headers={"x-gpustack-scheme": "https"})
    assert "Secure" in answer.headers["set-cookie"]


async def test_only_digests_of_a_session_are_stored(api: Api, admin: User) -> None:
    signed_in = await api.sign_in()
    async with api.context.db.read() as session:
        (row,) = (await session.exec(select(LoginSession))).all()
    stored = row.model_dump_json()
    assert signed_in["token"] not in stored
    assert signed_in["csrf_token"] not in stored


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(WRONG, id="wrong password"),
        pytest.param({"username": "nobody", "password": PASSWORD}, id="unknown user"),
        pytest.param({"username": "asleep", "password": PASSWORD}, id="inactive user"),
        pytest.param({"username": "a\0b", "password": PASSWORD}, id="a name that cannot be stored"),
        pytest.param({"username": "admin", "password": ""}, id="empty password"),
    ],
)
async def test_whatever_is_wrong_the_answer_is_the_same(api: Api, admin: User, body: dict[str, str]) -> None:
    await api.user("asleep", active=False)
    async with api.client() as client:
        answer = await client.post(LOGIN, json=body)
        expected = await client.post(LOGIN, json={"username": "another", "password": "x"})
    assert answer.status_code == 401
    assert answer.json() == expected.json()
    assert answer.json()["error"]["code"] == "login_refused"


async def guess(client: httpx.AsyncClient, address: str, body: dict[str, str] = WRONG) -> httpx.Response:
    return await client.post(LOGIN, json=body, headers={"x-gpustack-client": address})


async def test_guessing_is_slowed_down_for_one_address_and_locks_nobody_out(api: Api, admin: User) -> None:
    async with api.client() as client:
        for _ in range(5):
            assert (await guess(client, "6.6.6.6")).status_code == 401
        slowed = await guess(client, "6.6.6.6", RIGHT)
        assert (slowed.status_code, slowed.headers["retry-after"]) == (429, "1")
        assert slowed.json()["error"]["type"] == "rate_limit_error"
        assert (await guess(client, "10.0.0.1", RIGHT)).status_code == 200
        api.clock.advance(1)
        assert (await guess(client, "6.6.6.6", RIGHT)).status_code == 200
        assert (await guess(client, "6.6.6.6")).status_code == 401


async def test_the_first_start_makes_an_admin_whose_password_only_the_owner_can_read(api: Api) -> None:
    await ensure_admin(api.context)
    assert password_file(api).stat().st_mode & 0o777 == 0o600
    signed_in = await api.sign_in(password=password_file(api).read_text().strip())
    assert signed_in["must_change_password"] is True


async def test_the_second_start_changes_nothing(api: Api) -> None:
    await ensure_admin(api.context)
    before = password_file(api).read_text()
    await ensure_admin(api.context)
    assert password_file(api).read_text() == before


async def test_a_first_start_that_is_cut_before_its_commit_is_done_again(api: Api) -> None:
    accounts.write_password(api.context, "of a start that never ended")
    await ensure_admin(api.context)
    await api.sign_in(password=password_file(api).read_text().strip())


async def test_a_file_that_an_interrupted_change_left_behind_goes_at_the_next_start(api: Api, admin: User) -> None:
    accounts.write_password(api.context, "true no more")
    await ensure_admin(api.context)
    assert not password_file(api).exists()


async def test_the_first_password_works_until_it_is_changed_and_then_its_file_is_gone(api: Api) -> None:
    await ensure_admin(api.context)
    first = password_file(api).read_text().strip()
    token = (await api.sign_in(password=first))["token"]
    async with api.client(token) as client:
        early = await client.get("/api/v1/models")
        assert (early.status_code, early.json()["error"]["code"]) == (403, "password_change_required")
        assert (await client.get("/api/v1/auth/me")).json()["must_change_password"] is True
        answer = await client.post("/api/v1/auth/password", json={"current": first, "new": NEW})
        assert answer.status_code == 204
        assert (await client.get("/api/v1/models")).status_code == 200
        assert not password_file(api).exists()
        assert (await client.get("/api/v1/auth/me")).json()["must_change_password"] is False
        assert (await client.post(LOGIN, json={"username": "admin", "password": first})).status_code == 401
    assert (await api.sign_in(password=NEW))["must_change_password"] is False


async def test_a_new_password_ends_the_other_sessions_and_keeps_this_one(api: Api, admin: User) -> None:
    this, other = (await api.sign_in())["token"], (await api.sign_in())["token"]
    async with api.client(this) as client:
        await client.post("/api/v1/auth/password", json={"current": PASSWORD, "new": NEW})
        assert (await client.get("/api/v1/models")).status_code == 200
    async with api.client(other) as client:
        assert (await client.get("/api/v1/models")).status_code == 401


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"current": "wrong", "new": NEW}, 401, "login_refused"),
        ({"current": PASSWORD, "new": "short"}, 400, "password_length"),
        ({"current": PASSWORD, "new": PASSWORD}, 400, "password_unchanged"),
        ({"current": PASSWORD}, 400, "field_missing"),
    ],
)
async def test_a_password_that_cannot_be_changed_stays(
    api: Api, admin: User, body: dict[str, str], status: int, code: str
) -> None:
    async with api.client((await api.sign_in())["token"]) as client:
        answer = await client.post("/api/v1/auth/password", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    await api.sign_in()


async def test_a_sign_in_that_meets_a_change_of_password_is_refused(
    api: Api, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches = api.context.passwords.matches

    async def while_somebody_changes_it(stored: str | None, password: str) -> bool:
        is_right = await matches(stored, password)
        async with api.context.db.write() as session:
            fresh = await users.by_ref(session, "admin")
            fresh.password_hash = CHEAP.hash(NEW)
            session.add(fresh)
        return is_right

    monkeypatch.setattr(Passwords, "matches", lambda _, *given: while_somebody_changes_it(*given))
    async with api.client() as client:
        assert (await client.post(LOGIN, json=RIGHT)).status_code == 401


async def test_a_reset_ends_every_session_and_rewrites_the_admins_file(api: Api, admin: User) -> None:
    token = (await api.sign_in())["token"]
    async with api.client("cli-token") as client:
        answer = await client.post("/api/v1/users/admin/reset-password")
    made = answer.json()
    assert (made["username"], made["must_change_password"]) == ("admin", True)
    assert password_file(api).read_text().strip() == made["password"]
    async with api.client(token) as client:
        assert (await client.get("/api/v1/models")).status_code == 401
    assert (await api.sign_in(password=made["password"]))["must_change_password"] is True


async def test_a_reset_of_somebody_else_leaves_the_admins_file_alone(api: Api, admin: User) -> None:
    await api.user("someone", "user")
    async with api.client("cli-token") as client:
        assert (await client.post("/api/v1/users/someone/reset-password")).status_code == 200
        assert (await client.post("/api/v1/users/nobody/reset-password")).status_code == 404
    assert not password_file(api).exists()


async def test_signing_out_removes_the_cookie(api: Api, admin: User) -> None:
    async with api.client((await api.sign_in())["token"]) as client:
        answer = await client.post("/api/v1/auth/logout")
    assert 'gpustack_lite_session=""' in answer.headers["set-cookie"]


async def test_a_key_cannot_be_signed_out(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/auth/logout")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_a_session")


async def test_expired_sessions_are_forgotten(api: Api, admin: User) -> None:
    await api.sign_in()
    api.clock.advance(48 * 3600)
    async with api.context.db.write() as session:
        await sessions.forget_expired(session, api.clock.wall())
    async with api.context.db.read() as session:
        assert (await session.exec(select(LoginSession))).all() == []


async def test_users_are_listed_without_their_hashes(api: Api, client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/users")
    assert [user["username"] for user in answer.json()["items"]] == ["admin"]
    assert "argon2" not in answer.text
