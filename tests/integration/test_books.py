"""Nothing that reached an engine is missing in the books, whatever is killed."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.books import Killing
from tests.fakes.gateway_world import KEY, World
from tests.fakes.route_server import credential

pytestmark = pytest.mark.integration


async def test_the_books_agree_with_the_engines_when_gateways_are_killed(tmp_path: Path) -> None:
    async with Killing(tmp_path) as killing:
        await killing.run(500, kills=4)
        await killing.settle()
        assert killing.differences() == []
        assert {row.cause for row in killing.server.rows.values()} >= {None, "gateway_killed", "engine_error"}
        assert len(list((tmp_path / "data" / "gateway").glob("flight.*"))) == len(killing.gateways)


async def test_who_is_refused_can_ask_why_with_the_id_that_he_saw(tmp_path: Path) -> None:
    expired = credential("late", id=3, expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    async with World(tmp_path) as world:
        await world.server.publish(credentials=(credential(KEY), expired))
        await world.chat(model="nobody")
        late = {"Authorization": "Bearer late", "X-Request-ID": "mine"}
        await world.client.post("/v1/chat/completions", json=world.body(), headers=late)
        await world.client.post("/v1/chat/completions", json=world.body(), headers={"Authorization": "Bearer unknown"})
        await world.chat()
        await world.server.until(lambda: len(world.server.rows) >= 3)
        found = {(row.status, row.cause, row.key_id, row.instance_id is None) for row in world.server.rows.values()}
        assert found == {
            (404, "model_not_found", 1, True),
            (401, "expired_api_key", 3, True),
            (200, None, 1, False),
        }
        assert [row.shown_id for row in world.server.rows.values() if row.status == 401] == ["mine"]
