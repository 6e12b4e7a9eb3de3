"""uvicorn's connection with the bounds that it lacks, and with a word to the request when its client leaves."""

import asyncio
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import httptools
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import answers

HEAD_BYTES = 16 * 1024
HEAD_FIELDS = 100
TARGET_BYTES = 8 * 1024
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
BODY_BYTES_PER_SECOND = 1024
"""Over any BODY_SECONDS in which a body is waited for: less than that is somebody who holds a place."""
KEEP_ALIVE_SECONDS = 30
_FAR_AWAY_BYTES = 1 << 62
_NOWHERE: Any = deque[tuple[bytes, bytes]](maxlen=0)
_METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
_HOST = re.compile(rb"[A-Za-z0-9._~:\[\]-]*")
_REASONS = {
    400: b"Bad Request",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    414: b"URI Too Long",
    431: b"Request Header Fields Too Large",
    503: b"Service Unavailable",
    505: b"HTTP Version Not Supported",
}


class Leavable(Protocol):
    """A task, or what is like one."""

    def cancel(self) -> object: ...


class Ride(Protocol):
    """A request that goes without ASGI. To uvicorn it looks like a RequestResponseCycle, as far as uvicorn looks."""

    response_started: bool
    response_complete: bool
    disconnected: bool
    keep_alive: bool

    def take(self, body: bytes) -> None: ...
    def is_whole(self) -> None: ...

    def go_on(self) -> None:
        """What has arrived may be used now."""

    def has_room(self) -> None:
        """The client takes bytes again."""


class Lane(Protocol):
    def recognise(self, door: "Door", data: bytes) -> Ride | None:
        """A whole request whose head has the same bytes as one that was parsed before."""

    def take(self, door: "Door") -> Ride | None:
        """The request whose head has come, or None when it is one for ASGI."""


@dataclass(slots=True)
class House:
    """What all connections share."""

    now: Callable[[], float]
    stall_seconds: float
    lane: Lane | None = None
    """For the requests that need no ASGI; without it all of them go that way."""
    most_connections: int = 10_000
    is_draining: bool = False
    state: ServerState = field(default_factory=ServerState)

    def sweep(self) -> None:
        """Call a few times a second: ends connections that keep us waiting."""
        now = self.now()
        for connection in tuple(self.state.connections):
            if isinstance(connection, Door):
                connection.check(now)


