"""The stream of a chat completion, as the events of a message: each chunk is told on when it comes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import Document
from gpustack_lite.gateway.anthropic import answering, errors
from gpustack_lite.gateway.anthropic.answering import array, mapping, words_of
from gpustack_lite.gateway.anthropic.fields import Json
from gpustack_lite.gateway.sse import data_of

_decode = msgspec.json.Decoder().decode
_PING = b'event: ping\ndata: {"type":"ping"}\n\n'


def encoded(event: Json) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), msgspec.json.encode(event))


def failed(error: Document) -> bytes:
    """The last event of a stream that broke; a stream has no status any more, so its error is always the service's."""
    return encoded(errors.shaped(500, error)[1])


@dataclass(slots=True)
class _Call:
    """A call of a tool under way. Its block begins when its name is known; what came before waits in `held`."""

    id: str = ""
    name: str = ""
    held: str = ""
    block: int | None = None


class Events:
    """One stream. `feed` takes an event of the engine; nothing is told after an error or after the end."""

    def __init__(self, model: str, stops: Collection[str], say: Callable[[Refusal], Document]) -> None:
        self._model = model
        self._stops = stops
        self._say = say
        self._blocks = 0
        self._open: tuple[int, str] | None = None
        self._calls: dict[int, _Call] = {}
        self._usage = answering.usage(None)
        self._finish: Json | None = None
        self._has_begun = False
        self._has_ended = False
        self.is_broken = False

    def feed(self, event: bytes) -> bytes:
        data = data_of(event)
        if not data:
            return b"" if self._has_ended else event  # a comment, which keeps a connection alive
        if self._has_ended:
            return b""
        return self._done() if data == b"[DONE]" else self._chunk(data)

    def _done(self) -> bytes:
        """An engine that says so without a reason has none: nobody makes one up."""
        self._finish = self._finish or {}
        return self.end()

    def end(self) -> bytes:
        """The engine's stream has ended in order. One that never finished its answer is no whole message."""
        if self._has_ended:
            return b""
        if not self._has_begun or self._finish is None:
            return self._fail(self._say(answering.unreadable(self._model)))
        self._has_ended = True
        delta = answering.stop(self._finish, self._stops, has_calls=bool(self._calls))
        told = {"type": "message_delta", "delta": delta, "usage": self._usage}
        return self._close() + encoded(told) + encoded({"type": "message_stop"})

    def _fail(self, error: Document) -> bytes:
        self._has_ended = self.is_broken = True
        return failed(error)

    def _chunk(self, data: bytes) -> bytes:
        chunk = _object(data)
        if chunk is None:
            return self._fail(self._say(answering.unreadable(self._model)))
        if "error" in chunk:
            return self._fail(_as_document(chunk["error"], self._say, self._model))
        if isinstance(chunk.get("usage"), dict):
            self._usage = answering.usage(chunk["usage"])
        return self._begin(chunk) + self._choice(chunk)

    def _begin(self, chunk: Json) -> bytes:
        if self._has_begun:
            return b""
        self._has_begun = True
        message = {**answering.head(chunk, self._model), "content": [], "stop_reason": None, "stop_sequence": None}
        return encoded({"type": "message_start", "message": {**message, "usage": self._usage}}) + _PING

    def _choice(self, chunk: Json) -> bytes:
        choice = mapping(next(iter(array(chunk.get("choices"))), None))
        told = self._delta(mapping(choice.get("delta")))
        if choice.get("finish_reason") is not None:
            self._finish = choice
        return told

    def _delta(self, delta: Json) -> bytes:
        told = self._grow("thinking", answering.thought_of(delta), {"signature": ""})
        told += self._grow("text", words_of(delta.get("content") or delta.get("refusal")), {})
        return told + b"".join(self._call(each) for each in array(delta.get("tool_calls")) if isinstance(each, dict))

    def _grow(self, kind: str, words: str, more: Json) -> bytes:
        if not words:
            return b""
        begun = b"" if self._open is not None and self._open[1] == kind else self._start(kind, {kind: "", **more})
        return begun + self._told({"type": f"{kind}_delta", kind: words})

    def _call(self, given: Json) -> bytes:
        at = given.get("index")
        call = self._calls.setdefault(at if isinstance(at, int) else 0, _Call())
        function = mapping(given.get("function"))
        call.id = call.id or words_of(given.get("id"))
        call.name = call.name or words_of(function.get("name"))
        arguments = call.held + words_of(function.get("arguments"))
        call.held = "" if call.name else arguments
        return self._grow_call(call, arguments) if call.name else b""

    def _grow_call(self, call: _Call, arguments: str) -> bytes:
        begun = b""
        if call.block is None:
            begun = self._start("tool_use", {"id": call.id, "name": call.name, "input": {}})
            call.block = self._blocks - 1
        if not arguments:
            return begun
        return begun + self._told({"type": "input_json_delta", "partial_json": arguments}, call.block)

    def _start(self, kind: str, fields: Json) -> bytes:
        closed = self._close()
        self._open = (self._blocks, kind)
        self._blocks += 1
        block = {"type": kind, **fields}
        return closed + encoded({"type": "content_block_start", "index": self._open[0], "content_block": block})

    def _told(self, delta: Json, block: int | None = None) -> bytes:
        index = self._blocks - 1 if block is None else block
        return encoded({"type": "content_block_delta", "index": index, "delta": delta})

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        index, self._open = self._open[0], None
        return encoded({"type": "content_block_stop", "index": index})


def _object(data: bytes) -> Json | None:
    try:
        found: Any = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _as_document(error: object, say: Callable[[Refusal], Document], model: str) -> Document:
    """What the engine said, in our own shape."""
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return {"error": {"message": error["message"], "code": str(error.get("code") or "engine_error")}}
    why = error if isinstance(error, str) else msgspec.json.encode(error).decode()
    return say(Refusal("engine_error", status=502, why=why))
