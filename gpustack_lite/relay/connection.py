"""One client connection: sends a request, parses the answer as it arrives, and holds back a fast sender."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import httptools

from gpustack_lite.relay import chunks
from gpustack_lite.relay.failures import Cause, UpstreamFailed
from gpustack_lite.relay.heads import Field
from gpustack_lite.relay.known_answers import KnownAnswers
from gpustack_lite.relay.runs import Bell

HIGH_WATER_BYTES = 64 * 1024
HEAD_BYTES = 64 * 1024
HEAD_FIELDS = 200
Passes = Callable[[bytes, float], bool]
STATUSES = range(100, 600)
"""Outside of it there is no class, and no word to pass it on with."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a connection must stand, the head must have come, and between two reads afterwards."""

    connect_seconds: float
    first_byte_seconds: float
    idle_seconds: float


class Connection(asyncio.Protocol):
    """Used for one exchange at a time: `begin`, then `head`, then `read` until it answers with b""."""

    transport: asyncio.Transport
    deadline: float | None
    _deadline_cause: Cause

    def __init__(
        self,
        now: Callable[[], float],
        known: KnownAnswers | None = None,
        on_idle_end: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`on_idle_end` is told after how many seconds without work the other side has closed it."""
        self._now = now
        self._on_idle_end = on_idle_end
        self._known = known if known is not None else KnownAnswers()
        self._news = Bell()
        self._writable = asyncio.Event()
        self._writable.set()
        self.is_lost = False
        self.began_at = 0.0
        self.idle_since = 0.0
        self._is_busy = False
        self._first_byte_seconds = 0.0
        self._parser = httptools.HttpResponseParser(self)
        self._reset(b"GET", 0.0)

    # --- the exchange ------------------------------------------------------------------------------------------------

    def begin(self, method: bytes, parts: Sequence[bytes | bytearray | memoryview], patience: Patience) -> None:
        self._reset(method, patience.idle_seconds)
        self._is_busy = True
        self.began_at = now = self._now()
        self._first_byte_seconds = patience.first_byte_seconds
        self.deadline = now + patience.first_byte_seconds
        self._deadline_cause = "first_byte_timeout"
        if len(parts) == 1:
            self.transport.write(parts[0])
        else:
            self.transport.writelines(parts)

    def _reset(self, method: bytes, idle_seconds: float) -> None:
        self.status = 0
        self.fields: list[Field] = []
        self.is_complete = False
        self.failure: UpstreamFailed | None = None
        self.deadline = None
        self._deadline_cause = "idle_timeout"
        self._idle_seconds = idle_seconds
        self._method = method
        self._has_head = False
        self._is_interim = False
        self.is_close_delimited = False
        self._keeps_alive = False
        self._head_bytes = 0
        self._chunks: list[bytes] = []
        self._buffered_bytes = 0
        self._is_paused = False
        self._flow: Passes | None = None
        self._is_between_chunks = False
        self._is_at_edge = False
        """The parser has just seen the end of a chunk, or of a head before chunks, and nothing behind it."""

    async def write(self, data: bytes) -> None:
        """Send a piece of a body, as fast as the other side takes it. Its time to answer counts from the last piece."""
        if self.failure is not None:
            raise self.failure
        self.transport.write(data)
        await self._writable.wait()
        if not self._has_head:
            self._due(self._first_byte_seconds, "first_byte_timeout")

    async def head(self) -> None:
        """Until `status` and `fields` are those of the answer; interim answers are passed over."""
        while not self._has_head:
            self._raise_failure()
            await self._news.wait()

    async def read(self) -> bytes:
        """What has come of the body, at least a byte; b"" at its end."""
        while not self._chunks:
            if self.is_complete:
                return b""
            self._raise_failure()
            await self._news.wait()
        return self.take()

    def listen(self, heard: Callable[[], None]) -> None:
        """Instead of waiting: `heard` is called once, when there is news."""
        self._news.call(heard)

    def flow(self, passes: Passes | None) -> None:
        """Whole chunks are given to `passes` as they come, with the time, while nothing waits to be read.

        What it does not take, and all that is no whole chunk, is read as before.
        """
        self._flow = passes

    def take(self) -> bytes:
        """What has come and was not read yet, perhaps nothing."""
        if not self._chunks:
            return b""
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._buffered_bytes = 0
        if self._is_paused:
            self._resume()
        return data

    @property
    def heard_at(self) -> float:
        """When the last byte came; now, where our own reader is slow or the answer is whole."""
        return self._now() if self._is_paused or self.deadline is None else self.deadline - self._idle_seconds

    @property
    def is_reusable(self) -> bool:
        """Not while the request is still being sent: whoever answered without reading it may never do so."""
        is_whole = self.is_complete and self._keeps_alive and not self.is_lost
        return is_whole and not self._chunks and not self.transport.get_write_buffer_size()

    @property
    def is_reusable_once_read(self) -> bool:
        return self.is_complete and self._keeps_alive and not self.is_lost

    def spoil(self) -> None:
        """The request was not sent to its end: nothing can follow it."""
        self._keeps_alive = False

    def rest(self) -> None:
        """Between two exchanges. Whatever the other side sends now ends the connection."""
        self._is_busy = False
        self.deadline = None
        self.idle_since = self._now()

    def abort(self) -> None:
        self._is_busy = False
        self.deadline = None
        self.is_lost = True
        self.transport.abort()

    def check(self, now: float) -> None:
        """Give up when the deadline has passed, unless it is our own reader that is slow."""
        if self.deadline is not None and now > self.deadline and not self._is_paused and not self.is_complete:
            self._fail(self._deadline_cause)
            self._news.ring()

    # --- asyncio.Protocol --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but ancestry

    def data_received(self, data: bytes) -> None:
        if self._flow is not None and self._is_at_edge and not self._chunks and self._flows(self._flow, data):
            return
        if not self._is_busy or self.is_complete:
            self.abort()
            return
        is_fresh = not self._head_bytes and self._method == b"POST"
        if is_fresh and self._is_known(data):
            self._news.ring()
            return
        if not self._has_head:
            self._head_bytes += len(data)
        else:
            self.deadline = self._now() + self._idle_seconds
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._not_http()
        self._is_at_edge = self._is_between_chunks and data.endswith(b"\r\n")
        if not self._has_head and self._head_bytes > HEAD_BYTES:
            self._fail("head_too_large")
        if is_fresh and self.is_reusable_once_read:
            self._known.learn(data, self.status, self.fields)
        self._news.ring()

    def _flows(self, passes: Passes, data: bytes) -> bool:
        payload = chunks.payload(data)
        if payload is None or not passes(payload, now := self._now()):
            return False
        self.deadline = now + self._idle_seconds
        return True

    def _is_known(self, data: bytes) -> bool:
        """The parser need not look at it, and is left as it was: between two answers."""
        found = self._known.find(data)
        if found is None:
            return False
        self.fields, body = found
        self.status = 200
        self._has_head = self._keeps_alive = self.is_complete = True
        self._head_bytes = len(data)
        self.deadline = None
        if body:
            self._chunks.append(body)
        return True

    def _not_http(self) -> None:
        self._keeps_alive = False
        if not self.is_complete:
            self._fail("not_http")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._is_busy and not self.is_lost:
            self._on_idle_end(self._now() - self.idle_since)
        self.is_lost = True
        self._writable.set()
        if self._is_busy and not self.is_complete:
            if self.is_close_delimited and exc is None:
                self.is_complete = True
            else:
                self._fail("closed_early")
        self._news.ring()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # --- httptools' callbacks ----------------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            self.fields.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            self._is_interim = True
            self.fields = []
            return
        if status not in STATUSES:
            self._fail("not_http")
            return
        self._judge_framing(status)
        if len(self.fields) > HEAD_FIELDS:
            self._fail("head_too_large")
            return
        self.status = status
        self._has_head = True
        self.deadline = self._now() + self._idle_seconds
        self._deadline_cause = "idle_timeout"
        if self._method == b"HEAD":
            self._keeps_alive = False  # the parser would wait for the body that the head announces
            self.is_complete = True

    def _judge_framing(self, status: int) -> None:
        framing = dict(self.fields)
        coding = framing.get(b"transfer-encoding")
        if coding is not None and coding.strip().lower() != b"chunked":
            self._fail("not_http")
        has_length = coding is not None or b"content-length" in framing
        self._is_between_chunks = coding is not None
        self.is_close_delimited = not has_length and status not in {204, 304}
        self._keeps_alive = not self.is_close_delimited and self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        if self.is_complete or self.failure is not None:
            return
        self._chunks.append(body)
        self._buffered_bytes += len(body)
        if self._buffered_bytes > HIGH_WATER_BYTES and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def on_chunk_header(self) -> None:
        self._is_between_chunks = False

    def on_chunk_complete(self) -> None:
        self._is_between_chunks = True

    def on_message_complete(self) -> None:
        self._is_between_chunks = False
        if self._is_interim:
            self._is_interim = False
            return
        self.is_complete = True
        self.deadline = None

    # --- waiting and failing -----------------------------------------------------------------------------------------

    def _resume(self) -> None:
        self._is_paused = False
        self.deadline = self._now() + self._idle_seconds
        if not self.is_lost:
            self.transport.resume_reading()

    def _due(self, seconds: float, cause: Cause) -> None:
        self.deadline = self._now() + seconds
        self._deadline_cause = cause

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _fail(self, cause: Cause) -> None:
        """Whoever calls rings afterwards: the parser must not be left from inside of it."""
        if self.failure is None:
            self.failure = UpstreamFailed(cause, has_answered=self._head_bytes > 0)
        self.abort()
