"""The two lanes of Anthropic's Messages: an answer that is translated, and one that passes but for its errors."""

from collections.abc import Callable, Collection

import msgspec

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import Document
from gpustack_lite.gateway.anthropic import answering, events
from gpustack_lite.gateway.anthropic.events import Events
from gpustack_lite.gateway.rewriting import Rewriter

_decode = msgspec.json.Decoder().decode


class Translated:
    """From a chat completion. One per answer."""

    needs_whole = True

    def __init__(self, model: str, stops: Collection[str], say: Callable[[Refusal], Document]) -> None:
        self._model = model
        self._stops = stops
        self._events = Events(model, stops, say)

    @property
    def is_broken(self) -> bool:
        return self._events.is_broken

    def whole(self, body: bytes) -> bytes:
        """
        Raises:
            Refusal: 502 when it is no chat completion.
        """
        try:
            completion = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise answering.unreadable(self._model) from error
        if not isinstance(completion, dict):
            raise answering.unreadable(self._model)
        return msgspec.json.encode(answering.message(completion, self._model, self._stops))

    def event(self, event: bytes) -> bytes:
        return self._events.feed(event)

    def end(self) -> bytes:
        return self._events.end()

    def failed(self, error: Document) -> bytes:
        return events.failed(error)

    def refused(self, status: int, error: Document) -> Document:
        return error  # every error on Anthropic's paths gets its shape where it is answered


class Passed:
    """From an engine that speaks Messages itself. `inner` puts the public name in, where it is another."""

    needs_whole = False
    is_broken = False

    def __init__(self, inner: Rewriter | None = None) -> None:
        self._inner = inner

    def whole(self, body: bytes) -> bytes:
        return body if self._inner is None else self._inner.whole(body)

    def event(self, event: bytes) -> bytes:
        return event if self._inner is None else self._inner.event(event)

    def end(self) -> bytes:
        return b""

    def failed(self, error: Document) -> bytes:
        return events.failed(error)

    def refused(self, status: int, error: Document) -> Document:
        return error
