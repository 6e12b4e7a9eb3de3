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
_WIDTH = len(_SPELLINGS[0])


class KnownHead(NamedTuple):
    head: Head
    keep_alive: bool


class Found(NamedTuple):
    known: KnownHead
    length: int
    body: bytes


class _Parts(NamedTuple):
    """A head around the digits of its length; `end` is where its body begins."""

    around: tuple[bytes, bytes]
    digits: bytes
    end: int


class KnownHeads:
    """At most MOST_HEADS of them; they hold credentials, as everything that serves from memory does."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], KnownHead] = {}

    def find(self, data: bytes) -> Found | None:
        """The request that `data` is, if it is exactly one with a head that is known."""
        parts = _parts(data)
        known = None if parts is None else self._known.get(parts.around)
        if parts is None or known is None:
            return None
        length = int(parts.digits)
        return Found(known, length, data[parts.end :]) if len(data) - parts.end == length else None

    def learn(self, data: bytes, known: KnownHead) -> None:
        """`data` begins with the head that was parsed, or is empty."""
        parts = _parts(data)
        if parts is not None:
            if len(self._known) >= MOST_HEADS:
                self._known.clear()
            self._known[parts.around] = known


def _parts(data: bytes) -> _Parts | None:
    end = data.find(_END, 0, MOST_HEAD_BYTES)
    at = data.find(_SPELLINGS[0], 0, end)
    if at < 0:
        at = data.find(_SPELLINGS[1], 0, end)
    if end < 0 or at < 0:
        return None
    stop = data.find(b"\r", at + _WIDTH)
    digits = data[at + _WIDTH : stop]
    if not digits.isdigit() or len(digits) > MOST_DIGITS or digits[0] == 48:
        return None
    return _Parts((data[: at + _WIDTH], data[stop:end]), digits, end + len(_END))
