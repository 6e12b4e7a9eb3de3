"""Answers under another name or in another spelling: bytes are replaced where they must differ, and nowhere else."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from gpustack_lite.domain import Spelling
from gpustack_lite.gateway import jsonspans
from gpustack_lite.gateway.answers import Document
from gpustack_lite.gateway.jsonspans import Bytes, Member, NotAnObject
from gpustack_lite.gateway.sse import error_event
from gpustack_lite.wire import Endpoint, ModelRoute

Wanted = Literal["reasoning_content", "reasoning", "both"]
CHAT = "/v1/chat/completions"
_MODEL = b'"model"'
_HOLDERS = frozenset({b'"response"', b'"message"'})
"""Where the responses API and Anthropic's message_start name the model."""
_TALKERS = frozenset({b'"delta"', b'"message"'})
_NAMED = re.compile(_MODEL + rb"\s*+:\s*+(" + jsonspans.STRING + rb")")
_DATA = b"data: "
_DATA_LINE = re.compile(rb"(?:(?<=[\r\n])|\A)data: ?([^\r\n]*)")


class Edit(NamedTuple):
    """The bytes [start, end) become `text`."""

    start: int
    end: int
    text: bytes


class Respelling(NamedTuple):
    """`said` is the key as the engine spells it, `other` the one that it does not use; quotes included.

    `usual` finds it as engines nearly always write it, without a walk through the whole document.
    """

    said: bytes
    other: bytes
    wanted: Wanted
    usual: re.Pattern[bytes]


def respelling(said: Spelling, wanted: Wanted) -> Respelling | None:
    """None where the engine already speaks as it is wanted."""
    if said == wanted:
        return None
    return Respelling(b'"%s"' % said.encode(), _quoted_other(said), wanted, _usual(said))


@lru_cache
def _usual(said: Spelling) -> re.Pattern[bytes]:
    """The key in the first choice's delta or message, where no bracket but those that lead to it stands before it."""
    scalar = rb"(?:" + jsonspans.STRING + rb"|[^\s,\[\]{}\"]++)"
    return re.compile(
        rb'\s*\{[^\[\]{}]*"choices"\s*:\s*\[\s*\{[^\[\]{}]*"(?:delta|message)"\s*:\s*\{\s*'
        rb"(?:" + jsonspans.STRING + rb"\s*:\s*" + scalar + rb"\s*,\s*)*?"
        rb'("' + said.encode() + rb'")\s*:\s*(' + jsonspans.STRING + rb"|null)",
        re.DOTALL,
    )


def _quoted_other(said: Spelling) -> bytes:
    return b'"reasoning"' if said == "reasoning_content" else b'"reasoning_content"'


class Splice:
    """A Rewriter. `model` is the public name, None where the engine uses it itself."""

    __slots__ = ("_model", "_respelling")
    needs_whole = False
    is_broken = False

    def __init__(self, model: str | None, respelling: Respelling | None) -> None:
        self._model = None if model is None else msgspec.json.encode(model)
        self._respelling = respelling

    def whole(self, body: bytes) -> bytes:
        """Also the beginning of a body that is too long to be held: what is named in it is replaced."""
        return _applied(body, self._edits(body))

    def event(self, event: bytes) -> bytes:
        if not self._concerns(event):
            return event
        if event.startswith(_DATA) and event.find(b"\n") == len(event) - 2 and b"\r" not in event:
            return _applied(event, self._edits(event, len(_DATA)))
        lines = [Line(found.start(1), found[1]) for found in _DATA_LINE.finditer(event)]
        if len(lines) == 1:
            return _applied(event, [_moved(edit, lines[0].start) for edit in self._edits(lines[0].text)])
        return _applied(
            event, [_in_lines(edit, lines) for edit in self._edits(b"\n".join(each.text for each in lines))]
        )

    def end(self) -> bytes:
        return b""

    def failed(self, error: Document) -> bytes:
        return error_event(error)

    def refused(self, status: int, error: Document) -> Document:
        return error

    def _concerns(self, text: bytes) -> bool:
        """A key in quotes is found in no JSON string, because quotes are escaped there."""
        if self._model is not None and _MODEL in text:
            return True
        return self._respelling is not None and self._respelling.said in text

    def _edits(self, document: Bytes, start: int = 0) -> list[Edit]:
        """`start` is where the JSON begins."""
        edits = [] if self._model is None else _name_edits(document, start, self._model)
        if self._respelling is not None and self._respelling.said in document:
            edits += answer_edits(document, start, self._respelling)
        return edits if len(edits) < 2 else sorted(edits)


class Line(NamedTuple):
    """The value of one data line and where it begins in its event."""

    start: int
    text: bytes


def _applied(text: bytes, edits: list[Edit]) -> bytes:
    if not edits:
        return text
    if len(edits) == 1:
        start, end, new = edits[0]
        return text[:start] + new + text[end:]
    pieces, last = [], 0
    for edit in edits:
        pieces += [text[last : edit.start], edit.text]
        last = edit.end
    return b"".join([*pieces, text[last:]])


def _moved(edit: Edit, by: int) -> Edit:
    return Edit(edit.start + by, edit.end + by, edit.text)


def _in_lines(edit: Edit, lines: list[Line]) -> Edit:
    """A line break that JSON had between two tokens was one of the event: in what is put in it becomes a space."""
    return Edit(_in_event(edit.start, lines), _in_event(edit.end, lines), edit.text.replace(b"\n", b" "))


