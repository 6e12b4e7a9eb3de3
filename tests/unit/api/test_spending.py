"""Budgets on the server's disk: each row once, in the period of its zone, and told to the gateways."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.db.queries import spending, usage
from gpustack_lite.db.tables import Spending
from gpustack_lite.wire import Credential, GatewayOrders, GatewayStatus, Limits, RoutesReply, UsageRow
from tests.fakes.management import Api
from tests.fakes.rows import a_model

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def row(request_id: str, tokens: int, at: datetime = NOON, **fields: Any) -> UsageRow:
    given = {"key_id": 1, "user_id": 1, "model": "m", "path": "/v1", "seconds": 1.0, "status": 200, **fields}
    return UsageRow(request_id=request_id, started_at=at, prompt_tokens=tokens, completion_tokens=1, **given)


async def insert(api: Api, *rows: UsageRow) -> None:
    async with api.context.db.write() as session:
        await usage.insert_once(session, rows)


async def spent(api: Api) -> dict[tuple[str, str], int]:
    async with api.context.db.read() as session:
        return {(each.subject, each.period): each.tokens for each in await session.exec(select(Spending))}


@pytest.fixture
async def key_id(client: httpx.AsyncClient) -> int:
    made = await client.post("/api/v1/keys", json={"name": "k", "limits": {"tokens_per_day": 100}})
    return int(made.json()["id"])


async def test_a_row_is_charged_once_however_often_it_is_sent(api: Api, key_id: int) -> None:
    first, second = row("r1", 9, key_id=key_id), row("r2", 19, key_id=key_id)
    await insert(api, first, first)
    await insert(api, first, second)
    subject = f"key:{key_id}"
    assert await spent(api) == {(subject, "2026-11-30"): 30, (subject, "2026-11"): 30}


async def test_who_has_no_budget_is_not_charged(api: Api, key_id: int) -> None:
    await insert(api, row("r1", 9, key_id=key_id + 1), row("r2", 9, key_id=None, user_id=None))
    assert await spent(api) == {}


async def test_users_and_models_have_their_own_zones(api: Api, client: httpx.AsyncClient, key_id: int) -> None:
    await api.add(a_model(name="m", serving={"limits": {"tokens_per_month": 5, "timezone": "America/New_York"}}))
    await client.patch("/api/v1/users/1", json={"limits": {"tokens_per_day": 5, "timezone": "Asia/Shanghai"}})
    await insert(api, row("r1", 0, NOON.replace(month=12, day=1, hour=2), key_id=None))
    assert await spent(api) == {
        ("user:1", "2026-12-01"): 1,
        ("user:1", "2026-12"): 1,
        ("user:1", "2026-11-30"): 0,
        ("user:1", "2026-11"): 0,
        ("model:m", "2026-11-30"): 1,
        ("model:m", "2026-11"): 1,
    }


async def test_a_budget_that_begins_or_moves_counts_what_was_used_before(api: Api, client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/v1/keys", json={"name": "k"})).json()
    subject = f"key:{made['id']}"
    yesterday = NOON.replace(day=29, hour=23)
    await insert(api, row("r1", 9, key_id=made["id"]), row("r2", 99, yesterday, key_id=made["id"]))
    await client.patch("/api/v1/keys/k", json={"limits": {"tokens_per_day": 1000}})
    assert await spent(api) == {(subject, "2026-11-30"): 10, (subject, "2026-11"): 110}
    await client.patch("/api/v1/keys/k", json={"limits": {"timezone": "Asia/Shanghai"}})
    assert (await spent(api))[subject, "2026-11-30"] == 110
    await client.patch("/api/v1/keys/k", json={"limits": None})
    assert await spent(api) == {}


async def test_a_gateway_is_told_what_was_spent_and_what_the_others_admitted(api: Api, key_id: int) -> None:
    known = Credential(
        digest="d",
        kind="key",
        id=key_id,
        user_id=1,
        user="admin",
        role="admin",
        limits=Limits(tokens_per_day=100),
    )
    api.published.reply = RoutesReply(
        epoch=1, models_revision=1, credentials_revision=1, models=(), credentials=(known,)
    )
    await insert(api, row("r1", 9, key_id=key_id), row("r2", 99, NOON.replace(day=29), key_id=key_id))
    async with api.client("gateway-token") as gateway:
        first = GatewayStatus(
            gateway_id="a",
            epoch=1,
            models_revision=1,
            credentials_revision=1,
            rates={"key:9": (1.0, 2.0, 3)},
        )
        second = first.model_copy(update={"gateway_id": "b", "rates": {}})
        await gateway.post("/api/gateway/v1/status", json=first.model_dump(mode="json"))
        answer = await gateway.post("/api/gateway/v1/status", json=second.model_dump(mode="json"))
    orders = GatewayOrders.model_validate_json(answer.content)
    assert orders.spent == {f"key:{key_id}": {"2026-11-30": 10, "2026-11": 110}}
    assert (orders.gateways, orders.elsewhere) == (2, {"key:9": (1.0, 2.0, 3)})


async def test_periods_that_are_long_over_are_forgotten(api: Api) -> None:
    names = ["2026-09", "2026-10-20", "2026-10-22", "2026-11", "2026-11-30"]
    async with api.context.db.write() as session:
        session.add_all([Spending(subject="key:1", period=name, tokens=1) for name in names])
    async with api.context.db.write() as session:
        await spending.trim(session, NOON)
    assert [period for _, period in sorted(await spent(api))] == names[2:]
