import json
from typing import Any

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.db.tables import ApiKey, Change, Event, User
from tests.fakes.management import Api

KEYS = "/api/v1/keys"


async def test_a_key_is_shown_once_and_only_its_digest_is_kept(api: Api, client: httpx.AsyncClient) -> None:
    answer = await client.post(KEYS, json={"name": "mine"})
    made = answer.json()
    assert answer.status_code == 201
    assert made["key"].startswith("gpl_")
    assert len(made["key"]) == 47
    assert made["prefix"] == made["key"][:12]
    assert (made["scopes"], made["models"], made["expires_at"]) == (["inference"], ["*"], None)
    async with api.context.db.read() as session:
        stored = [
            row.model_dump_json() for table in (ApiKey, Event, Change) for row in await session.exec(select(table))
        ]
    assert not any(made["key"] in row for row in stored)
    shown = (await client.get(f"{KEYS}/{made['id']}")).json()
    assert shown == {name: value for name, value in made.items() if name != "key"}


async def test_the_credentials_are_published_anew_before_the_answer(api: Api, client: httpx.AsyncClient) -> None:
    with api.context.signals.listen("credentials") as told:
        made = (await client.post(KEYS, json={"name": "mine"})).json()
        assert await told.wait(0)
        told.clear()
        await client.delete(f"{KEYS}/{made['id']}")
        assert await told.wait(0)


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "field_missing", "name"),
        ({"name": ""}, "field_length", "name"),
        ({"name": "n" * 201}, "field_length", "name"),
        ({"name": "12"}, "name_only_digits", "name"),
        ({"name": "a\x1bb"}, "name_unprintable", "name"),
        ({"name": ".."}, "name_segments", "name"),
        ({"name": "a%b"}, "name_character", "name"),
        ({"name": "a", "models": ["\0"]}, "text_not_whole", "models"),
        ({"name": "a", "expires_at": "9999-12-31T23:59:59-23:59"}, "field_not_time", "expires_at"),
        ({"name": "a\ud800"}, "field_not_text", "name"),
        ({"name": "a", "scopes": []}, "field_length", "scopes"),
        ({"name": "a", "scopes": ["root"]}, "field_not_one_of", "scopes.0"),
        ({"name": "a", "models": []}, "field_length", "models"),
        ({"name": "a", "models": "*"}, "field_not_list", "models"),
        ({"name": "a", "models": ["\ud800"]}, "field_not_text", "models.0"),
        ({"name": "a", "expires_at": "tomorrow"}, "field_not_time", "expires_at"),
        ({"name": "a", "expires_at": "2030-01-01T00:00:00"}, "field_not_time", "expires_at"),
        ({"name": "a", "expires_at": "2020-01-01T00:00:00Z"}, "expiry_passed", "expires_at"),
        ({"name": "a", "user_id": 2}, "field_unknown", "user_id"),
    ],
    ids=lambda each: json.dumps(each)[:40] if isinstance(each, dict) else None,
)
async def test_a_key_that_cannot_be_made_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], code: str, param: str
) -> None:
    answer = await client.post(KEYS, content=json.dumps(body), headers={"content-type": "application/json"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, param)


async def test_a_time_in_another_zone_is_kept_as_the_same_moment(client: httpx.AsyncClient) -> None:
    made = (await client.post(KEYS, json={"name": "a", "expires_at": "2027-01-01T08:00:00+08:00"})).json()
    assert made["expires_at"] == "2027-01-01T00:00:00.000Z"


async def test_a_patch_changes_what_it_names_alone(client: httpx.AsyncClient) -> None:
    made = (await client.post(KEYS, json={"name": "a", "models": ["m"], "expires_at": "2027-01-01T00:00:00Z"})).json()
    changed = (await client.patch(f"{KEYS}/a", json={"name": "b", "expires_at": None})).json()
    assert (changed["name"], changed["models"], changed["expires_at"]) == ("b", ["m"], None)
    assert changed["prefix"] == made["prefix"]
    answer = await client.patch(f"{KEYS}/b", json={"scopes": None})
    assert answer.json()["error"]["code"] == "field_missing"


async def test_a_key_is_deleted_by_name_or_by_id(client: httpx.AsyncClient) -> None:
    first = (await client.post(KEYS, json={"name": "team/a"})).json()
    assert (await client.delete(f"{KEYS}/team/a")).status_code == 204
    assert (await client.delete(f"{KEYS}/{first['id']}")).status_code == 404


async def test_a_name_that_several_wear_says_which_ids_there_are(client: httpx.AsyncClient) -> None:
    ids = [(await client.post(KEYS, json={"name": "a"})).json()["id"] for _ in range(2)]
    answer = await client.delete(f"{KEYS}/a")
    assert (answer.status_code, answer.json()["error"]["params"]["ids"]) == (409, f"{ids[0]}, {ids[1]}")


@pytest.fixture
async def two_users(api: Api) -> tuple[User, User]:
    return await api.user("ada", "user"), await api.user("bob", "user")


async def test_nobody_sees_or_touches_the_keys_of_others(api: Api, two_users: tuple[User, User]) -> None:
    ada, bob = [api.client(await api.key(user, "manage", name=f"{user.username}'s")) for user in two_users]
    async with ada, bob:
        theirs = (await bob.post(KEYS, json={"name": "b"})).json()
        assert {key["user"] for key in (await ada.get(KEYS)).json()["items"]} == {"ada"}
        for address in (theirs["id"], "b"):
            assert (await ada.get(f"{KEYS}/{address}")).status_code == 404
            assert (await ada.patch(f"{KEYS}/{address}", json={"name": "x"})).status_code == 404
            assert (await ada.delete(f"{KEYS}/{address}")).status_code == 404
        assert (await bob.get(f"{KEYS}/b")).status_code == 200


async def test_an_admin_sees_the_keys_of_everybody(
    client: httpx.AsyncClient, api: Api, two_users: tuple[User, User]
) -> None:
    for user in two_users:
        await api.key(user, "inference", name=user.username)
    assert {key["user"] for key in (await client.get(KEYS)).json()["items"]} == {"admin", "ada", "bob"}


@pytest.mark.parametrize(
    ("change", "param"),
    [({"scopes": ["manage"]}, "scopes"), ({"models": ["*"]}, "models"), ({"expires_at": None}, "expires_at")],
    ids=["scope", "models", "expiry"],
)
async def test_no_key_is_made_or_changed_beyond_what_its_maker_may(
    api: Api, two_users: tuple[User, User], change: dict[str, Any], param: str
) -> None:
    until = "2027-01-01T00:00:00Z"
    narrow = {"scopes": ["inference"], "models": ["m"], "expires_at": until}
    limits = {"models": ["m"], "expires_at": api.clock.wall().replace(year=2027, month=1, day=1, hour=0)}
    async with api.client(await api.key(two_users[0], "manage", **limits)) as client:
        made = await client.post(KEYS, json={"name": "narrow"} | narrow)
        assert made.status_code == 201
        for answer in (
            await client.post(KEYS, json={"name": "wide"} | narrow | change),
            await client.patch(f"{KEYS}/narrow", json=change),
        ):
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], error["param"]) == (403, "key_exceeds_maker", param)
        assert (await client.get(f"{KEYS}/narrow")).json()["scopes"] == ["inference"]
