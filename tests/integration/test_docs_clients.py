"""The page about clients: each of its blocks runs as it stands there, with our address, key and model."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.gateway_world import KEY, World
from tests.fakes.openai_shapes import engine

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CURLS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("gateway")) as one:
        one.engine.script = engine
        yield one


async def said(world: World, *command: str) -> str:
    env = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    ours = [
        part.replace("http://127.0.0.1:9090", world.gateway.url).replace("gpl_...", KEY).replace("qwen", "tiny")
        for part in command
    ]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*ours, stdout=pipe, stderr=pipe, env=env)
    async with asyncio.timeout(100):
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return out.decode()


async def test_the_python_of_the_page_runs(world: World) -> None:
    answers = await asyncio.gather(*(said(world, sys.executable, "-c", each) for each in SNIPPETS))
    assert [answer.count("Hello 你好") for answer in answers] == [2, 2, 2]


async def test_the_curls_of_the_page_run(world: World) -> None:
    stream, message, ranking, models = [await said(world, "bash", "-c", line) for line in CURLS]
    assert "data: [DONE]" in stream
    assert '"stop_reason":"end_turn"' in message
    assert '"relevance_score"' in ranking
    assert '"id":"tiny"' in models
