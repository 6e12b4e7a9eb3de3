import json
from typing import Any

import pytest

from gpustack_lite.gateway.freshness import Freshness
from gpustack_lite.gateway.health import Health
from gpustack_lite.relay.failures import UpstreamFailed
from tests.fakes.clock import ManualClock

AWAY = UpstreamFailed("connect_failed")
READY, WAITING = (200, b'{"ready": true}'), (503, b'{"ready": false, "waiting_for": "worker"}')


class Asked:
    """Stands for the Call and for the server at once."""

    def __init__(self, *answers: tuple[int, bytes] | UpstreamFailed) -> None:
        self._answers = list(answers)
        self.said: list[tuple[int, dict[str, Any]]] = []

    async def ask(self, *_: object, **__: object) -> tuple[int, bytes]:
        answer = self._answers.pop(0)
        if isinstance(answer, UpstreamFailed):
            raise answer
        return answer

    async def answer_json(self, status: int, document: dict[str, Any]) -> None:
        self.said.append((status, json.loads(json.dumps(document))))


async def statuses(freshness: Freshness, *answers: tuple[int, bytes] | UpstreamFailed) -> list[int]:
    asked = Asked(*answers)
    health = Health(freshness, asked)  # type: ignore[arg-type]
    for _ in answers:
        await health.ready(asked)  # type: ignore[arg-type]
    return [status for status, _ in asked.said]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([WAITING, READY], [503, 200], id="the first worker is waited for"),
        pytest.param([READY, WAITING, AWAY], [200, 200, 200], id="later good routes are enough"),
        pytest.param([AWAY], [200], id="a dead server does not stop a gateway that has routes"),
        pytest.param([(200, b"nonsense")], [200], id="an answer that nobody understands"),
    ],
)
async def test_a_gateway_with_good_routes_is_ready_when_it_can_serve(
    answers: list[tuple[int, bytes] | UpstreamFailed], expected: list[int]
) -> None:
    freshness = Freshness(ManualClock().monotonic, 60)
    freshness.confirm()
    assert await statuses(freshness, *answers) == expected


async def test_without_routes_it_is_not_ready_whatever_the_server_says() -> None:
    assert await statuses(Freshness(ManualClock().monotonic, 60), READY) == [503]
