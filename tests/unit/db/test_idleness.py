"""When a model may sleep."""

from datetime import timedelta
from typing import Any

import pytest

from gpustack_lite.db.idleness import is_use_news, may_sleep, sleep_after
from gpustack_lite.db.tables import GatewayRow, ModelInstance
from tests.fakes.clock import START
from tests.fakes.rows import a_gateway, a_model, an_instance


def ago(seconds: float) -> Any:
    return START - timedelta(seconds=seconds)


LONG_AGO = ago(100_000)
SLEEPER = a_model(serving={"sleep_after_seconds": 60}, created_at=LONG_AGO, used_at=ago(76))
READY = an_instance(3, "ready", ready_at=LONG_AGO)


def test_a_model_that_nobody_uses_sleeps_and_it_is_known_for_how_long() -> None:
    found = may_sleep(SLEEPER, [READY], [a_gateway()], START, LONG_AGO)
    assert found is not None
    assert found.seconds == 76


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"serving": {}}, id="never allowed"),
        pytest.param({"serving": {"sleep_after_seconds": 60, "pinned": True}}, id="pinned"),
        pytest.param({"used_at": ago(74)}, id="used, maybe, a quarter later than was written"),
        pytest.param({"created_at": ago(10), "used_at": None}, id="just made"),
        pytest.param({"asleep": True}, id="asleep already"),
        pytest.param({"stopped": True}, id="stopped"),
    ],
)
def test_others_do_not(given: dict[str, Any]) -> None:
    base = {"serving": {"sleep_after_seconds": 60}, "created_at": LONG_AGO, "used_at": ago(76)}
    assert may_sleep(a_model(**base | given), [READY], [], START, LONG_AGO) is None


@pytest.mark.parametrize(
    ("instances", "gateways"),
    [
        pytest.param([], [], id="nothing is there"),
        pytest.param([READY, an_instance(4, "starting")], [], id="a replica loads"),
        pytest.param([READY, an_instance(4, "pending")], [], id="a replica waits for room"),
        pytest.param([READY, an_instance(4, "failed")], [], id="a replica is tried again"),
        pytest.param([READY, an_instance(4, "unhealthy")], [], id="a replica may recover"),
        pytest.param([an_instance(4, "failed", gave_up=True)], [], id="all gave up, which a person should see"),
        pytest.param([an_instance(3, "ready", ready_at=ago(20))], [], id="ready for a moment only"),
        pytest.param([READY], [a_gateway(leases={"3": 1})], id="a request is in flight"),
        pytest.param([READY], [a_gateway(queued={"m": 1})], id="a request waits"),
        pytest.param([READY], [a_gateway(seen_at=ago(16))], id="a gateway is silent and may be serving"),
    ],
)
def test_what_loads_or_is_wanted_stays(instances: list[ModelInstance], gateways: list[GatewayRow]) -> None:
    assert may_sleep(SLEEPER, instances, gateways, START, LONG_AGO) is None


def test_a_server_that_has_just_begun_does_not_know_what_was_used_before() -> None:
    assert may_sleep(SLEEPER, [READY], [], START, ago(10)) is None


def test_one_that_gave_up_does_not_keep_the_others_awake() -> None:
    assert may_sleep(SLEEPER, [READY, an_instance(4, "failed", gave_up=True)], [], START, LONG_AGO) is not None


def test_a_use_is_written_down_now_and_then() -> None:
    assert is_use_news(a_model(serving={"sleep_after_seconds": 60}), START)
    assert is_use_news(a_model(serving={"sleep_after_seconds": 60}, used_at=ago(15)), START)
    assert not is_use_news(a_model(serving={"sleep_after_seconds": 60}, used_at=ago(14)), START)
    assert not is_use_news(a_model(), START)
    assert sleep_after(a_model()) is None
