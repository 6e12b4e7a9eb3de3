"""What became of a request: for whoever asks with the id that he saw."""

from typing import Any

import httpx
import pytest

from gpustack_lite.db.queries.requests import why
from gpustack_lite.db.tables import UsageRecord, User
from gpustack_lite.messages import CATALOGUE
from tests.fakes.clock import START
from tests.fakes.management import Api
from tests.unit.api.test_usage import row, send


async def test_requests_come_newest_first_and_page_by_page(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, *(row(f"r{number}", started_at=START.replace(second=number)) for number in range(5)))
    await send(api, row("same time", started_at=START.replace(second=4), model="other"))
    first = (await client.get("/api/v1/requests", params={"limit": 4})).json()
    second = (await client.get("/api/v1/requests", params={"limit": 4, "cursor": first["next_cursor"]})).json()
    ids = [each["request_id"] for each in first["items"] + second["items"]]
    assert ids == ["same time", "r4", "r3", "r2", "r1", "r0"]
    assert first["items"][0]["started_at"] == "2026-11-30T12:00:04.000Z"
    other = (await client.get("/api/v1/requests", params={"model": "other"})).json()
    assert other["total"] == 1


async def test_a_row_is_found_by_the_id_that_its_client_chose(api: Api, client: httpx.AsyncClient) -> None:
    await send(
        api, row("ours-1", shown_id="theirs"), row("ours-2", shown_id="theirs", started_at=START.replace(hour=13))
    )
    assert (await client.get("/api/v1/requests/ours-1")).json()["shown_id"] == "theirs"
    assert (await client.get("/api/v1/requests/theirs")).json()["request_id"] == "ours-2"
    both = (await client.get("/api/v1/requests", params={"request": "theirs"})).json()
    assert [each["request_id"] for each in both["items"]] == ["ours-2", "ours-1"]


async def test_an_id_of_ours_is_preferred_to_one_that_a_client_took(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, row("a"), row("b", shown_id="a", started_at=START.replace(hour=13)))
    assert (await client.get("/api/v1/requests/a")).json()["request_id"] == "a"


async def test_the_reason_is_told_in_the_readers_language(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, row("r", status=502, cause="closed_early", partial=True, worker="w1", completion_tokens=5))
    found = (await client.get("/api/v1/requests/r", headers={"accept-language": "zh"})).json()
    assert found["why"]["code"] == "cause_closed_early"
    assert "5 个 token" in found["why"]["message"]
    assert (found["worker"], found["instance_id"], found["user"], found["key"]) == ("w1", 1, "admin", "the test's")


async def test_a_request_that_was_answered_needs_no_reason(api: Api, client: httpx.AsyncClient) -> None:
    await send(api, row("r"))
    assert (await client.get("/api/v1/requests/r")).json()["why"] is None


def record(**given: Any) -> UsageRecord:
    base = {"request_id": "r", "model": "m", "path": "/p", "started_at": START, "seconds": 1.5, "status": 418}
    return UsageRecord(**base | given)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"cause": "engine_error", "instance_id": 1}, "cause_engine_error"),
        ({"cause": "rate_limit_exceeded"}, "cause_rate_limit_exceeded"),
        ({"cause": "body_empty"}, "cause_refused"),
        ({"cause": "tokens_not_countable", "instance_id": 1}, "cause_other"),
    ],
)
def test_every_cause_has_a_sentence(given: dict[str, Any], code: str) -> None:
    said = why(record(**given))
    assert said is not None
    assert said["code"] == code


@pytest.mark.parametrize("code", [code for code in CATALOGUE if code.startswith("cause_")])
def test_a_reason_is_made_of_what_a_row_knows(code: str) -> None:
    said = why(record(cause=code.removeprefix("cause_"), instance_id=1))
    assert said is not None
    CATALOGUE[code][0].format(**said["params"])


@pytest.mark.parametrize(
    ("params", "ids"),
    [
        ({"status": "429"}, {"b"}),
        ({"status": "5xx"}, {"c"}),
        ({"cause": "engine_error"}, {"c"}),
        ({"instance": 9}, {"c"}),
        ({"key": 7}, {"a"}),
        ({"user": 8}, {"b"}),
        ({"model": "alias"}, {"a"}),
        ({"from": "2026-11-30T13:00:00Z"}, {"c"}),
        ({"to": "2026-11-30T13:00:00Z", "model": "m"}, {"a", "b"}),
    ],
)
async def test_a_list_is_narrowed(api: Api, client: httpx.AsyncClient, params: dict[str, Any], ids: set[str]) -> None:
    await send(
        api,
        row("a", key_id=7, public_name="alias"),
        row("b", user_id=8, status=429, instance_id=None, cause="queue_full"),
        row("c", status=502, instance_id=9, cause="engine_error", started_at=START.replace(hour=13)),
    )
    found = (await client.get("/api/v1/requests", params=params)).json()
    assert {each["request_id"] for each in found["items"]} == ids


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("requests/nobody", 404, "request_not_recorded"),
        ("requests?status=bad", 400, "status_not_understood"),
        ("requests?status=9xx", 400, "status_not_understood"),
        ("requests?from=yesterday", 400, "field_not_time"),
    ],
)
async def test_what_is_not_there_or_not_understood_is_said(
    client: httpx.AsyncClient, path: str, status: int, code: str
) -> None:
    answer = await client.get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_everybody_sees_what_is_his(api: Api, client: httpx.AsyncClient, admin: User) -> None:
    ada = await api.user("ada", "user")
    reading = await api.key(ada, "read")
    inferring = await api.key(ada, "inference")
    async with api.client(inferring) as hers:
        await send(
            api, row("admin's"), row("hers", user_id=ada.id, key_id=1), row("of this key", user_id=ada.id, key_id=3)
        )
        assert await ids(hers) == ["of this key"]
        assert (await hers.get("/api/v1/requests/hers")).status_code == 404
    async with api.client(reading) as hers:
        assert await ids(hers) == ["hers", "of this key"]
        assert (await hers.get("/api/v1/requests/admin's")).status_code == 404
    assert len(await ids(client)) == 3


async def ids(client: httpx.AsyncClient) -> list[str]:
    answer = await client.get("/api/v1/requests")
    assert answer.status_code == 200, answer.text
    return sorted(each["request_id"] for each in answer.json()["items"])
