"""Server-sent events on their way through: whole events pass as they came, and usage nobody asked for is taken out."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from gpustack_lite.domain import Usage
from gpustack_lite.gateway import jsonspans, tokens
from gpustack_lite.gateway.rewriting import Rewriter
from gpustack_lite.relay.failures import UpstreamFailed

LONGEST_EVENT_BYTES = 4 * 1024**2
"""A longer one is passed on in pieces: nobody holds an image for the sake of a token count."""
_BOUNDARY = re.compile(rb"\r\n\r\n|\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_CONTENT = re.compile(rb'"(?:content|text|reasoning_content|reasoning|arguments|thinking|delta|partial_json)":\s?"[^"]')
"""Where chat, completions, responses and messages put what the model wrote: at least one token each time."""
_DONE = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\]")
_ERROR = re.compile(rb'(?:^|[\r\n])(?:data: ?\{\s*"error"|event: ?error[\r\n])')
_TEXT = re.compile(rb'(?:[^"\\]|\\.)*')
_BACKSLASH = ord("\\")
_NULL_USAGE_END = re.compile(rb',\s?"usage":\s?null\}(?=[\r\n])')


class Frame(NamedTuple):
    """An event that said a piece of text, around that text. `shown` is what its end became on its way."""

    before: bytes
    after: bytes
    shown: bytes
    line_feeds: int


_NONE_YET = Frame(b"\0", b"\0", b"", 0)


class EventFilter:
    """Feed what the engine sent, forward what comes back. Only an incomplete event is held."""

    def __init__(self, *, hides_usage: bool, rewriter: Rewriter | None = None) -> None:
        self._rewriter = rewriter
        self.usage: Usage | None = None
        self.content_frames = 0
        self.is_done = False
        self.has_error = False
        self._hides_usage = hides_usage
        self._held = bytearray()
        self._is_in_long_event = False
        self._frame = _NONE_YET

    def feed(self, data: bytes) -> bytes:
        if not self._held and not self._is_in_long_event and data.endswith(b"\n\n"):
            return self._as_before(data) or self._learn(data)
        searched = max(0, len(self._held) - 3)
        self._held += data
        end = _last_boundary(self._held, searched)
        if end == 0:
            return self._held_back()
        complete = bytes(self._held[:end])
        del self._held[:end]
        return self._pass(complete) if not self._is_in_long_event else self._leave_long_event(complete)

    def _as_before(self, data: bytes) -> bytes | None:
        """Events that differ from an earlier one in their text alone, and in no byte that could end that text."""
        before, after, shown, line_feeds = self._frame
        at = frames = 0
        while at < len(data):
            start = at + len(before)
            stop = data.find(b'"', start)
            is_like = data.startswith(before, at) and data.startswith(after, stop)
            if stop <= start or not is_like or data[stop - 1] == _BACKSLASH:
                return None
            at = stop + len(after)
            frames += 1
        if b"\r" in data or data.count(b"\n") != frames * line_feeds:
            return None
        self.content_frames += frames
        return data if shown is after else data.replace(after, shown)

    def _learn(self, data: bytes) -> bytes:
        frames, usage = self.content_frames, self.usage
        passed = self._pass(data)
        is_usual = self.content_frames == frames + 1 and self.usage is usage and self._rewriter is None
        if is_usual and data.find(b"\n\n") == len(data) - 2 and b"\r" not in data:
            self._frame = _frame_of(data, passed)
        return passed

    def end(self) -> bytes:
        """What is left when the engine has ended without a last blank line."""
        rest = bytes(self._held)
        self._held.clear()
        return self._pass(rest) if rest else b""

    def _held_back(self) -> bytes:
        if len(self._held) <= LONGEST_EVENT_BYTES and not self._is_in_long_event:
            return b""
        if self._rewriter is not None and self._rewriter.needs_whole:
            raise UpstreamFailed("answer_too_long", has_answered=True)
        self._is_in_long_event = True
        keep = 3  # a boundary may be cut here
        piece = bytes(self._held[:-keep])
        del self._held[:-keep]
        return piece

    def _leave_long_event(self, complete: bytes) -> bytes:
        self._is_in_long_event = False
        end = _first_boundary(complete)
        return complete[:end] + (self._pass(complete[end:]) if complete[end:] else b"")

    def _pass(self, complete: bytes) -> bytes:
        self.content_frames += len(_CONTENT.findall(complete))
        if b"[DONE]" in complete and _DONE.search(complete):
            self.is_done = True
        if b"error" in complete and _ERROR.search(complete):
            self.has_error = True
        if self._rewriter is not None and complete.find(b"\n\n") == len(complete) - 2 and b"\r" not in complete:
            return self._rewriter.event(self._account(complete))
        if self._rewriter is not None:
            return b"".join(self._rewriter.event(self._account(event)) for event in _events(complete))
        if b'"usage"' not in complete:
            return complete
        return b"".join(self._account(event) for event in _events(complete))

    def _account(self, event: bytes) -> bytes:
        """One event that may speak of usage: note it, and take it out where it was not asked for."""
        if b'"usage"' not in event:
            return event
        if self._hides_usage and _NULL_USAGE_END.search(event):
            return _NULL_USAGE_END.sub(b"}", event)
        frame = tokens.frame(data_of(event))
        if frame is None:
            return event
        if usage := tokens.of_frame(frame):
            self.usage = tokens.merged(self.usage, usage)
        if not self._hides_usage:
            return event
        return b"" if frame.choices == [] else _without_usage(event)


def _frame_of(data: bytes, passed: bytes) -> Frame:
    """Of one event with one text, that speaks of usage at most to say that there is none."""
    said = _CONTENT.search(data)
    start = said.end() - 1 if said else 0
    text = _TEXT.match(data, start)
    stop = text.end() if text else 0
    after = data[stop:]
    is_odd = b'"usage"' in _NULL_USAGE_END.sub(b"}", data) or data.count(after) > 1
    if is_odd or not passed.startswith(data[:stop]) or data[stop : stop + 1] != b'"':
        return _NONE_YET
    return Frame(data[:start], after, after if passed is data else passed[stop:], data.count(b"\n"))


def _last_boundary(data: bytearray, start: int) -> int:
    """The index behind the last blank line, 0 if there is none."""
    found = ((data.rfind(mark, start), len(mark)) for mark in (b"\n\n", b"\n\r\n", b"\r\r"))
    return max((at + length for at, length in found if at >= 0), default=0)


def _first_boundary(data: bytes) -> int:
    found = _BOUNDARY.search(data)
    return found.end() if found else len(data)


def _events(complete: bytes) -> Iterator[bytes]:
    start = 0
    for boundary in _BOUNDARY.finditer(complete):
        yield complete[start : boundary.end()]
        start = boundary.end()
    if start < len(complete):
        yield complete[start:]


def data_of(event: bytes) -> bytes:
    """The event's data lines, joined as the specification of EventSource says."""
    values = [line.removeprefix(b"data:") for line in _LINE_END.split(event) if line.startswith(b"data:")]
    return b"\n".join(value.removeprefix(b" ") for value in values)


def _without_usage(event: bytes) -> bytes:
    data = data_of(event)
    try:
        cut = _cut_member(data, b'"usage"')
    except jsonspans.NotAnObject:
        return event
    if cut is None:
        return event
    others = [line for line in _LINE_END.split(event) if line and not line.startswith(b"data:")]
    lines = others + [b"data: " + line for line in cut.split(b"\n")]
    return b"\n".join(lines) + b"\n\n"


def _cut_member(data: bytes, key: bytes) -> bytes | None:
    """The object without one member and without the comma that it needed."""
    before_end = None
    for member in jsonspans.members(data):
        if member.key == key:
            rest = data[member.value_end :]
            if before_end is not None:
                return data[:before_end] + rest
            return data[: member.start] + rest.lstrip().removeprefix(b",").lstrip()
        before_end = member.value_end
    return None


def error_event(error: object) -> bytes:
    """The last thing a client hears of a stream that broke: never an invented end."""
    return b"data: " + msgspec.json.encode(error) + b"\n\n"
