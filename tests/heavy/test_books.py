"""Ten thousand mixed requests, one in twenty cancelled, gateways killed at random: the books and the engine agree."""

from pathlib import Path

import pytest

from tests.fakes.books import Killing
from tests.heavy.conftest import Tell, rounds

pytestmark = pytest.mark.slow
FULL_KILLS = 40
REQUESTS_PER_KILL = 250


async def test_nothing_is_lost_and_nothing_counted_twice(tmp_path: Path, tell: Tell) -> None:
    kills = rounds(FULL_KILLS)
    async with Killing(tmp_path) as killing:
        await killing.run(kills * REQUESTS_PER_KILL, kills=kills, clients=24)
        await killing.settle(120)
        found = killing.differences()
        killed = [row for row in killing.server.rows.values() if row.cause == "gateway_killed"]
    tell(
        "kill -9 of one of two gateways, mixed requests, 5 % cancelled",
        requests=kills * REQUESTS_PER_KILL,
        kills=kills,
        reached_the_engine=len(killing.engine.books),
        cancelled=killing.outcomes["cancelled"],
        broken=killing.outcomes["broken"],
        rows_closed_for_the_dead=len(killed),
        rows_lost=len([each for each in found if each.endswith("lost")]),
        rows_that_differ=len(found),
    )
    assert found == []
