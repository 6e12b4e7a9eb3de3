import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gpustack_lite.gateway import relaying


@pytest.mark.parametrize(
    ("path", "is_hurried"), [("/api/v1/models", True), ("/api/agent/v1/join", True), ("/api/agent/v1/logs/t", False)]
)
async def test_a_body_is_hurried_while_it_is_waited_for_unless_it_is_a_log(path: str, is_hurried: bool) -> None:
    sent = asyncio.Event()

    async def receive() -> tuple[bytes, bool]:
        await sent.wait()
        return b"x", False

    call: Any = SimpleNamespace(path=path, door=SimpleNamespace(awaits_body=False), receive=receive)
    waiting = asyncio.ensure_future(relaying._receive(call))
    await asyncio.sleep(0)
    assert call.door.awaits_body is is_hurried
    sent.set()
    assert await waiting == (b"x", False)
    assert not call.door.awaits_body