class Door(HttpToolsProtocol):
    """Parses strictly; a head that two programs could read differently never reaches the application.

    It leans on uvicorn's internals; tests/unit/gateway/test_door.py holds what it leans on.
    """

    def __init__(self, config: Config, house: House) -> None:
        super().__init__(config, house.state, {})
        self.house = house
        self.is_gone = False
        self.awaits_body = False
        self.task: Leavable | None = None
        """To be cancelled when the client leaves."""
        self._running: RequestResponseCycle | Ride | None = None
        self._ride: Ride | None = None
        """The request that is arriving, where it needs no ASGI."""
        self.fresh = b""
        """What was read, when a request begins with its first byte."""
        self._riding: Ride | None = None
        """The one that is being answered."""
        self._refusal: Refusal | None = None
        self._is_in_message = False
        self._head_bytes = 0
        self._is_large = False
        self._has_begun = False
        self._head_since: float | None = None
        self._last_data = 0.0
        self._received_bytes = 0
        self._body_mark: tuple[float, int] | None = None
        """When the present stretch of a body began, and how much had been received by then."""
        self._stalled_since: float | None = None

    # --- what the application uses -----------------------------------------------------------------------------------

    def cut(self) -> None:
        """End the connection behind what was written, without the end that a whole answer has."""
        self.task = None
        if self._running is not None:
            self._running.disconnected = True
        self.transport.close()

    def delimit_by_close(self) -> None:
        """For HTTP/1.0, which knows no chunks: the body of the answer about to begin lasts until `cut`."""
        if isinstance(self._running, RequestResponseCycle):
            self._running.keep_alive = False
            self._running.chunked_encoding = False
            self._running.expected_content_length = _FAR_AWAY_BYTES

    def exchange(self, ride: "Ride", other: "Ride") -> None:
        """Somebody else answers what `ride` was to answer."""
        if self._running is ride:
            self._running = self._riding = other
        cycle: object = self.cycle
        if cycle is ride:
            self.cycle = other  # type: ignore[assignment]

    # --- asyncio.Protocol --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._last_data = self.house.now()
        self._head_since = self._last_data
        if len(self.connections) > self.house.most_connections:
            self._turn_away(Refusal("gateway_full", status=503))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_gone = True
        super().connection_lost(exc)
        if self._running is not None:
            self._running.disconnected = True
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None or self.transport.is_closing():
            return
        self._last_data = self.house.now()
        self._received_bytes += len(data)
        running = self._running
        is_fresh = not (self._is_in_message or self._has_begun) and (running is None or running.response_complete)
        if is_fresh and self._is_recognised(data):
            return
        self.fresh = data if is_fresh else b""
        if self._is_between_requests and self._head_since is None:
            self._head_since = self._last_data
        if self._head_since is not None:
            self._head_bytes += len(data)
        self._is_large = self._head_bytes > HEAD_BYTES or len(data) > HEAD_BYTES
        super().data_received(data)
        if self._head_since is not None and self._head_bytes > HEAD_BYTES:
            self._refusal = self._refusal or _too_large()
        if self._refusal is not None:
            self._turn_away(self._refusal)
        if self._riding is not None:
            self._riding.go_on()

    def _is_recognised(self, data: bytes) -> bool:
        """The parser need not look at it, and is left as it was: between two requests."""
        lane = self.house.lane
        if lane is None or self.house.is_draining or self.pipeline:
            return False
        ride = lane.recognise(self, data)
        if ride is None:
            return False
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        self._head_since, self._head_bytes, self._ride = None, 0, None
        self.cycle = self._running = self._riding = ride  # type: ignore[assignment]
        ride.go_on()
        return True

    def pause_writing(self) -> None:
        self._stalled_since = self.house.now()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled_since = None
        super().resume_writing()
        if self._riding is not None:
            self._riding.has_room()

    def check(self, now: float) -> None:
        if self._head_since is not None and now - self._head_since > HEAD_SECONDS:
            if not self._has_begun:
                self.transport.close()  # a browser opens connections ahead: it would take a 408 for its next answer
                return
            self._turn_away(Refusal("request_too_slow", status=408, seconds=int(HEAD_SECONDS)))
        elif self._is_body_too_slow(now):
            self._give_up_body()
        elif self._stalled_since is not None and now - self._stalled_since > self.house.stall_seconds:
            self.transport.abort()
        elif self._is_between_requests and now - self._last_data > KEEP_ALIVE_SECONDS + 1:
            self.transport.close()  # uvicorn's own timer does not run after a body that came behind its answer

    def _give_up_body(self) -> None:
        """One that was answered before it had come is told nothing: it would be taken for the next answer."""
        if self._is_answered:
            self.transport.close()
        else:
            self._turn_away(Refusal("request_too_slow", status=408, seconds=int(BODY_SECONDS)))

    def _is_body_too_slow(self, now: float) -> bool:
        """Nothing for a while, or a drop now and then: the second costs us as much as the first."""
        is_due = self._is_in_message and (self.awaits_body or self._is_answered)
        if not is_due or self.flow.read_paused:
            self._body_mark = None
            return False
        if now - self._last_data > BODY_SECONDS:
            return True
        began, received = self._body_mark or (now, self._received_bytes)
        if now - began <= BODY_SECONDS:
            self._body_mark = began, received
            return False
        self._body_mark = now, self._received_bytes
        return self._received_bytes - received < BODY_SECONDS * BODY_BYTES_PER_SECOND

    @property
    def _is_between_requests(self) -> bool:
        return self._is_answered and not self._is_in_message

    @property
    def _is_answered(self) -> bool:
        return self._running is None or self._running.response_complete

    # --- httptools' callbacks ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Without uvicorn's scope: most requests need none."""
        self.url = b""
        self.headers = []
        self._head_since = self.house.now()
        self._has_begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._head_since = None
        self._head_bytes = 0
        self._has_begun = False
        self._is_in_message = True
        if self._refusal is not None:
            return
        self._refusal = _judge(self.url, self.headers, self.parser, may_be_large=self._is_large)
        if self._refusal is not None:
            return
        self._ride = None if self.house.lane is None else self.house.lane.take(self)
        if self._ride is None:
            self._begin_cycle()
        else:
            self._begin_ride(self._ride)
        self.fresh = b""
        self.headers = _NOWHERE  # a trailer is no header: it came too late to be judged
        if self.house.is_draining or self.parser.should_upgrade():
            self.cycle.keep_alive = False

    def _begin_cycle(self) -> None:
        url, headers = self.url, self.headers
        super().on_message_begin()
        self.url, self.headers, self.scope["headers"] = url, headers, headers
        self.expect_100_continue = any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in headers
        )
        self.scope["extensions"] = {"door": {"connection": self}}
        super().on_headers_complete()

    def _begin_ride(self, ride: Ride) -> None:
        """As uvicorn does it: what comes while an answer is under way waits in its queue."""
        before, self.cycle = self.cycle, ride  # type: ignore[assignment]
        if before is None or before.response_complete:
            self._running = self._riding = ride
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((ride, self.app))  # type: ignore[arg-type]

    def on_body(self, body: bytes) -> None:
        if self._refusal is not None:
            return
        if self._ride is not None:
            self._ride.take(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_message = False
        if self._refusal is not None:
            return
        if self._ride is not None:
            self._ride.is_whole()
        else:
            super().on_message_complete()
            if not self.pipeline:
                self.flow.resume_reading()  # a large last piece has paused it, and nobody would see the client leave

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        if isinstance(cycle, RequestResponseCycle):
            self._riding = None
            super()._start_asgi_task(cycle, app)
        else:
            self._riding = cycle
            self.loop.call_soon(cycle.go_on)

    def ride_ended(self) -> None:
        """What uvicorn does when a cycle is complete, but for its timer: `check` closes idle connections."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    def _unsupported_upgrade_warning(self) -> None:
        """An offer of HTTP/2 or a WebSocket is not an error: it is answered in HTTP/1.1."""

    # --- refusing ----------------------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        self._refusal = Refusal("request_not_http", status=400, why="its head or its framing is malformed")

    def _turn_away(self, refusal: Refusal) -> None:
        """One answer, then the end. An answer under way is cut: a second one would be read as its body."""
        self._refusal = refusal
        is_answering = self._running is not None and self._running.response_started
        is_free = not is_answering or (self._running is not None and self._running.response_complete)
        if is_free and not self.transport.is_closing():
            self.transport.write(_raw_answer(refusal))
        if self._running is not None:
            self._running.disconnected = True
        self.transport.close()


def _length(field: tuple[bytes, bytes]) -> int:
    return len(field[0]) + len(field[1])


def _judge(
    url: bytes, fields: list[tuple[bytes, bytes]], parser: httptools.HttpRequestParser, *, may_be_large: bool
) -> Refusal | None:
    """The union of what httptools and h11 refuse, and the bounds on a head."""
    if len(url) > TARGET_BYTES:
        return Refusal("request_head_too_large", status=414, limit_bytes=TARGET_BYTES, limit_fields=HEAD_FIELDS)
    if len(fields) > HEAD_FIELDS or (may_be_large and sum(map(_length, fields)) > HEAD_BYTES):
        return _too_large()
    version = parser.get_http_version()
    if version not in {"1.1", "1.0"}:
        return Refusal("request_not_http", status=505, why="only HTTP/1.1 and HTTP/1.0 are spoken here")
    method = parser.get_method()
    if method not in _METHODS:
        return Refusal("request_not_http", status=405, why="its method is not served")
    why = _ambiguity(url, fields, version)
    return None if why is None else Refusal("request_not_http", status=400, why=why)


def _ambiguity(url: bytes, fields: list[tuple[bytes, bytes]], version: str) -> str | None:
    if not url.startswith(b"/"):
        return "its target is not a path"
    hosts = [value for name, value in fields if name == b"host"]
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        return "it needs exactly one Host field"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return "its Host field is not a host"
    codings = [value.strip().lower() for name, value in fields if name == b"transfer-encoding"]
    if codings and (codings != [b"chunked"] or version == "1.0"):
        return "its transfer coding is not just chunked"
    return None


def _too_large() -> Refusal:
    return Refusal("request_head_too_large", status=431, limit_bytes=HEAD_BYTES, limit_fields=HEAD_FIELDS)


def _raw_answer(refusal: Refusal) -> bytes:
    body = answers.encode(answers.of_refusal(refusal, "en"))
    head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    return head % (refusal.status, _REASONS[refusal.status], len(body)) + body
