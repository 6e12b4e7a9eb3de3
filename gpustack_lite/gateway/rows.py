"""One request's row as a gateway writes it: the JSON of `wire.UsageRow`, in parts that are each made once.

What many requests have in common is kept as text; what one request begins with is written when it reaches an engine,
and its end when it ends.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

_UNSTORABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""No database takes a zero or half a character, and one row that it refuses would hold back the others."""
LONGEST_NAME = 200


class Row(msgspec.Struct, omit_defaults=True):
    """Field by field what `wire.UsageRow` is, which the server parses; a test holds the two together."""

    request_id: str
    model: str
    path: str
    started_at: datetime
    seconds: float
    status: int
    key_id: int | None = None
    user_id: int | None = None
    instance_id: int | None = None
    ttft_seconds: float | None = None
    cause: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    partial: bool = False
    public_name: str | None = None
    is_stream: bool = False
    queued_seconds: float | None = None
    audio_seconds: float | None = None
    images: int | None = None
    shown_id: str | None = None
    worker: str | None = None


class Common(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """The fields of a Row that many requests share."""

    model: str
    path: str
    key_id: int | None = None
    user_id: int | None = None
    instance_id: int | None = None
    public_name: str | None = None
    is_stream: bool = False
    shown_id: str | None = None
    worker: str | None = None


class End(msgspec.Struct, omit_defaults=True, gc=False):
    """Those that are known when it has ended."""

    seconds: float
    status: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    ttft_seconds: float | None = None
    cause: str | None = None
    partial: bool = False
    queued_seconds: float | None = None
    audio_seconds: float | None = None
    images: int | None = None


encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Row).decode


def decode(text: bytes) -> Row | None:
    """None for what is no row."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def begun(request_id: str, started_at: bytes, common: bytes) -> bytes:
    """All that is known at the beginning, without the brace at its end. An id of ours needs no escaping."""
    return b'{"request_id":"%s","started_at":"%s",%s' % (request_id.encode(), started_at, common)


class Commons:
    """The text of each Common, made once; without its braces."""

    def __init__(self, most: int = 1024) -> None:
        self._texts: dict[Common, bytes] = {}
        self._most = most

    def text(self, common: Common) -> bytes:
        found = self._texts.get(common)
        if found is None:
            if len(self._texts) >= self._most:
                self._texts.clear()
            found = self._texts[common] = encode(common)[1:-1]
        return found


class Stamps:
    """Times as rows spell them; of each second the text is made once."""

    def __init__(self, unix: Callable[[], float]) -> None:
        self._unix = unix
        self._second = 0
        self._text = b""

    def now(self) -> bytes:
        now = self._unix()
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
        return b"%s.%06dZ" % (self._text, (now - second) * 1e6)


def storable(name: str) -> str:
    """A name that a client made up, as far as a column takes it."""
    if name.isprintable() and len(name) <= LONGEST_NAME:
        return name
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", name[:LONGEST_NAME])
