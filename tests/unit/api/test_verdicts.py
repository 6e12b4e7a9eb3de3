"""Gateways say that an engine is stuck; the server decides, once for each attempt."""

import httpx
import pytest

from gpustack_lite.api.verdicts import Verdicts
from gpustack_lite.db.queries import assignments, cluster, statuses
from gpustack_lite.db.tables import ModelInstance, Secret
from gpustack_lite.wire import GatewayOrders, InstanceStatus, StatusReport
from tests.fakes.management import Api
from tests.fakes.rows import a_device, a_model, a_placed_instance, a_worker

SAID = {"code": "engine_unanswering", "params": {"path": "/v1/completions", "seconds": 30}}
BUSY = {"code": "engine_silent", "params": {"seconds": 70, "allowed": 60, "requests": 2}}


@pytest.fixture
async def gateway(api: Api) -> httpx.AsyncClient:
    await api.add(a_worker(1))
    await api.add(a_model())
    await api.add(Secret(name=cluster.ENGINE_KEYS, value="s"))
    await api.add(a_placed_instance(7, attempt=3))
    return api.client("gateway-token")


async def say(
    gateway: httpx.AsyncClient, who: str = "a", leases: int = 0, attempt: int = 3, said: object = SAID
) -> GatewayOrders:
    """One status; without `said` nothing is thought to be stuck."""
    stuck = [{"instance_id": 7, "attempt": attempt, "said": said}] if said else []
    held = {"epoch": 1, "models_revision": 1, "credentials_revision": 1, "leases": {7: leases}}
    answer = await gateway.post("/api/gateway/v1/status", json={"gateway_id": who, "stuck": stuck, **held})
    return GatewayOrders.model_validate_json(answer.content)


async def instance(api: Api) -> ModelInstance:
    async with api.context.db.read() as session:
        return await session.get_one(ModelInstance, 7)


async def worker_says(api: Api, attempt: int, state: str) -> None:
    status = InstanceStatus(id=7, state=state, attempt=attempt, port=1)
    async with api.context.db.write() as session:
        report = StatusReport(epoch=await cluster.epoch(session), revision=0, instances=(status,))
        await statuses.apply(session, 1, report, api.clock)


async def test_a_stuck_engine_leaves_the_routes_and_its_worker_is_told(api: Api, gateway: httpx.AsyncClient) -> None:
    await say(gateway)
    found = await instance(api)
    assert (found.state, found.said, found.stuck_attempt) == ("unhealthy", SAID, 3)
    async with api.context.db.read() as session:
        assignment = await assignments.of_worker(session, 1)
    assert assignment is not None
    assert [each.stuck_attempt for each in assignment.instances] == [3]


async def test_there_is_one_verdict_for_an_attempt_and_its_health_does_not_undo_it(
    api: Api, gateway: httpx.AsyncClient
) -> None:
    await say(gateway)
    await worker_says(api, 3, "ready")
    await say(gateway)
    assert (await instance(api)).state == "unhealthy"
    for state in ("failed", "preparing", "starting", "ready"):
        await worker_says(api, 3 if state == "failed" else 4, state)
    await say(gateway)
    found = await instance(api)
    assert (found.state, found.attempt, found.stuck_attempt) == ("ready", 4, 3)


@pytest.mark.parametrize("attempt", [2, 4])
async def test_a_verdict_on_another_attempt_is_void(api: Api, gateway: httpx.AsyncClient, attempt: int) -> None:
    await say(gateway, attempt=attempt)
    assert (await instance(api)).state == "ready"


async def test_gateways_that_have_requests_there_must_agree(api: Api, gateway: httpx.AsyncClient) -> None:
    await say(gateway, "b", leases=1, said=None)
    await say(gateway, "a")
    assert (await instance(api)).state == "ready"
    await say(gateway, "b", leases=1, said=BUSY)
    assert (await instance(api)).state == "unhealthy"


@pytest.mark.parametrize(("busy", "state"), [(0.9, "ready"), (0.0, "unhealthy"), (None, "unhealthy")])
async def test_a_busy_device_speaks_for_a_silent_engine(
    api: Api, gateway: httpx.AsyncClient, busy: float | None, state: str
) -> None:
    await api.add(a_device(0, utilization=busy))
    async with api.context.db.write() as session:
        (await session.get_one(ModelInstance, 7)).device_indices = [0]
    await say(gateway, leases=1, said=BUSY)
    assert (await instance(api)).state == state


async def test_one_gateway_asks_and_each_hears_what_the_others_have_in_flight(
    api: Api, gateway: httpx.AsyncClient
) -> None:
    await say(gateway, "b", leases=2, said=None)
    first = await say(gateway, "a", leases=3, said=None)
    second = await say(gateway, "b", leases=2, said=None)
    assert (first.is_prober, first.in_flight) == (True, {7: 2})
    assert (second.is_prober, second.in_flight, second.gateways) == (False, {7: 3}, 2)


def test_what_a_gateway_repeats_no_more_is_taken_back() -> None:
    verdicts = Verdicts()
    verdicts.heard("a", [7], 0.0)
    assert verdicts.agreed(7) == {"a"}
    verdicts.heard("b", [], 4.0)
    assert verdicts.agreed(7) == frozenset()
