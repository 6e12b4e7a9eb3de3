"""Answers under another name or in another spelling: bytes are replaced where they must differ, and nowhere else."""

import re
from collections.abc import Iterator
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
_BRACKET = re.compile(rb"[\[{\]}]")
_DATA_LINE = re.compile(rb"(?:(?<=[\r\n])|\A)data: ?([^\r\n]*)")


class Edit(NamedTuple):
    """The bytes [start, end) become `text`."""

    start: int
    end: int
    text: bytes


class Respelling(NamedTuple):
    """`said` is the key as the engine spells it, `other` the one that it does not use; quotes included."""

    said: bytes
    other: bytes
    wanted: Wanted


def respelling(said: Spelling, wanted: Wanted) -> Respelling | None:
    """None where the engine already speaks as it is wanted."""
    if said == wanted:
        return None
    return Respelling(b'"%s"' % said.encode(), _quoted_other(said), wanted)


def _quoted_other(said: Spelling) -> bytes:
    return b'"reasoning"' if said == "reasoning_content" else b'"reasoning_content"'


class Splice:
    """A Rewriter. `model` is the public name, None where the engine uses it itself."""

    __slots__ = ("_model", "_respelling")
    needs_whole = False

    def __init__(self, model: str | None, respelling: Respelling | None) -> None:
        self._model = None if model is None else msgspec.json.encode(model)
        self._respelling = respelling

    def whole(self, body: bytes) -> bytes:
        """Also the beginning of a body that is too long to be held: what is named in it is replaced."""
        return _applied(body, self._edits(body))

    def event(self, event: bytes) -> bytes:
        if not self._concerns(event):
            return event
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

    def _edits(self, document: Bytes) -> list[Edit]:
        edits = [] if self._model is None else list(_name_edits(document, self._model))
        if self._respelling is not None and self._respelling.said in document:
            edits += answer_edits(document, self._respelling)
        return sorted(edits)


class Line(NamedTuple):
    """The value of one data line and where it begins in its event."""

    start: int
    text: bytes


def _applied(text: bytes, edits: list[Edit]) -> bytes:
    if not edits:
        return text
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


def _name_edits(document: Bytes, name: bytes) -> Iterator[Edit]:
    at = document.find(_MODEL)
    if at < 0:
        return
    if (quick := _only_name(document, at)) is not None:
        yield Edit(*quick, name)
        return
    try:
        for member in jsonspans.members(document):
            if member.key == _MODEL:
                yield from _if_text(document, member, name)
            elif member.key in _HOLDERS and document[member.value_start : member.value_start + 1] == b"{":
                for inner in jsonspans.members(document, member.value_start):
                    if inner.key == _MODEL:
                        yield from _if_text(document, inner, name)
    except NotAnObject:
        return


def _only_name(document: Bytes, at: int) -> tuple[int, int] | None:
    """The span of its value, where one look shows that this key is the outermost object's and the only one.

    That is so when a single bracket is open before it, or a single one is left to be closed behind it.
    """
    if document.find(_MODEL, at + 1) >= 0:
        return None
    span = jsonspans.text_value(document, at)
    if span is None:
        return None
    is_outermost = _count(document, 0, at) == 1 or _count(document, span[1], len(document)) == 1
    return span if is_outermost else None


def _count(document: Bytes, start: int, end: int) -> int:
    """How many brackets, up to two."""
    first = _BRACKET.search(document, start, end)
    return 0 if first is None else 1 if _BRACKET.search(document, first.end(), end) is None else 2


def _if_text(document: Bytes, member: Member, name: bytes) -> Iterator[Edit]:
    if document[member.value_start : member.value_start + 1] == b'"':
        yield Edit(member.value_start, member.value_end, name)


# --- reasoning -------------------------------------------------------------------------------------------------------


def answer_edits(document: Bytes, spelt: Respelling) -> list[Edit]:
    """For choices[].delta and choices[].message of a chat completion."""
    try:
        return [edit for talker in _talkers(document) for edit in _respelt(document, talker, spelt)]
    except NotAnObject:
        return []


def _talkers(document: Bytes) -> Iterator[int]:
    for choice in _objects(document, b'"choices"'):
        for member in jsonspans.members(document, choice):
            if member.key in _TALKERS and document[member.value_start : member.value_start + 1] == b"{":
                yield member.value_start


def _objects(document: Bytes, key: bytes) -> Iterator[int]:
    """Where the objects in the array of this name begin."""
    for member in jsonspans.members(document):
        if member.key == key and document[member.value_start : member.value_start + 1] == b"[":
            for start in jsonspans.elements(document, member.value_start):
                if document[start : start + 1] == b"{":
                    yield start


def _respelt(document: Bytes, start: int, spelt: Respelling) -> list[Edit]:
    inner = list(jsonspans.members(document, start))
    said = next((each for each in inner if each.key == spelt.said), None)
    if said is None:
        return []
    if any(each.key == spelt.other for each in inner):
        return [] if spelt.wanted == "both" else [_cut(inner, said)]
    if spelt.wanted != "both":
        return [Edit(said.start, said.start + len(said.key), spelt.other)]
    copy = spelt.other + document[said.start + len(said.key) : said.value_end]
    return [Edit(said.value_end, said.value_end, b"," + bytes(copy))]


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
    spelt = Respelling(_quoted_other(reads), b'"%s"' % reads.encode(), reads)
    try:
        edits = [edit for message in _objects(body, b'"messages"') for edit in _respelt(body, message, spelt)]
    except NotAnObject:
        return body
    return _applied(body, edits)


# --- the choice ------------------------------------------------------------------------------------------------------


def splice_for(name: str, endpoint: Endpoint, route: ModelRoute, path: str, default: Wanted) -> Splice | None:
    """None, and no work at all, where the engine's own words are what the client is to see."""
    respelt = None
    if path == CHAT and (said := route.abilities.get("spelling")) is not None:
        respelt = respelling(said, route.serving.reasoning or default)
    if respelt is None and endpoint.served_name == name:
        return None
    return Splice(None if endpoint.served_name == name else name, respelt)
