from types import SimpleNamespace
from typing import Any

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.call import ClientGone
from gpustack_lite.gateway.uploads import Uploads


class Sender:
    """Stands for a Call whose body comes in these pieces; without a last one the client leaves."""

    def __init__(self, *pieces: bytes, length: int | None = None, leaves: bool = False) -> None:
        self.content_length = length
        self.door = SimpleNamespace(awaits_body=False)
        self._pieces = list(pieces)
        self._leaves = leaves

    async def receive(self) -> tuple[bytes, bool]:
        if not self._pieces:
            raise ClientGone
        piece = self._pieces.pop(0)
        return piece, bool(self._pieces) or self._leaves


async def read(uploads: Uploads, sender: Any) -> bytes:
    with uploads.held(sender) as upload:
        return bytes(await upload.read())


async def test_a_body_is_put_together() -> None:
    assert await read(Uploads(10), Sender(b"ab", b"cd")) == b"abcd"
    assert await read(Uploads(10), Sender(b"")) == b""


@pytest.mark.parametrize(
    "sender", [Sender(b"x" * 11), Sender(b"x" * 6, b"x" * 6), Sender(b"x", length=11)], ids=["one piece", "two", "said"]
)
async def test_what_was_refused_is_not_waited_for(sender: Sender) -> None:
    with pytest.raises(Refusal):
        await read(Uploads(10), sender)
    assert not sender.door.awaits_body


@pytest.mark.parametrize(
    "sender", [Sender(b"x" * 11), Sender(b"x" * 6, b"x" * 6), Sender(b"x", length=11)], ids=["one piece", "two", "said"]
)
async def test_a_body_over_the_limit_is_refused(sender: Sender) -> None:
    uploads = Uploads(10)
    with pytest.raises(Refusal, match="request_body_too_large") as refused:
        await read(uploads, sender)
    assert (refused.value.status, refused.value.params["limit_bytes"]) == (413, 10)
    assert uploads.held_bytes == 0


async def test_all_bodies_together_are_bounded() -> None:
    uploads = Uploads(10)
    uploads.most_held_bytes = 15
    with uploads.held(Sender(b"x" * 10)) as first:  # type: ignore[arg-type]
        await first.read()
        with pytest.raises(Refusal, match="gateway_full"):
            await read(uploads, Sender(b"x" * 10))
        first.let_go()
        assert await read(uploads, Sender(b"x" * 10))
    assert uploads.held_bytes == 0


async def test_a_client_that_leaves_gives_back_what_it_held() -> None:
    uploads = Uploads(10)
    with pytest.raises(ClientGone):
        await read(uploads, Sender(b"x", leaves=True))
    assert uploads.held_bytes == 0


@pytest.mark.parametrize(
    ("held", "size", "has_room"),
    [(0, 10, True), (0, 11, False), (150, 10, True), (151, 10, False)],
    ids=["the largest", "larger", "the last", "one too many"],
)
def test_the_short_way_asks_before_it_holds(held: int, size: int, has_room: bool) -> None:
    uploads = Uploads(10)
    uploads.held_bytes = held
    assert uploads.has_room(size) is has_room
