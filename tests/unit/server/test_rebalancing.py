"""What is to be done next about a move."""

from typing import Any

import pytest

from gpustack_lite.server.rebalancing import Todo, todo
from tests.fakes.rows import an_instance

MOVE = {"instance": 1, "begun": False, "replacement": None, "stops_first": False}
BEGUN = MOVE | {"begun": True, "replacement": 2}
STOPS = MOVE | {"stops_first": True}


@pytest.mark.parametrize(
    ("move", "states", "waits", "expected"),
    [
        pytest.param(MOVE, {1: "ready"}, True, "begin", id="its turn has come"),
        pytest.param(MOVE, {1: "ready"}, False, "over", id="nobody waits for the room any more"),
        pytest.param(MOVE, {1: "stopping"}, True, "wait", id="it ends by itself"),
        pytest.param(MOVE, {}, True, "next", id="it has ended by itself"),
        pytest.param(BEGUN, {1: "ready", 2: "starting"}, True, "wait", id="the successor loads"),
        pytest.param(BEGUN, {1: "stopping", 2: "ready"}, True, "wait", id="the old one is drained"),
        pytest.param(BEGUN, {2: "ready"}, True, "next", id="the old one is gone"),
        pytest.param(BEGUN, {1: "ready"}, True, "fail", id="the successor is gone"),
        pytest.param(BEGUN, {1: "ready", 2: "stopping"}, True, "fail", id="the successor leaves"),
        pytest.param(STOPS, {1: "ready"}, True, "begin", id="one that stops first"),
        pytest.param(STOPS | {"begun": True}, {1: "stopping"}, True, "wait", id="it is being stopped"),
        pytest.param(STOPS | {"begun": True}, {}, True, "next", id="it is stopped"),
        pytest.param(None, {}, True, "over", id="after the last"),
    ],
)
def test_the_next_thing_follows_from_what_is_there(
    move: dict[str, Any] | None, states: dict[int, str], waits: bool, expected: Todo
) -> None:
    assert todo(move, {id_: an_instance(id_, state) for id_, state in states.items()}, waits=waits) == expected
