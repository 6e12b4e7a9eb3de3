"""What would break if a model ended now, and who may know."""

from datetime import timedelta

import httpx

from gpustack_lite.db.tables import GatewayRow, ModelInstance
from tests.fakes.clock import START
from tests.fakes.management import Api
from tests.unit.api.test_usage import row, send

MODEL = {"name": "m", "source": "none:", "backend": "echo"}
PATH = "/api/v1/models/m/impact"


async def deployed(api: Api, client: httpx.AsyncClient) -> ModelInstance:
    made = (await client.post("/api/v1/models", json=MODEL)).json()
    row = ModelInstance(
        model_id=made["id"], model_name="m", generation=1, state="ready", created_at=START, state_since=START
    )
    return await api.add(row)


async def test_what_is_in_flight_is_summed_over_the_gateways(api: Api, client: httpx.AsyncClient) -> None:
    instance = await deployed(api, client)
    now = api.clock.wall()
    for name, count in (("g1", 2), ("g2", 1)):
        leases = {str(instance.id): count, "77": 9}
        await api.add(GatewayRow(gateway_id=name, seen_at=now, leases=leases, queued={"m": count, "other": 5}))
    silent = now - timedelta(seconds=16)
    await api.add(GatewayRow(gateway_id="gone", seen_at=silent, leases={str(instance.id): 40}))
    found = (await client.get(PATH)).json()
    assert (found["in_flight"], found["queued"]) == (3, 3)


async def test_without_a_gateway_it_is_unknown_and_not_nothing(api: Api, client: httpx.AsyncClient) -> None:
    await deployed(api, client)
    found = (await client.get(PATH)).json()
    assert (found["in_flight"], found["queued"], found["keys"]) == (None, None, [])


async def test_the_keys_of_the_last_day_are_named_the_busiest_first(api: Api, client: httpx.AsyncClient) -> None:
    await deployed(api, client)
    now = api.clock.wall()
    await send(api, row("old", started_at=now - timedelta(hours=25), key_id=None))
    await send(api, row("a", started_at=now - timedelta(hours=2), key_id=None))
    await send(api, *(row(f"b{number}", started_at=now - timedelta(hours=1)) for number in range(2)))
    await send(api, row("c", started_at=now, model="another"))
    keys = (await client.get(PATH)).json()["keys"]
    assert [(each["key"], each["user"], each["requests"]) for each in keys] == [
        ("the test's", "admin", 2),
        (None, "admin", 1),
    ]


async def test_names_of_keys_are_for_those_who_manage_the_model(api: Api, client: httpx.AsyncClient) -> None:
    await deployed(api, client)
    secret = await api.key(await api.user("looks", "viewer"), "read")
    async with api.client(secret) as viewer:
        refused = await viewer.get(PATH)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "model_not_managed")
