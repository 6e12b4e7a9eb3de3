"""multipart/form-data (RFC 7578) read in pieces, and strictly: what two programs could read differently is refused."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from gpustack_lite.errors import Refusal

HEAD_BYTES = 8 * 1024
PARTS = 1000
"""Starlette, on which most engines stand, takes no more."""
_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")
"""RFC 2046 section 5.1.1."""
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_PARAM = re.compile(rb"[ \t]*;[ \t]*(" + _TOKEN + rb")=(?:(" + _TOKEN + rb')|"((?:[^"\\\r\n]|\\.)*)")')
_FIELD = re.compile(rb"(" + _TOKEN + rb"):([^\r\n\0]*)")
_PLAIN_CODINGS = frozenset({b"", b"7bit", b"8bit", b"binary"})


class Part(NamedTuple):
    """The head of one part; `start` is where its content begins in the body."""

    name: str
    filename: str | None
    content_type: str
    start: int


class End(NamedTuple):
    """`at` is where the content of the part ended, exclusively."""

    at: int


Event = Part | bytes | End


def boundary_of(content_type: bytes) -> bytes:
    """
    Raises:
        Refusal: `form_boundary_bad`, or `form_charset_bad` where its texts would not be UTF-8.
    """
    kind, given = _value_and_params(content_type)
    boundaries = [value for name, value in given if name == b"boundary"]
    if kind != b"multipart/form-data" or len(boundaries) != 1 or not _BOUNDARY.fullmatch(boundaries[0]):
        raise Refusal("form_boundary_bad", param="Content-Type")
    _refuse_charset(given)
    return boundaries[0]


def _refuse_charset(params: list[tuple[bytes, bytes]]) -> None:
    if any(name == b"charset" and value.lower() not in {b"utf-8", b"us-ascii"} for name, value in params):
        raise Refusal("form_charset_bad", param="Content-Type")


def _value_and_params(text: bytes) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The value in lower case, and its parameters; an empty value where the text cannot be read."""
    value, semicolon, rest = text.partition(b";")
    params, at, text = [], 0, semicolon + rest
    while at < len(text) and (found := _PARAM.match(text, at)):
        params.append((found[1].lower(), found[2] if found[2] is not None else found[3]))
        at = found.end()
    return (b"" if text[at:].strip(b" \t;") else value.strip().lower()), params


class Reader:
    """`feed` answers with what the bytes hold: a Part, its content in pieces, its End, the next Part.

    Raises:
        Refusal: `form_malformed`, `form_part_unnamed`, `form_part_encoded`, `form_charset_bad` or
            `form_too_many_parts`; from `end`, `form_ends_early`.
    """

    def __init__(self, boundary: bytes) -> None:
        self._mark = b"\r\n--" + boundary
        self._rest = b"\r\n"  # so that the first delimiter looks like the others
        self._offset = -2
        self._parts = 0
        self._state: Literal["before", "content", "after", "head", "over"] = "before"
        self._steps: dict[str, Callable[[list[Event]], bool]] = {
            "before": self._before,
            "content": self._content,
            "after": self._after,
            "head": self._head,
            "over": self._over,
        }

    def feed(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        self._rest = self._rest + data if self._rest else data
        while self._steps[self._state](events):
            pass
        return events

    def end(self) -> None:
        if self._state != "over" or self._rest == b"\r":
            raise Refusal("form_ends_early")

    def _advance(self, count: int) -> None:
        self._rest = self._rest[count:]
        self._offset += count

    def _malformed(self) -> Refusal:
        return Refusal("form_malformed", position=max(0, self._offset))

    # --- one step each: True when another one may follow -------------------------------------------------------------

    def _before(self, _: list[Event]) -> bool:
        if not self._rest.startswith(self._mark[: len(self._rest)]):
            raise self._malformed()
        return self._passed_mark(0) if len(self._rest) >= len(self._mark) else False

    def _passed_mark(self, at: int) -> bool:
        self._advance(at + len(self._mark))
        self._state = "after"
        return True

    def _content(self, events: list[Event]) -> bool:
        at = self._rest.find(self._mark)
        safe = at if at >= 0 else len(self._rest) - len(self._mark) + 1
        if safe > 0:
            events.append(self._rest[:safe])
        if at < 0:
            self._advance(max(safe, 0))
            return False
        events.append(End(self._offset + at))
        return self._passed_mark(at)

    def _after(self, _: list[Event]) -> bool:
        """Nothing may stand behind a boundary, or a longer line would be taken for it by some."""
        if len(self._rest) < 2:
            return False
        follows = self._rest[:2]
        if follows not in {b"\r\n", b"--"}:
            raise self._malformed()
        self._state = "head" if follows == b"\r\n" else "over"
        self._advance(2)
        return True

    def _head(self, events: list[Event]) -> bool:
        at = self._rest.find(b"\r\n\r\n")
        if max(at, len(self._rest) if at < 0 else 0) > HEAD_BYTES:
            raise self._malformed()
        if at < 0:
            return False
        fields = self._fields(self._rest[:at])
        self._parts += 1
        if self._parts > PARTS:
            raise Refusal("form_too_many_parts", limit=PARTS)
        self._advance(at + 4)
        events.append(_part(fields, self._offset))
        self._state = "content"
        return True

    def _fields(self, head: bytes) -> dict[bytes, bytes]:
        fields: dict[bytes, bytes] = {}
        for line in head.split(b"\r\n"):
            found = _FIELD.fullmatch(line)
            if found is None or found[1].lower() in fields:
                raise self._malformed()
            fields[found[1].lower()] = found[2].strip(b" \t")
        return fields

    def _over(self, _: list[Event]) -> bool:
        if not b"\r\n".startswith(self._rest):
            raise self._malformed()
        return False


def _part(fields: dict[bytes, bytes], start: int) -> Part:
    kind, params = _value_and_params(fields.get(b"content-disposition", b""))
    names = [value for name, value in params if name == b"name"]
    filenames = [value for name, value in params if name in {b"filename", b"filename*"}]
    odd = any(name.startswith(b"name*") for name, _ in params) or len(dict(params)) != len(params)
    if kind != b"form-data" or len(names) != 1 or odd:
        raise Refusal("form_part_unnamed")
    if fields.get(b"content-transfer-encoding", b"").lower() not in _PLAIN_CODINGS:
        raise Refusal("form_part_encoded")
    content_type, more = _value_and_params(fields.get(b"content-type", b""))
    if not filenames:
        _refuse_charset(more)
    filename = filenames[0].decode("utf-8", "replace") if filenames else None
    return Part(_name(names[0]), filename, content_type.decode("latin-1"), start)


def _name(name: bytes) -> str:
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal("form_part_unnamed") from error
    if not text or "\\" in text or not text.isprintable():
        raise Refusal("form_part_unnamed")
    return text
