"""Heads of requests that were parsed before: the same bytes have the same meaning, so nobody need parse them again.

Nothing is parsed here. Only what the strict parser has accepted is known, byte for byte; the one thing that may differ
is the number behind Content-Length, and of it only plain digits are taken.
"""

from typing import NamedTuple

from gpustack_lite.gateway.call import Head

MOST_HEADS = 1024
MOST_HEAD_BYTES = 2048
MOST_DIGITS = 6
_END = b"\r\n\r\n"
_SPELLINGS = (b"\r\nContent-Length: ", b"\r\ncontent-length: ")
_ZERO = ord("0")
_WIDTH = len(_SPELLINGS[0])


class KnownHead(NamedTuple):
    head: Head
    keep_alive: bool


class KnownHeads:
    """At most MOST_HEADS of them; they hold credentials, as everything that serves from memory does."""

    def __init__(self) -> None:
        self._known: dict[bytes, KnownHead] = {}

    def find(self, data: bytes) -> tuple[KnownHead, bytes] | None:
        """The request that `data` is, if it is exactly one with a head that is known."""
        around, start, length = _parts(data)
        known = self._known.get(around)
        return (known, data[start:]) if known is not None and len(data) - start == length else None

    def learn(self, data: bytes, known: KnownHead) -> None:
        """`data` begins with the head that was parsed, or is empty."""
        around, _, _ = _parts(data)
        if around:
            if len(self._known) >= MOST_HEADS:
                self._known.clear()
            self._known[around] = known


_NONE = (b"", 0, 0)


def _parts(data: bytes) -> tuple[bytes, int, int]:
    """The head without the digits of its length, where its body begins, and the length; or nothing."""
    end = data.find(_END, 0, MOST_HEAD_BYTES)
    at = data.find(_SPELLINGS[0], 0, end)
    if at < 0:
        at = data.find(_SPELLINGS[1], 0, end)
    if end < 0 or at < 0:
        return _NONE
    start = at + _WIDTH
    stop = data.find(b"\r", start)
    digits = data[start:stop]
    if not digits.isdigit() or len(digits) > MOST_DIGITS or digits[0] == _ZERO:
        return _NONE
    return data[:start] + data[stop:end], end + len(_END), int(digits)