def _in_event(position: int, lines: list[Line]) -> int:
    joined = 0
    for line in lines[:-1]:
        if position <= joined + len(line.text):
            return line.start + position - joined
        joined += len(line.text) + 1
    return lines[-1].start + position - joined


# --- the model's name ------------------------------------------------------------------------------------------------


def _name_edits(document: Bytes, start: int, name: bytes) -> list[Edit]:
    at = document.find(_MODEL, start)
    if at < 0:
        return []
    found = _NAMED.match(document, at)
    if found is not None and _is_outermost(document, start, at, found.end()):
        return [Edit(found.start(1), found.end(1), name)]
    return list(_walked_names(document, start, name))


def _is_outermost(document: Bytes, start: int, at: int, end: int) -> bool:
    """Whether one look shows that the only key of its name, between `at` and `end` with its value, is not nested.

    That is so when a single bracket is open before it, or a single one is left to be closed behind it.
    """
    if document.find(_MODEL, end) >= 0:
        return False
    if document.count(b"{", start, at) == 1 and document.find(b"[", start, at) < 0:
        return True
    return document.count(b"}", end) == 1 and document.find(b"]", end) < 0


def _walked_names(document: Bytes, start: int, name: bytes) -> Iterator[Edit]:
    try:
        for member in jsonspans.members(document, start):
            if member.key == _MODEL:
                yield from _if_text(document, member, name)
            elif member.key in _HOLDERS and document[member.value_start : member.value_start + 1] == b"{":
                for inner in jsonspans.members(document, member.value_start):
                    if inner.key == _MODEL:
                        yield from _if_text(document, inner, name)
    except NotAnObject:
        return


def _if_text(document: Bytes, member: Member, name: bytes) -> Iterator[Edit]:
    if document[member.value_start : member.value_start + 1] == b'"':
        yield Edit(member.value_start, member.value_end, name)


# --- reasoning -------------------------------------------------------------------------------------------------------


def answer_edits(document: Bytes, start: int, spelt: Respelling) -> list[Edit]:
    """For choices[].delta and choices[].message of a chat completion."""
    found = spelt.usual.match(document, start)
    if found is not None and document.find(spelt.said, found.end()) < 0 and spelt.other not in document:
        return [_spelt_otherwise(document, spelt, found.start(1), found.end(2))]
    try:
        return [edit for talker in _talkers(document, start) for edit in _respelt(document, talker, spelt)]
    except NotAnObject:
        return []


def _spelt_otherwise(document: Bytes, spelt: Respelling, start: int, end: int) -> Edit:
    """For the member from `start` to `end`, the only one of the two that is there."""
    key_end = start + len(spelt.said)
    if spelt.wanted != "both":
        return Edit(start, key_end, spelt.other)
    return Edit(end, end, b"," + spelt.other + bytes(document[key_end:end]))


def _talkers(document: Bytes, start: int) -> Iterator[int]:
    for choice in _objects(document, start, b'"choices"'):
        for member in jsonspans.members(document, choice):
            if member.key in _TALKERS and document[member.value_start : member.value_start + 1] == b"{":
                yield member.value_start


def _objects(document: Bytes, start: int, key: bytes) -> Iterator[int]:
    """Where the objects in the array of this name begin."""
    for member in jsonspans.members(document, start):
        if member.key == key and document[member.value_start : member.value_start + 1] == b"[":
            for at in jsonspans.elements(document, member.value_start):
                if document[at : at + 1] == b"{":
                    yield at


def _respelt(document: Bytes, start: int, spelt: Respelling) -> list[Edit]:
    inner = list(jsonspans.members(document, start))
    said = next((each for each in inner if each.key == spelt.said), None)
    if said is None:
        return []
    if any(each.key == spelt.other for each in inner):
        return [] if spelt.wanted == "both" else [_cut(inner, said)]
    return [_spelt_otherwise(document, spelt, said.start, said.value_end)]


def _cut(inner: list[Member], gone: Member) -> Edit:
    """The member with the comma that it needed; it is not the only one."""
    at = inner.index(gone)
    if at == 0:
        return Edit(gone.start, inner[1].start, b"")
    return Edit(inner[at - 1].value_end, gone.value_end, b"")


def is_misspelt(body: Bytes, reads: Spelling) -> bool:
    """Whether a request may hold reasoning in the spelling that its engine does not read."""
    return _quoted_other(reads) in body


def as_read(body: bytes, reads: Spelling) -> bytes:
    """The request with the reasoning in messages[] as the engine reads it, whichever spelling the client used."""
    said: Spelling = "reasoning" if reads == "reasoning_content" else "reasoning_content"
    spelt = Respelling(_quoted_other(reads), b'"%s"' % reads.encode(), reads, _usual(said))
    try:
        edits = [edit for message in _objects(body, 0, b'"messages"') for edit in _respelt(body, message, spelt)]
    except NotAnObject:
        return body
    return _applied(body, edits)


# --- the choice ------------------------------------------------------------------------------------------------------


def splice_for(name: str, endpoint: Endpoint, route: ModelRoute, path: str, default: Wanted) -> Splice | None:
    """None, and no work at all, where the engine's own words are what the client is to see."""
    respelt = None
    if path == CHAT and (said := route.abilities.get("spelling")) is not None:
        respelt = respelling(said, route.serving.reasoning or default)
    is_same = endpoint.served_name == name or name in route.adapters
    if respelt is None and is_same:
        return None
    return Splice(None if is_same else name, respelt)
