"""Heads of answers that were parsed before: the same bytes have the same meaning, so nobody need parse them again.

Only what the parser has accepted is known, byte for byte, and only whole answers to POST that came in one read.
"""

from typing import NamedTuple

from gpustack_lite.relay.heads import Field

MOST_HEADS = 256
MOST_HEAD_BYTES = 1024
MOST_BODY_BYTES = 64 * 1024
_END = b"\r\n\r\n"


class KnownAnswer(NamedTuple):
    fields: list[Field]
    length: int


class KnownAnswers:
    """An engine's head changes with the second that it tells: those of past seconds are forgotten all at once."""

    def __init__(self) -> None:
        self._known: dict[bytes, KnownAnswer] = {}

    def find(self, data: bytes) -> tuple[list[Field], bytes] | None:
        """Fields and body, if `data` is exactly one answer 200 with a head that is known."""
        end = data.find(_END, 0, MOST_HEAD_BYTES) + len(_END)
        known = self._known.get(data[:end]) if end >= len(_END) else None
        return (known.fields, data[end:]) if known is not None and len(data) - end == known.length else None

    def learn(self, data: bytes, status: int, fields: list[Field]) -> None:
        """`data` was exactly one answer that lets its connection live."""
        framing = dict(fields)
        end = data.find(_END, 0, MOST_HEAD_BYTES) + len(_END)
        length = len(data) - end
        is_plain = status == 200 and b"transfer-encoding" not in framing and data.startswith(b"HTTP/1.1 200 ")
        if end < len(_END) or not is_plain or framing.get(b"content-length") != b"%d" % length:
            return
        if length <= MOST_BODY_BYTES:
            if len(self._known) >= MOST_HEADS:
                self._known.clear()
            self._known[data[:end]] = KnownAnswer(fields, length)
