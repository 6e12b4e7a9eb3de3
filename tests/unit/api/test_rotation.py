"""Keys that get a new secret, sessions that go on while they are used, and both seen and ended by their owner."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from gpustack_lite.api import using
from gpustack_lite.api.credentials import Caller
from gpustack_lite.db.tables import User
from tests.fakes.management import Api

KEYS = "/api/v1/keys"
SESSIONS = "/api/v1/sessions"


async def status(api: Api, secret: str) -> int:
    async with api.client(secret) as client:
        return (await client.get("/api/v1/models")).status_code


async def test_both_secrets_of_a_rotated_key_hold_until_the_overlap_ends(api: Api, client: httpx.AsyncClient) -> None:
    first = (await client.post(KEYS, json={"name": "app", "scopes": ["read"]})).json()
    second = (await client.post(f"{KEYS}/app/rotate", json={"overlap_seconds": 60})).json()
    assert second["id"] == first["id"]
    assert second["prefix"] == second["key"][:12] != first["prefix"]
    assert second["previous_until"] == "2026-11-30T12:01:00.000Z"
    assert [await status(api, each["key"]) for each in (first, second)] == [200, 200]
    api.clock.advance(60)
    assert [await status(api, each["key"]) for each in (first, second)] == [401, 200]


async def test_without_an_overlap_the_secret_before_ends_at_once(api: Api, client: httpx.AsyncClient) -> None:
    first = (await client.post(KEYS, json={"name": "app", "scopes": ["read"]})).json()
    kept = (await client.post(f"{KEYS}/app/rotate", json={"overlap_seconds": 60})).json()
    last = (await client.post(f"{KEYS}/app/rotate", json={})).json()
    assert last["previous_until"] is None
    assert [await status(api, each["key"]) for each in (first, kept, last)] == [401, 401, 200]


async def test_an_overlap_does_not_outlive_the_key(api: Api, client: httpx.AsyncClient) -> None:
    body = {"name": "app", "scopes": ["read"], "expires_at": "2026-11-30T12:00:30Z"}
    first = (await client.post(KEYS, json=body)).json()
    await client.post(f"{KEYS}/app/rotate", json={"overlap_seconds": 60})
    api.clock.advance(30)
    assert await status(api, first["key"]) == 401


async def test_who_rotates_a_key_gets_no_more_than_it_had(api: Api, admin: User) -> None:
    await api.key(admin, "manage", name="strong")
    until = api.clock.wall() + timedelta(days=1)
    async with api.client(await api.key(admin, "manage", name="bounded", expires_at=until)) as bounded:
        answer = await bounded.post(f"{KEYS}/strong/rotate", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "key_exceeds_maker")


async def test_nobody_rotates_the_key_of_somebody_else(api: Api, client: httpx.AsyncClient) -> None:
    made = (await client.post(KEYS, json={"name": "admins"})).json()
    async with api.client(await api.key(await api.user("ada", "user"), "manage")) as hers:
        assert (await hers.post(f"{KEYS}/{made['id']}/rotate", json={})).status_code == 404


async def test_a_key_that_looks_shows_when_it_was_used(api: Api, client: httpx.AsyncClient) -> None:
    made = (await client.post(KEYS, json={"name": "app", "scopes": ["read"]})).json()
    assert made["last_used_at"] is None
    await status(api, made["key"])
    assert (await client.get(f"{KEYS}/app")).json()["last_used_at"] == "2026-11-30T12:00:00.000Z"


async def test_a_session_that_is_used_goes_on_to_its_longest(api: Api, admin: User) -> None:
    token = (await api.sign_in())["token"]
    for _ in range(30 * 24 // 20):
        assert await status(api, token) == 200
        api.clock.advance(20 * 3600)
    assert await status(api, token) == 401


async def test_a_session_that_rests_ends(api: Api, admin: User) -> None:
    token = (await api.sign_in())["token"]
    api.clock.advance(24 * 3600)
    assert await status(api, token) == 401


async def test_sessions_are_seen_and_ended_by_their_owner_and_an_administrator(
    api: Api, client: httpx.AsyncClient
) -> None:
    await api.user("ada", "user")
    await api.user("bob", "viewer")
    adas, bobs = (await api.sign_in("ada"))["token"], (await api.sign_in("bob"))["token"]
    async with api.client(adas) as ada:
        (mine,) = (await ada.get(SESSIONS)).json()["items"]
        assert (mine["user"], mine["current"], mine["user_agent"][:6]) == ("ada", True, "python")
        theirs = (await client.get(SESSIONS, params={"user": "bob"})).json()["items"]
        assert [(each["user"], each["current"]) for each in theirs] == [("bob", False)]
        assert len((await client.get(SESSIONS)).json()["items"]) == 2
        assert (await ada.delete(f"{SESSIONS}/{theirs[0]['id']}")).status_code == 404
        assert (await client.delete(f"{SESSIONS}/{theirs[0]['id']}")).status_code == 204
        assert await status(api, bobs) == 401
        assert (await ada.delete(f"{SESSIONS}/{mine['id']}")).status_code == 204
        assert await status(api, adas) == 401


NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "id_", "seconds", "due"),
    [
        ("key", 1, 59, False),
        ("key", 1, 60, True),
        ("session", 1, 3599, False),
        ("session", 1, 3600, True),
        ("cli", None, 9e9, False),
    ],
)
def test_use_is_written_down_rarely(kind: str, id_: int | None, seconds: float, due: bool) -> None:
    used_at = NOW - timedelta(seconds=seconds)
    caller = Caller(kind, id_, 1, "u", "user", used_at=used_at)  # type: ignore[arg-type]
    assert using.is_due(caller, NOW, 24.0) is due
