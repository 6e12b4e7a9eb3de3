"""How long audio is and how many images there are, from what passes; None where it is not said."""

import struct

import msgspec

WAV_HEAD_BYTES = 4096
"""The header stands within them, unless a program wrote a long comment before the sound."""
_UNKNOWN_LENGTH = frozenset({0, 0xFFFFFFFF, 0x7FFFFFFF})
"""What programs write that begin before they know how long it will be."""
_MOST_SECONDS = 10_000_000.0
_LINES = frozenset({"/v1/audio/transcriptions", "/v1/audio/translations"})
_IMAGES = "/v1/images/"
_IMAGE_KEYS = (b'"b64_json"', b'"url"')
BINARY = (b"audio/", b"image/", b"video/", b"application/octet-stream")
"""Content types of answers that are sent on as they come."""


class _Spent(msgspec.Struct):
    seconds: float | None = None


class _Said(msgspec.Struct):
    duration: float | str | None = None
    usage: _Spent | None = None


_said = msgspec.json.Decoder(_Said)


def wav_seconds(head: bytes, length: int) -> float | None:
    """From the RIFF header (Microsoft, 1991: chunks `fmt ` and `data`) and the length of the whole file."""
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        return None
    at, bytes_per_second = 12, 0
    while at + 8 <= len(head):
        kind, size = head[at : at + 4], int.from_bytes(head[at + 4 : at + 8], "little")
        if kind == b"fmt " and size >= 12 and at + 20 <= len(head):
            (bytes_per_second,) = struct.unpack_from("<I", head, at + 16)
        if kind == b"data":
            sound = length - at - 8 if size in _UNKNOWN_LENGTH else min(size, length - at - 8)
            return _sane(sound / bytes_per_second) if bytes_per_second else None
        at += 8 + size + size % 2
    return None


def said_seconds(path: str, answer: bytes | bytearray) -> float | None:
    """Of a transcription: `usage.seconds`, else `duration`, a number or a text that is one."""
    if path not in _LINES:
        return None
    try:
        said = _said.decode(answer)
        if said.usage is not None and said.usage.seconds is not None:
            return _sane(said.usage.seconds)
        return None if said.duration is None else _sane(float(said.duration))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return None


def _sane(seconds: float) -> float | None:
    return round(seconds, 3) if 0 <= seconds <= _MOST_SECONDS else None


class ImageCount:
    """Counts the images of an answer without holding it: they are longer than what may be held."""

    def __init__(self, path: str) -> None:
        self._is_counting = path.startswith(_IMAGES)
        self._tails = [b"" for _ in _IMAGE_KEYS]
        self._counts = [0 for _ in _IMAGE_KEYS]

    def feed(self, data: bytes | bytearray) -> None:
        """A key within a text would be escaped, and base64 holds no quotation marks."""
        if not self._is_counting:
            return
        for index, key in enumerate(_IMAGE_KEYS):
            seen = self._tails[index] + data
            self._counts[index] += seen.count(key)
            self._tails[index] = bytes(seen[-len(key) + 1 :])

    @property
    def images(self) -> int | None:
        return max(self._counts) if self._is_counting else None
