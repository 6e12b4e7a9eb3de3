import asyncio

import httpx
import pytest

from gpustack_lite.api import settling
from gpustack_lite.api.acknowledgements import ALIVE_SECONDS, Acknowledgements, Held
from gpustack_lite.api.credentials import digest
from gpustack_lite.wire import Credential, GatewayStatus, RoutesReply
from tests.fakes.management import Api

NOW = 100.0


def heard(asked: Held | None, **reported: Held) -> Acknowledgements:
    each = Acknowledgements()
    if asked is not None:
        each.asked(asked)
    for gateway_id, held in reported.items():
        each.reported(gateway_id, held, NOW)
    return each


@pytest.mark.parametrize(
    ("acknowledged", "settled"),
    [
        pytest.param(heard(None), True, id="no gateway need know"),
        pytest.param(heard((1, 5)), True, id="the only one asked beyond it"),
        pytest.param(heard((1, 5), a=(1, 4)), True, id="its question is newer than its report"),
        pytest.param(heard((1, 4), a=(1, 4)), False, id="the only one is behind"),
        pytest.param(heard((0, 9), a=(0, 9)), False, id="another epoch is no knowledge"),
        pytest.param(heard((1, 5), a=(1, 5), b=(1, 4)), False, id="one of two is behind"),
        pytest.param(heard((1, 5), a=(1, 5), b=(1, 6)), True, id="both know"),
    ],
)
def test_a_revision_is_settled_when_every_living_gateway_holds_it(
    acknowledged: Acknowledgements, settled: bool
) -> None:
    assert acknowledged.all_hold((1, 5), NOW) is settled


def test_a_gateway_that_is_silent_is_not_waited_for() -> None:
    acknowledged = heard(None, a=(1, 4))
    assert acknowledged.all_hold((1, 5), NOW + ALIVE_SECONDS)
    acknowledged.reported("b", (1, 5), NOW + ALIVE_SECONDS)
    assert acknowledged.all_hold((1, 5), NOW + ALIVE_SECONDS)


def publish(api: Api, revision: int, *secrets: str) -> None:
    known = [
        Credential(digest=digest(each), kind="key", id=1, user_id=1, user="admin", role="admin") for each in secrets
    ]
    api.published.reply = RoutesReply(
        epoch=1, models_revision=1, credentials_revision=revision, models=(), credentials=tuple(known)
    )
    api.context.signals.touch("routes")


async def acknowledge(api: Api, revision: int) -> None:
    status = GatewayStatus(gateway_id="g", epoch=1, models_revision=1, credentials_revision=revision)
    async with api.client("gateway-token") as gateway:
        assert (await gateway.post("/api/gateway/v1/status", json=status.model_dump(mode="json"))).status_code == 200


async def turn(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_wait_ends_when_the_last_gateway_knows(api: Api) -> None:
    publish(api, 1)
    await acknowledge(api, 1)
    waiting = asyncio.ensure_future(settling.settle(api.context, digest("new"), is_valid=True))
    await turn()
    assert not waiting.done()
    publish(api, 2, "new")
    await turn()
    assert not waiting.done()
    await acknowledge(api, 2)
    await waiting


async def test_a_revoked_key_is_gone_from_every_gateway_before_the_answer(api: Api, client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/v1/keys", json={"name": "gone"})).json()
    publish(api, 1, made["key"])
    await acknowledge(api, 1)
    deleting = asyncio.ensure_future(client.delete(f"/api/v1/keys/{made['id']}"))
    with api.context.signals.listen("credentials") as told:
        await told.wait(5)
    await turn()
    assert not deleting.done()
    publish(api, 2)
    await acknowledge(api, 2)
    assert (await deleting).status_code == 204


@pytest.mark.parametrize("end", ["time", "stop"])
async def test_a_gateway_that_is_away_holds_nobody_up(api: Api, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    publish(api, 1)
    await acknowledge(api, 0)
    if end == "time":
        monkeypatch.setattr(settling, "PATIENCE_SECONDS", 0.0)
    else:
        api.context.stop()
    await settling.settle(api.context, digest("new"), is_valid=True)
