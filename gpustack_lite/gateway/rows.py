"""One request's row as a gateway writes it: the JSON of `wire.UsageRow`, made in about a microsecond."""

import re
from datetime import datetime

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


encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Row).decode


def decode(text: bytes) -> Row | None:
    """None for what is no row."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def storable(name: str) -> str:
    """A name that a client made up, as far as a column takes it."""
    if name.isprintable() and len(name) <= LONGEST_NAME:
        return name
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", name[:LONGEST_NAME])
