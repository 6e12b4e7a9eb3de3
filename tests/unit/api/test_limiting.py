import asyncio
from typing import Any

import httpx
import pytest

from gpustack_lite.api import limiting
from gpustack_lite.api.credentials import digest
from gpustack_lite.api.schemas.bodies import LimitsSpec
from gpustack_lite.server.routes import limits_of
from gpustack_lite.wire import Credential, GatewayStatus, RoutesReply
from tests.fakes.management import Api

KEYS = "/api/v1/keys"
SHANGHAI_DAY = {"tokens_per_day": 2, "timezone": "Asia/Shanghai"}


@pytest.mark.parametrize(
    ("stored", "wish", "after"),
    [
        pytest.param(None, {"concurrency": 2}, {"concurrency": 2}, id="the first limit"),
        pytest.param({"concurrency": 2}, {"tokens_per_day": 9}, {"concurrency": 2, "tokens_per_day": 9}, id="one more"),
        pytest.param({"concurrency": 2}, {"concurrency": None}, None, id="the last one is taken away"),
        pytest.param({"concurrency": 2, "timezone": "Asia/Shanghai"}, {"concurrency": None}, None, id="a zone alone"),
        pytest.param(
            {"tokens_per_day": 2},
            {"timezone": "Asia/Shanghai"},
            {"tokens_per_day": 2, "timezone": "Asia/Shanghai"},
            id="another zone",
        ),
        pytest.param({"concurrency": 2}, {}, {"concurrency": 2}, id="nothing is changed"),
    ],
)
def test_limits_are_merged(stored: Any, wish: dict[str, Any], after: Any) -> None:
    assert limiting.merged(stored, LimitsSpec.model_validate(wish)) == after


def test_no_wish_is_no_limit() -> None:
    assert limiting.merged({"concurrency": 2}, None) is None


async def test_a_key_has_limits_a_weight_and_can_be_disabled(client: httpx.AsyncClient) -> None:
    limits = {"requests_per_minute": 60, "tokens_per_day": 1000, "timezone": "Asia/Shanghai"}
    made = (await client.post(KEYS, json={"name": "a", "limits": limits, "weight": 5})).json()
    assert made["limits"] == limits | {"tokens_per_minute": None, "concurrency": None, "tokens_per_month": None}
    assert (made["enabled"], made["weight"]) == (True, 5)
    changed = (await client.patch(f"{KEYS}/a", json={"enabled": False, "limits": {"tokens_per_day": None}})).json()
    assert (changed["enabled"], changed["limits"]["requests_per_minute"]) == (False, 60)
    assert changed["limits"]["tokens_per_day"] is None
    assert (await client.patch(f"{KEYS}/a", json={"limits": None})).json()["limits"] is None


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"limits": {"concurrency": 0}}, "field_out_of_bounds", "limits.concurrency"),
        ({"limits": {"timezone": "Mars"}}, "timezone_unknown", "limits.timezone"),
        ({"limits": {"requests": 1}}, "field_unknown", "limits.requests"),
        ({"weight": 0}, "field_out_of_bounds", "weight"),
        ({"enabled": None}, "field_missing", "enabled"),
        ({"enabled": "yes"}, "field_not_boolean", "enabled"),
    ],
)
async def test_what_is_no_limit_is_refused(
    client: httpx.AsyncClient, change: dict[str, Any], code: str, param: str
) -> None:
    await client.post(KEYS, json={"name": "a"})
    error = (await client.patch(f"{KEYS}/a", json=change)).json()["error"]
    assert (error["code"], error["param"]) == (code, param)


async def test_a_disabled_key_opens_nothing_and_is_told_why(api: Api, client: httpx.AsyncClient) -> None:
    secret = (await client.post(KEYS, json={"name": "a", "scopes": ["read"]})).json()["key"]
    async with api.client(secret) as disabled:
        assert (await disabled.get("/api/v1/models")).status_code == 200
        await client.patch(f"{KEYS}/a", json={"enabled": False})
        answer = await disabled.get("/api/v1/models")
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "key_disabled")
        await client.patch(f"{KEYS}/a", json={"enabled": True})
        assert (await disabled.get("/api/v1/models")).status_code == 200


async def test_users_may_limit_their_own_keys_and_not_themselves_nor_take_a_larger_share(api: Api) -> None:
    ada = await api.user("ada", "user")
    async with api.client(await api.key(ada, "manage")) as client:
        made = (await client.post(KEYS, json={"name": "a", "limits": {"concurrency": 1}})).json()
        assert (await client.patch(f"{KEYS}/a", json={"limits": None, "weight": 1})).status_code == 200
        for answer in (
            await client.post(KEYS, json={"name": "b", "weight": 2}),
            await client.patch(f"{KEYS}/{made['id']}", json={"weight": 2}),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "weight_admin_only")
        refused = await client.patch("/api/v1/users/ada", json={"limits": None})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "admin_only")


async def test_an_admin_limits_a_user_and_the_user_sees_it(api: Api, client: httpx.AsyncClient) -> None:
    ada = await api.user("ada", "user")
    changed = await client.patch("/api/v1/users/ada", json={"limits": {"tokens_per_month": 100}})
    assert (changed.status_code, changed.json()["limits"]["tokens_per_month"]) == (200, 100)
    async with api.client(await api.key(ada, "read")) as hers:
        assert (await hers.get("/api/v1/users/me")).json()["limits"]["tokens_per_month"] == 100
    assert (await client.patch("/api/v1/users/nobody", json={})).status_code == 404
    assert (await client.patch("/api/v1/users/ada", json={"limits": None})).json()["limits"] is None


@pytest.mark.parametrize(
    "change", [{"enabled": False}, {"limits": {"concurrency": 3}}, {"weight": 2}, {"models": ["m"]}]
)
async def test_a_changed_key_is_answered_when_every_gateway_has_it(
    api: Api, client: httpx.AsyncClient, change: dict[str, Any]
) -> None:
    made = (await client.post(KEYS, json={"name": "a"})).json()
    before = Credential(
        digest=digest(made["key"]),
        kind="key",
        id=made["id"],
        user_id=1,
        user="admin",
        role="admin",
        scopes=("inference",),
    )
    _publish(api, 1, before)
    await _acknowledge(api, 1)
    changing = asyncio.ensure_future(client.patch(f"{KEYS}/a", json=change))
    with api.context.signals.listen("credentials") as told:
        await told.wait(5)
    await asyncio.sleep(0)
    assert not changing.done()
    given = change | {"limits": limits_of(change.get("limits")), "models": tuple(change.get("models", ("*",)))}
    _publish(api, 2, before.model_copy(update=given))
    await _acknowledge(api, 2)
    assert (await changing).status_code == 200


def _publish(api: Api, revision: int, *known: Credential) -> None:
    api.published.reply = RoutesReply(
        epoch=1, models_revision=1, credentials_revision=revision, models=(), credentials=known
    )
    api.context.signals.touch("routes")


async def _acknowledge(api: Api, revision: int) -> None:
    status = GatewayStatus(gateway_id="g", epoch=1, models_revision=1, credentials_revision=revision)
    async with api.client("gateway-token") as gateway:
        await gateway.post("/api/gateway/v1/status", json=status.model_dump(mode="json"))
