"""Where the members of a JSON object lie in its bytes, so that one can be replaced without writing the rest anew."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_MEMBER = re.compile(rb"[ \t\r\n]*(" + STRING + rb")[ \t\r\n]*:[ \t\r\n]*", re.DOTALL)
_STRING_VALUE = re.compile(STRING, re.DOTALL)
_PLAIN_VALUE = re.compile(rb"[^ \t\r\n,}\]]+")
_NEXT_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:' + STRING + rb'[^"\[\]{}]*+)*+([\[\]{}])', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*")
Bytes = bytes | bytearray


@dataclass(frozen=True, slots=True)
class Member:
    """`key` as it is spelt, quotes included; `start` is the key's first byte; the value is [value_start, value_end)."""

    key: bytes
    start: int
    value_start: int
    value_end: int


class NotAnObject(ValueError):
    """The bytes are no valid JSON object as far as they were walked."""


def members(text: Bytes, start: int = 0) -> Iterator[Member]:
    """The members of the object that begins at `start`; what is not valid JSON is found out or not, but never loops."""
    position = _skip_space(text, start)
    if text[position : position + 1] != b"{":
        raise NotAnObject
    position = _skip_space(text, position + 1)
    while text[position : position + 1] != b"}":
        member = _member(text, position)
        yield member
        position = _skip_space(text, member.value_end)
        if text[position : position + 1] == b",":
            position = _skip_space(text, position + 1)
        elif text[position : position + 1] != b"}":
            raise NotAnObject


def elements(text: Bytes, start: int) -> Iterator[int]:
    """Where the elements of the array that begins at `start` begin."""
    position = _skip_space(text, start + 1)
    while text[position : position + 1] != b"]":
        yield position
        position = _skip_space(text, _value_end(text, position))
        if text[position : position + 1] == b",":
            position = _skip_space(text, position + 1)
        elif text[position : position + 1] != b"]":
            raise NotAnObject


def _member(text: Bytes, position: int) -> Member:
    found = _MEMBER.match(text, position)
    if found is None:
        raise NotAnObject
    return Member(bytes(found[1]), found.start(1), found.end(), _value_end(text, found.end()))


def _value_end(text: Bytes, start: int) -> int:
    first = bytes(text[start : start + 1])  # of a bytearray it would be one, which no set takes
    if first in {b"{", b"["}:
        return _nested_end(text, start)
    found = (_STRING_VALUE if first == b'"' else _PLAIN_VALUE).match(text, start)
    if found is None:
        raise NotAnObject
    return found.end()


def _nested_end(text: Bytes, start: int) -> int:
    depth = 0
    position = start
    while found := _NEXT_BRACKET.match(text, position):
        depth += 1 if found[1] in {b"{", b"["} else -1
        position = found.end()
        if depth == 0:
            return position
    raise NotAnObject


def _skip_space(text: Bytes, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def first_brace(text: Bytes) -> int:
    """The index of the `{` that opens the object."""
    return _skip_space(text, 0)
