import base64
import json
from typing import Any

import httpx
import pytest

from tests.fakes.management import Api
from tests.fakes.rows import a_model

MODELS = "/api/v1/models"
NAMES = ["delta", "Alpha", "charlie", "bravo", "echo_1", "echo%2"]


@pytest.fixture(autouse=True)
async def models(api: Api) -> None:
    for number, name in enumerate(NAMES, 1):
        await api.add(a_model(id=None, name=name, replicas=number % 3, source=f"/{name}"))
        api.clock.advance(1)


async def all_pages(client: httpx.AsyncClient, **params: Any) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    for _ in range(20):
        more = {} if cursor is None else {"cursor": cursor}
        page = (await client.get(MODELS, params=params | more)).json()
        found += [model["name"] for model in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("limit", [1, 2, 4, 6, 7])
@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (None, NAMES),
        ("-id", NAMES[::-1]),
        ("name", sorted(NAMES)),
        ("-name", sorted(NAMES, reverse=True)),
        ("replicas", ["charlie", "echo%2", "delta", "bravo", "Alpha", "echo_1"]),
        ("-replicas", ["echo_1", "Alpha", "bravo", "delta", "echo%2", "charlie"]),
        ("created_at", NAMES),
    ],
)
async def test_pages_together_are_the_whole_list_in_order(
    client: httpx.AsyncClient, limit: int, sort: str | None, expected: list[str]
) -> None:
    params = {"limit": limit} | ({} if sort is None else {"sort": sort})
    assert await all_pages(client, **params) == expected


async def test_rows_that_go_between_two_pages_shift_nothing(client: httpx.AsyncClient) -> None:
    first = (await client.get(MODELS, params={"limit": 3})).json()
    await client.delete(f"{MODELS}/delta")
    second = (await client.get(MODELS, params={"limit": 3, "cursor": first["next_cursor"]})).json()
    assert [model["name"] for model in second["items"]] == NAMES[3:]
    assert (first["total"], second["total"]) == (6, 5)


@pytest.mark.parametrize(
    ("q", "expected"), [("ALPHA", ["Alpha"]), ("o_", ["echo_1"]), ("%", ["echo%2"]), ("nothing", []), ("", NAMES)]
)
async def test_a_search_is_literal_and_counts_what_it_finds(
    client: httpx.AsyncClient, q: str, expected: list[str]
) -> None:
    page = (await client.get(MODELS, params={"q": q})).json()
    assert ([model["name"] for model in page["items"]], page["total"]) == (expected, len(expected))


def cursor(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


@pytest.mark.parametrize(
    "given",
    [
        "x",
        "äöü",
        cursor(),
        cursor("id", 1),
        cursor("name", "a", 1),
        cursor("id", "1", 1),
        cursor("id", True, 1),
        cursor("id", 2**63, 1),
        cursor("id", 1, 10**30),
        cursor("name", "\0", 1),
        base64.urlsafe_b64encode(b"[" * 3000).decode(),
        "W10=",
    ],
)
async def test_a_cursor_of_something_else_is_refused(client: httpx.AsyncClient, given: str) -> None:
    answer = await client.get(MODELS, params={"cursor": given})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_cursor")


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"limit": 0}, "field_out_of_bounds"),
        ({"limit": 1001}, "field_out_of_bounds"),
        ({"limit": "x"}, "field_not_integer"),
        ({"sort": "source"}, "unknown_sort"),
        ({"q": "x" * 201}, "field_length"),
    ],
)
async def test_a_wish_that_cannot_be_met_is_refused(
    client: httpx.AsyncClient, params: dict[str, Any], code: str
) -> None:
    answer = await client.get(MODELS, params=params)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("events?instance=99999999999999999999", "field_out_of_bounds"),
        ("requests?key=99999999999999999999", "field_out_of_bounds"),
        ("requests?instance=-1", "field_out_of_bounds"),
        ("events?since=9999-12-31T23:59:59-23:59", "field_not_time"),
        ("usage?from=0001-01-01T00:00:00%2B14:00", "field_not_time"),
        ("requests?model=%00", "text_not_whole"),
    ],
)
async def test_what_no_database_can_be_asked_for_is_refused(client: httpx.AsyncClient, path: str, code: str) -> None:
    answer = await client.get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
