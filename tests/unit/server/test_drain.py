"""When a stopping instance's process may end."""

from datetime import timedelta
from typing import Any

import pytest

from gpustack_lite.db.tables import GatewayRow
from gpustack_lite.server.drain import is_drained
from tests.fakes.clock import START
from tests.fakes.rows import a_gateway, a_placed_instance

KNOWS = {"models_revision": 7}


@pytest.mark.parametrize(
    ("instance", "gateways", "drained"),
    [
        pytest.param({"ready_at": None}, [a_gateway()], True, id="one that never was ready ends at once"),
        pytest.param({}, [], True, id="without gateways nobody is served"),
        pytest.param({"left_routes_at_revision": None}, [], False, id="not before it left the routes"),
        pytest.param({}, [a_gateway(models_revision=6)], False, id="a gateway that does not know yet may still send"),
        pytest.param({}, [a_gateway(**KNOWS)], True, id="a gateway that knows and holds nothing"),
        pytest.param({}, [a_gateway(**KNOWS, leases={"3": 1})], False, id="a stream that still runs"),
        pytest.param({}, [a_gateway(**KNOWS, leases={"4": 1})], True, id="another instance's stream"),
        pytest.param({}, [a_gateway(**KNOWS, epoch=0)], False, id="an acknowledgement of an older epoch"),
        pytest.param({}, [a_gateway(**KNOWS), a_gateway(models_revision=1)], False, id="every gateway counts"),
        pytest.param(
            {"stopping_since": START - timedelta(seconds=300)},
            [a_gateway(**KNOWS, leases={"3": 1})],
            True,
            id="its time is over",
        ),
    ],
)
def test_drained(instance: dict[str, Any], gateways: list[GatewayRow], drained: bool) -> None:
    base = {"ready_at": START, "stopping_since": START, "left_routes_at_revision": 7}
    row = a_placed_instance(3, "stopping", **base | instance)
    assert is_drained(row, gateways, epoch=1, now=START, drain_seconds=300) is drained
