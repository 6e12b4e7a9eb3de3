"""The protocol lane: a plain inference request goes from its connection to an engine's without ASGI, without a task.

It does what the ASGI lane does, by the same code: `Surface.answer` is a coroutine that a task drives there, and that
the callbacks of the two connections drive here (`relay/runs.py`). This module is the rest of it: which requests are
plain enough, their bodies as the door receives them, and their answers as uvicorn would have written them.
"""

from collections.abc import Coroutine, Iterable
from typing import Any

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import inference, paths
from gpustack_lite.gateway.answers import Field
from gpustack_lite.gateway.app import Surface
from gpustack_lite.gateway.call import Call, ClientGone, Head
from gpustack_lite.gateway.door import Door
from gpustack_lite.gateway.express import Express, Trip
from gpustack_lite.gateway.known_heads import KnownHead, KnownHeads
from gpustack_lite.relay.runs import Bell, Run

MOST_BODY_BYTES = 256 * 1024
_BODILESS = frozenset({204, 304})
_NOT_PLAIN = frozenset({b"expect", b"upgrade", b"transfer-encoding"})


class ProtocolLane:
    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self._heads = KnownHeads()
        self.express = Express(self, surface.inference)
        self.count = surface.metrics.count_data

    def recognise(self, door: Door, data: bytes) -> "LaneCall | Trip | None":
        found = self._heads.find(data)
        if found is None:
            return None
        (head, keep_alive), body = found
        if len(body) > MOST_BODY_BYTES:
            return None
        trip = self.express.begin(door, head, body) if keep_alive else None
        return trip or self._whole(door, head, body, keep_alive=keep_alive)

    def _whole(self, door: Door, head: Head, body: bytes, *, keep_alive: bool) -> "LaneCall":
        call = LaneCall(self, door, head, len(body), self.surface.unique_id(), keep_alive=keep_alive)
        call.may_express = False
        call.take(body)
        call.is_whole()
        return call

    def take(self, door: Door) -> "LaneCall | None":
        """The request whose head has come; None when it needs more than this lane has."""
        if door.parser.get_method() != b"POST" or door.parser.get_http_version() != "1.1":
            return None
        path, _, query = door.url.partition(b"?")
        length = plain_length(door.headers)
        if length is None or not is_inference(path):
            return None
        head = Head([field for field in door.headers if field[0] != b"content-length"], "POST", path, query)
        keep_alive = door.parser.should_keep_alive()
        self._heads.learn(door.fresh, KnownHead(head, keep_alive))
        return LaneCall(self, door, head, length, self.surface.unique_id(), keep_alive=keep_alive)

    def call_of(self, trip: Trip) -> "LaneCall":
        """What goes on where a trip ends half-way; the door has it in its place."""
        call = LaneCall(self, trip.door, trip.head, 0, trip.id, keep_alive=True)
        call.is_whole()
        call.path = trip.head.path
        call.disconnected = trip.disconnected
        trip.door.exchange(trip, call)
        return call


def is_inference(raw_path: bytes) -> bool:
    try:
        return paths.without_alias(paths.canonical(raw_path)) in inference.PATHS
    except Refusal:
        return False


def plain_length(fields: Iterable[Field]) -> int | None:
    """Of a body whose length is told and small: a large body waits anyway, and a task is where waiting is done."""
    length = b""
    for name, value in fields:
        if name in _NOT_PLAIN:
            return None
        if name == b"content-length":
            length = value
    return int(length) if length.isdigit() and len(length) < 8 and int(length) <= MOST_BODY_BYTES else None


