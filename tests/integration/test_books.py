"""Nothing that reached an engine is missing in the books, whatever is killed."""

from pathlib import Path

import pytest

from tests.fakes.books import Killing

pytestmark = pytest.mark.integration


async def test_the_books_agree_with_the_engines_when_gateways_are_killed(tmp_path: Path) -> None:
    async with Killing(tmp_path) as killing:
        await killing.run(500, kills=4)
        await killing.settle()
        assert killing.differences() == []
        assert {row.cause for row in killing.server.rows.values()} >= {None, "gateway_killed", "engine_error"}
        assert len(list((tmp_path / "data" / "gateway").glob("flight.*"))) == len(killing.gateways)
