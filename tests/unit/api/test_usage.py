from typing import Any

import httpx
import pytest

from gpustack_lite.db.tables import User
from gpustack_lite.wire import UsageBatch, UsageRow
from tests.fakes.clock import START
from tests.fakes.management import Api


def row(request_id: str, **given: Any) -> dict[str, Any]:
    base = {
        "request_id": request_id,
        "instance_id": 1,
        "model": "m",
        "path": "/v1/chat/completions",
        "started_at": START,
        "seconds": 1.5,
    }
    tokens = {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 2, "key_id": 1, "user_id": 1}
    batch = UsageBatch(gateway_id="g", rows=(UsageRow(**base | {"status": 200} | tokens | given),))
    found: dict[str, Any] = batch.model_dump(mode="json")["rows"][0]
    return found


async def send(api: Api, *rows: dict[str, Any]) -> None:
    async with api.client("gateway-token") as gateway:
        answer = await gateway.post("/api/gateway/v1/usage", json={"gateway_id": "g", "rows": rows})
    assert answer.status_code == 204, answer.text


async def sums(client: httpx.AsyncClient, **params: str) -> list[dict[str, Any]]:
    answer = await client.get("/api/v1/usage", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_a_batch_that_is_sent_twice_counts_once(api: Api, client: httpx.AsyncClient) -> None:
    rows = [row(f"r{number}") for number in range(3)]
    await send(api, *rows[:2])
    await send(api, *rows)
    await send(api, *rows)
    (total,) = await sums(client, by="")
    assert (total["requests"], total["prompt_tokens"], total["completion_tokens"]) == (3, 30, 15)


async def test_a_row_that_is_known_is_left_as_it_is(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, row("r", prompt_tokens=1))
    await send(api, row("r", prompt_tokens=1000))
    assert (await sums(client, by=""))[0]["prompt_tokens"] == 1


async def test_a_large_batch_and_repeats_within_one_are_taken(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, *(row(f"r{number % 1200}") for number in range(1300)))
    assert (await sums(client, by=""))[0]["requests"] == 1200


async def test_sums_are_split_by_what_is_asked(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, row("1"), row("2"), row("3", model="other", key_id=99, prompt_tokens=None), row("4", user_id=None))
    assert [(each["model"], each["requests"], each["prompt_tokens"]) for each in await sums(client)] == [
        ("m", 3, 30),
        ("other", 1, 0),
    ]
    by_key = await sums(client, by="key")
    assert [(each["key_id"], each["key"], each["requests"]) for each in by_key] == [(1, "the test's", 3), (99, None, 1)]
    by_both = await sums(client, by="user, model")
    assert {(each["user"], each["model"], each["requests"]) for each in by_both} == {
        ("admin", "m", 2),
        ("admin", "other", 1),
        (None, "m", 1),
    }
    assert all(each["device_seconds"] is None for each in by_both)


@pytest.mark.parametrize(
    ("span", "requests"),
    [
        ({"from": "2026-11-30"}, 2),
        ({"from": "2026-11-30T12:00:00Z"}, 2),
        ({"from": "2026-11-30T12:00:01Z"}, 1),
        ({"from": "2026-11-30T20:00:01+08:00"}, 1),
        ({"to": "2026-11-30T12:00:00Z"}, 0),
        ({"from": "2026-11-30T12:00:00Z", "to": "2026-11-30T13:00:00Z"}, 1),
    ],
)
async def test_from_is_included_and_to_is_not(
    api: Api, client: httpx.AsyncClient, span: dict[str, str], requests: int
) -> None:
    await send(api, row("1"), row("2", started_at=START.replace(hour=13)))
    assert sum(each["requests"] for each in await sums(client, **span)) == requests


@pytest.mark.parametrize(
    ("params", "code"), [({"by": "colour"}, "unknown_dimension"), ({"from": "yesterday"}, "field_not_time")]
)
async def test_what_cannot_be_summed_is_refused(client: httpx.AsyncClient, params: dict[str, str], code: str) -> None:
    answer = await client.get("/api/v1/usage", params=params)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


async def test_a_key_remembers_its_latest_use_whatever_arrives_last(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, row("2", started_at=START.replace(hour=13)))
    await send(api, row("1"))
    assert (await client.get("/api/v1/keys/1")).json()["last_used_at"] == "2026-11-30T13:00:00.000Z"


async def test_a_user_sees_only_what_it_used(api: Api, client: httpx.AsyncClient, admin: User) -> None:
    ada = await api.user("ada", "user")
    await send(api, row("1"), row("2", user_id=ada.id))
    async with api.client(await api.key(ada, "read")) as hers:
        assert [each["requests"] for each in await sums(hers)] == [1]
    assert [each["requests"] for each in await sums(client)] == [2]


async def test_what_reached_no_engine_is_no_request_that_was_served(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, row("1"), row("2", instance_id=None, status=429, prompt_tokens=None, completion_tokens=None))
    assert [each["requests"] for each in await sums(client)] == [1]


@pytest.mark.parametrize("rows", [[{"request_id": "r"}], "x", [row("r") | {"started_at": "x"}]], ids=range(3))
async def test_a_batch_that_is_damaged_is_refused_whole(api: Api, client: httpx.AsyncClient, rows: Any) -> None:
    async with api.client("gateway-token") as gateway:
        answer = await gateway.post("/api/gateway/v1/usage", json={"gateway_id": "g", "rows": rows})
    assert answer.status_code == 400
    assert await sums(client) == []