class LaneCall(Call):
    """A call that writes its answer itself. To uvicorn it looks like a RequestResponseCycle."""

    def __init__(
        self, lane: ProtocolLane, door: Door, head: Head, length: int, unique_id: str, *, keep_alive: bool
    ) -> None:
        super().__init__(door, head, unique_id)
        self._lane = lane
        self.may_express = keep_alive
        self._run: Run | None = None
        self._is_chunked = self._is_sending = False
        self._body: bytes | bytearray = b""
        self._has_more = True
        self._length = length
        self._arrived = Bell()
        self._room = Bell()
        self._defaults = door.server_state.default_headers
        self.response_started = False
        self.response_complete = False
        self.disconnected = False
        self.keep_alive = keep_alive

    @property
    def content_length(self) -> int | None:
        return self._length

    # --- what the door does ------------------------------------------------------------------------------------------

    def take(self, body: bytes) -> None:
        if self.response_complete:
            return
        self._body = self._body + body if self._body else body
        if len(self._body) > HIGH_WATER_LIMIT:
            self.door.flow.pause_reading()

    def is_whole(self) -> None:
        self._has_more = False

    def go_on(self) -> None:
        if self._run is not None:
            self._arrived.ring()
        elif not self._may_express() or not self._expresses():
            self._run = self.door.task = Run(self._lane.surface.answer(self), self._ended)
            self._run.step()

    def _may_express(self) -> bool:
        return self.may_express and not self._has_more

    def _expresses(self) -> bool:
        trip = self._lane.express.begin(self.door, self.head, self._body)
        if trip is None:
            return False
        self.door.exchange(self, trip)
        trip.go_on()
        return True

    def carry_on(self, work: Coroutine[Any, Any, None]) -> Run:
        """The rest is done by a coroutine."""
        run = self._run = self.door.task = Run(self._lane.surface.carry_on(self, work), self._ended)
        run.step()
        return run

    def has_room(self) -> None:
        self._room.ring()

    @property
    def message_event(self) -> "LaneCall":
        return self

    def set(self) -> None:
        """uvicorn's word, when the client has left, to a cycle that may wait for a message."""
        self._arrived.ring()
        self._room.ring()

    def _ended(self) -> None:
        if self.door.task is self._run:  # a run that became a task ends a moment after the next one has begun
            self.door.task = None
        self._lane.surface.metrics.count(self)
        if not self.response_complete and not self.disconnected:
            self.door.transport.close()

    def has_begun_chunks(self) -> None:
        """Its client has a head with status 200 already."""
        self.status = 200
        self.response_started = self._is_chunked = True

    # --- what a handler does -----------------------------------------------------------------------------------------

    async def receive(self) -> tuple[bytes, bool]:
        while not self._body and self._has_more and not self.disconnected:
            self.door.flow.resume_reading()
            await self._arrived.wait()
        if self.disconnected:
            raise ClientGone
        self.door.flow.resume_reading()
        body, self._body = bytes(self._body), b""
        return body, self._has_more

    async def start(self, status: int, fields: list[Field], *, length: int | None = None) -> None:
        self.status = status
        await self._send(self._head(status, fields, length))

    def _head(self, status: int, fields: list[Field], length: int | None) -> bytes:
        self.response_started = True
        self._is_chunked = length is None and status not in _BODILESS
        lines = [b"%s: %s\r\n" % field for field in (*self._defaults, *self.head_fields(fields, length))]
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        if self._is_chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        return STATUS_LINE[status] + b"".join(lines) + b"\r\n"

    @property
    def has_room_now(self) -> bool:
        return self._is_chunked and not (self.door.flow.write_paused or self.disconnected or self._is_sending)

    def write_now(self, data: bytes) -> None:
        self.door.transport.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def write(self, data: bytes) -> None:
        await self._send(b"%x\r\n%s\r\n" % (len(data), data) if self._is_chunked and data else data)

    async def finish(self, data: bytes = b"") -> None:
        self.is_finished = True
        if self._is_chunked:
            data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data) if data else b"0\r\n\r\n"
        await self._send(data)
        self._complete()

    async def answer(self, status: int, body: bytes, fields: list[Field]) -> None:
        """Head and body in one write."""
        self.status = status
        self.is_finished = True
        await self._send(self._head(status, fields, len(body)) + body)
        self._complete()

    def _complete(self) -> None:
        if self.disconnected:
            return
        self.response_complete = True
        if not self.keep_alive:
            self.door.transport.close()
        self.door.ride_ended()

    async def _send(self, data: bytes) -> None:
        self._is_sending = True
        while self.door.flow.write_paused and not self.disconnected:
            await self._room.wait()
        self._is_sending = False
        if not self.disconnected and data:
            self.door.transport.write(data)
