import asyncio
from datetime import timedelta

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.api.routes import internal
from gpustack_lite.db.queries.gateways import is_news
from gpustack_lite.db.tables import GatewayRow, Model
from gpustack_lite.wire import GatewayStatus, RoutesReply
from tests.fakes.clock import START
from tests.fakes.management import Api
from tests.fakes.rows import a_gateway, a_model, a_worker

ROUTES = "/api/gateway/v1/routes"
KNOWN = {"epoch": 1, "models": 2, "credentials": 3}


def reply(**given: int) -> RoutesReply:
    return RoutesReply(**{"epoch": 1, "models_revision": 2, "credentials_revision": 3} | given)


@pytest.fixture
async def gateway(api: Api) -> httpx.AsyncClient:
    return api.client("gateway-token")


async def test_what_a_gateway_does_not_hold_is_answered_at_once(api: Api, gateway: httpx.AsyncClient) -> None:
    api.published.reply = reply(models_revision=9)
    answer = RoutesReply.model_validate_json((await gateway.get(ROUTES, params=KNOWN)).content)
    assert answer == api.published.reply


async def test_a_gateway_that_holds_it_all_waits_for_the_next_revision(api: Api, gateway: httpx.AsyncClient) -> None:
    api.published.reply = reply()
    waiting = asyncio.ensure_future(gateway.get(ROUTES, params=KNOWN))
    await asyncio.sleep(0)
    api.published.reply = reply(credentials_revision=4)
    api.context.signals.touch("routes")
    assert (await waiting).json()["credentials_revision"] == 4


@pytest.mark.parametrize("end", ["time", "stop"])
async def test_a_poll_that_nothing_came_of_is_answered_with_204(api: Api, gateway: httpx.AsyncClient, end: str) -> None:
    waiting = asyncio.ensure_future(gateway.get(ROUTES, params=KNOWN | ({"wait": 0} if end == "time" else {})))
    await asyncio.sleep(0)
    if end == "stop":
        api.context.stop()
    assert (await waiting).status_code == 204


STATUS = GatewayStatus(gateway_id="g", epoch=1, models_revision=2, credentials_revision=3, leases={7: 2, 8: 0})


async def test_what_a_gateway_says_is_kept_with_the_leases_that_it_holds(api: Api, gateway: httpx.AsyncClient) -> None:
    answer = await gateway.post("/api/gateway/v1/status", json=STATUS.model_dump(mode="json"))
    assert answer.status_code == 200
    async with api.context.db.read() as session:
        (row,) = (await session.exec(select(GatewayRow))).all()
    assert (row.models_revision, row.leases, row.seen_at) == (2, {"7": 2}, api.clock.wall())


@pytest.mark.parametrize(
    ("row", "news"),
    [
        (None, True),
        (a_gateway(models_revision=2, credentials_revision=3, leases={"7": 2}), False),
        (a_gateway(models_revision=1, credentials_revision=3, leases={"7": 2}), True),
        (a_gateway(models_revision=2, credentials_revision=3, leases={}), True),
        (a_gateway(models_revision=2, credentials_revision=3, leases={"7": 2}, seen_at=START - timedelta(5)), True),
    ],
    ids=["first", "repeated", "revision", "leases", "old"],
)
def test_what_a_gateway_repeats_is_written_only_now_and_then(row: GatewayRow | None, news: bool) -> None:
    assert is_news(row, STATUS, START) is news


async def test_ready_means_that_a_worker_is_there(api: Api) -> None:
    async with api.client() as anybody:
        waiting = await anybody.get("/api/internal/readyz")
        assert (waiting.status_code, waiting.json()["waiting_for"]) == (503, "worker")
        await api.add(a_worker(1))
        assert (await anybody.get("/api/internal/readyz")).json() == {"ready": True, "waiting_for": None}
        api.context.stop()
        assert (await anybody.get("/api/internal/readyz")).status_code == 503


async def test_the_version_is_no_secret(api: Api) -> None:
    async with api.client() as anybody:
        answer = await anybody.get("/api/v1/version")
    assert answer.json() == {"version": internal.gpustack_lite.__version__}


async def test_a_use_is_kept_and_a_sleeping_model_is_woken_unless_it_was_stopped(
    api: Api, gateway: httpx.AsyncClient
) -> None:
    sleeps = {"serving": {"sleep_after_seconds": 60}}
    await api.add(a_model(id=1, name="used", **sleeps))
    await api.add(a_model(id=2, name="asleep", asleep=True, **sleeps))
    await api.add(a_model(id=3, name="stopped", asleep=True, stopped=True, **sleeps))
    said = STATUS.model_copy(update={"used": ("used", "gone"), "wake": ("asleep", "stopped")})
    await gateway.post("/api/gateway/v1/status", json=said.model_dump(mode="json"))
    async with api.context.db.read() as session:
        found = {each.name: each for each in await session.exec(select(Model))}
    assert found["used"].used_at == api.clock.wall()
    assert (found["asleep"].asleep, found["asleep"].used_at) == (False, api.clock.wall())
    assert (found["stopped"].asleep, found["stopped"].used_at) == (True, None)


async def test_starting_wakes_and_stopping_ends_a_sleep_for_good(api: Api, client: httpx.AsyncClient) -> None:
    await api.add(a_model(name="m", asleep=True, serving={"sleep_after_seconds": 60}))
    assert (await client.get("/api/v1/models/m")).json()["state"] == "sleeping"
    assert (await client.post("/api/v1/models/m/start")).json()["asleep"] is False
    await client.post("/api/v1/models/m/stop")
    document = (await client.get("/api/v1/models/m")).json()
    assert (document["state"], document["asleep"]) == ("stopped", False)
