"""What the lines of a batch say, and what is written of their answers; pure."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

MOST_LINES = 50_000
"""OpenAI's bound."""
MOST_ERRORS = 100
MOST_ID_LENGTH = 512
LEAST_WAIT_SECONDS, MOST_WAIT_SECONDS = 0.5, 60.0
_WAITED_OUT = frozenset({401, 429, 503})
"""Busy, loading, asleep, out of its budget; and gateways that have not heard of this run's secret yet."""
_BROKEN = 502
MOST_BROKEN_TRIES = 6
"""An engine that died takes no more of a batch with it than the lines that bring it down each time. These tries last
a minute: longer than it takes to notice, from when on the answer is 503."""


class Line(NamedTuple):
    """Where a request stands in the file."""

    custom_id: str
    start: int
    size: int


class _Doc(msgspec.Struct):
    custom_id: str
    method: str
    url: str
    body: msgspec.Raw


class _Body(msgspec.Struct):
    stream: bool | None = None


_doc = msgspec.json.Decoder(_Doc)
_body = msgspec.json.Decoder(_Body)


@dataclass(slots=True)
class Checker:
    """Fed with the lines of a file in order. `errors` are what the batch's owner is shown; without any it may run."""

    endpoint: str
    most_line_bytes: int
    lines: list[Line] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _number: int = 0
    _offset: int = 0

    def take(self, text: bytes) -> None:
        self._number += 1
        start, self._offset = self._offset, self._offset + len(text)
        if text.strip():
            self._judge(text, start)

    def _judge(self, text: bytes, start: int) -> None:
        if len(self.lines) >= MOST_LINES:
            self._refuse("too_many_requests", limit=MOST_LINES)
        elif len(text) > self.most_line_bytes:
            self._refuse("line_too_long", limit_bytes=self.most_line_bytes)
        elif (doc := _read(text)) is None:
            self._refuse("invalid_json_line")
        elif self._is_right(doc):
            self._seen.add(doc.custom_id)
            self.lines.append(Line(doc.custom_id, start, len(text)))

    def _is_right(self, doc: _Doc) -> bool:
        before = len(self.errors)
        if not 0 < len(doc.custom_id) <= MOST_ID_LENGTH:
            self._refuse("invalid_custom_id", "custom_id", limit=MOST_ID_LENGTH)
        elif doc.custom_id in self._seen:
            self._refuse("duplicate_custom_id", "custom_id", custom_id=doc.custom_id)
        elif doc.method != "POST":
            self._refuse("invalid_method", "method")
        elif doc.url != self.endpoint:
            self._refuse("invalid_url", "url", endpoint=self.endpoint)
        elif _streams(doc.body):
            self._refuse("stream_not_supported", "body.stream")
        return len(self.errors) == before

    def _refuse(self, code: str, param: str | None = None, **params: Any) -> None:
        if len(self.errors) < MOST_ERRORS:
            self.errors.append({"code": code, "params": params, "param": param, "line": self._number})

    def end(self) -> None:
        if not self.lines and not self.errors:
            self.errors.append({"code": "empty_file", "params": {}, "param": "input_file_id", "line": None})


def _read(text: bytes) -> _Doc | None:
    try:
        text.decode("utf-8")
        doc = _doc.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return doc if bytes(doc.body).lstrip().startswith(b"{") else None


def _streams(body: msgspec.Raw) -> bool:
    try:
        return bool(_body.decode(body).stream)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False  # a stream that is no boolean is the gateway's to refuse


def body_of(text: bytes) -> bytes:
    """The request itself, as it was written."""
    return bytes(_doc.decode(text).body)


# --- answers ---------------------------------------------------------------------------------------------------------


def seconds_to_wait(status: int, retry_after: str | None, tries: int) -> float | None:
    """None when this is the line's result, for better or worse. `tries` are those that had this status before."""
    if status == _BROKEN and tries < MOST_BROKEN_TRIES:
        return 2.0**tries
    if status not in _WAITED_OUT:
        return None
    told = (
        float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else 2.0 ** min(tries, 6)
    )
    return min(max(told, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS)


def result(batch_id: str, custom_id: str, status: int, request_id: str, answer: bytes) -> bytes:
    """One line of the output file, or, for a status of 400 and above, of the error file."""
    response = {"status_code": status, "request_id": request_id, "body": _on_one_line(answer)}
    return _line(batch_id, custom_id, response, None)


def failure(batch_id: str, custom_id: str, code: str, message: str) -> bytes:
    """Of a request that got no answer."""
    return _line(batch_id, custom_id, None, {"code": code, "message": message})


def _line(batch_id: str, custom_id: str, response: object, error: object) -> bytes:
    identity = hashlib.sha256(f"{batch_id}:{custom_id}".encode()).hexdigest()[:32]
    document = {"id": f"batch_req_{identity}", "custom_id": custom_id, "response": response, "error": error}
    return msgspec.json.encode(document) + b"\n"


def _on_one_line(answer: bytes) -> msgspec.Raw | str:
    try:
        answer.decode("utf-8")
        return msgspec.Raw(msgspec.json.format(answer, indent=-1))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return answer.decode("utf-8", "replace")


class _Written(msgspec.Struct):
    custom_id: str


_written = msgspec.json.Decoder(_Written)


def custom_id_of(text: bytes) -> str | None:
    """Of a line that was written before; None for one that a kill cut short."""
    if not text.endswith(b"\n"):
        return None
    try:
        return _written.decode(text).custom_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
