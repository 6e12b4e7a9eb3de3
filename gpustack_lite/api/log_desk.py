"""Readings of engine logs: a person asks, the worker is handed a ticket and pours the text back under it."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from gpustack_lite.wire import LogRequest

CHUNKS_AHEAD = 16
TOPIC = "logs"


@dataclass(slots=True)
class Reading:
    """One open log. `answered` is set when the worker begins, `closed` when nobody reads any more; `None` ends it."""

    worker_id: int
    request: LogRequest
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    _chunks: asyncio.Queue[bytes | None] = field(default_factory=lambda: asyncio.Queue(CHUNKS_AHEAD))

    async def give(self, chunk: bytes) -> None:
        """Waits while the reader is behind, and drops what comes after it left."""
        if not self.closed.is_set():
            await self._chunks.put(chunk)

    async def end(self) -> None:
        if not self.closed.is_set():
            await self._chunks.put(None)

    async def take(self) -> bytes | None:
        return await self._chunks.get()

    def close(self) -> None:
        self.closed.set()
        while not self._chunks.empty():  # lets go of a writer that waits for room
            self._chunks.get_nowait()


class LogDesk:
    def __init__(self) -> None:
        self._waiting: dict[int, deque[Reading]] = defaultdict(deque)
        self._open: dict[str, Reading] = {}

    def open(self, worker_id: int, request: LogRequest) -> Reading:
        reading = Reading(worker_id, request)
        self._open[request.ticket] = reading
        self._waiting[worker_id].append(reading)
        return reading

    def next_for(self, worker_id: int) -> LogRequest | None:
        """The oldest ticket that this worker was not handed yet and that somebody still waits for."""
        waiting = self._waiting[worker_id]
        while waiting:
            reading = waiting.popleft()
            if not reading.closed.is_set():
                return reading.request
        return None

    def find(self, ticket: str, worker_id: int) -> Reading | None:
        reading = self._open.get(ticket)
        return reading if reading is not None and reading.worker_id == worker_id else None

    def close(self, reading: Reading) -> None:
        reading.close()
        self._open.pop(reading.request.ticket, None)


async def pour(reading: Reading, text: AsyncIterator[bytes]) -> None:
    """Pass everything on until the text ends or nobody reads it any more."""
    reading.answered.set()
    pouring = asyncio.ensure_future(_pour(reading, text))
    leaving = asyncio.ensure_future(reading.closed.wait())
    try:
        await asyncio.wait({pouring, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        pouring.cancel()
        leaving.cancel()
    if pouring.done() and not pouring.cancelled():
        pouring.result()


async def _pour(reading: Reading, text: AsyncIterator[bytes]) -> None:
    try:
        async for chunk in text:
            if chunk:
                await reading.give(chunk)
    finally:
        await reading.end()
