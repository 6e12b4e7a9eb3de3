"""Answers the server's wish to read a log: takes its tickets by long poll and pours the text back under them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Protocol
from urllib.parse import quote, urlsplit

from gpustack_lite import messages
from gpustack_lite.errors import Refusal, Unreachable
from gpustack_lite.httpx_alone import httpx
from gpustack_lite.ports import Clock, Network, Ports, short_unix_path
from gpustack_lite.wire import LogRequest
from worker.link import PREFIX, Link, ServerAddress, parsed, retry_after
from worker.logs import Logs

log = logging.getLogger(__name__)
POLL_SECONDS = 25
MOST_AT_ONCE = 32


class Running(Protocol):
    """What a follower must know of the instances to see the end of a log."""

    def has(self, instance_id: int) -> bool: ...
    def runs_attempt(self, instance_id: int, attempt: int) -> bool: ...


class LogUploads:
    def __init__(self, link: Link, logs: Logs, running: Running, ports: Ports) -> None:
        self._link = link
        self._logs = logs
        self._running = running
        self._ports = ports
        self._open: set[asyncio.Task[None]] = set()
        self._retry: float | None = None

    async def step(self) -> float | None:
        """One long poll; each ticket is answered in a task of its own."""
        try:
            answer = await self._link.get("/logs", POLL_SECONDS + 10, wait=POLL_SECONDS)
            if answer.status_code != httpx.codes.NO_CONTENT and len(self._open) < MOST_AT_ONCE:
                self._begin(parsed(LogRequest, answer, self._link.address.shown))
        except Unreachable:
            self._retry = retry_after(self._retry)
            await self._ports.clock.sleep(self._retry)
            return 0.0
        self._retry = None
        return 0.0

    def _begin(self, request: LogRequest) -> None:
        task = asyncio.create_task(self._answer(request))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _answer(self, request: LogRequest) -> None:
        credential = self._link.identity.credential or ""
        upload = Upload(self._link.address, credential, request.ticket, self._ports.network)
        try:
            await upload.send(self._text(request))
        except OSError as error:
            log.info("log_upload_cut", extra={"instance_id": request.instance_id, "why": type(error).__name__})

    async def _text(self, request: LogRequest) -> AsyncIterator[bytes]:
        try:
            last_lines, place = await self._logs.read(request.instance_id, request.attempt, request.tail)
        except Refusal as refusal:
            yield f"{messages.text(refusal.sentence)}\n".encode()
            return
        yield last_lines
        if request.follow:
            goes_on = self._end_of(request, place.attempt)
            clock: Clock = self._ports.clock
            all_attempts = request.attempt is None
            async for chunk in self._logs.follow(
                request.instance_id, place, clock=clock, goes_on=goes_on, all_attempts=all_attempts
            ):
                yield chunk

    def _end_of(self, request: LogRequest, attempt: int) -> Callable[[], bool]:
        if request.attempt is None:
            return lambda: self._running.has(request.instance_id)
        return lambda: self._running.runs_attempt(request.instance_id, attempt)

    def close(self) -> None:
        for task in self._open:
            task.cancel()


class Upload:
    """One POST with a chunked body of unknown length, that ends early when the server answers or hangs up.

    httpx does not look at the answer before the body was sent, so a follower would stay open after its reader left.
    """

    def __init__(self, address: ServerAddress, credential: str, ticket: str, network: Network) -> None:
        self._address = address
        self._credential = credential
        self._ticket = ticket
        self._network = network

    async def send(self, text: AsyncIterator[bytes]) -> None:
        """Raises:
        OSError: the connection could not be made or broke.
        """
        reader, writer = await self._connect()
        sending = asyncio.create_task(self._send(writer, text))
        answered = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({sending, answered}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
                await answered
        finally:
            sending.cancel()
            answered.cancel()
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)

        def make() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(reader, loop=loop)

        if self._address.socket is not None:
            path = short_unix_path(self._address.socket)
            transport, protocol = await self._network.connect_unix(make, path)
        else:
            parts = urlsplit(self._address.url)
            transport, protocol = await self._network.connect(make, parts.hostname or "", parts.port or 80)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _send(self, writer: asyncio.StreamWriter, text: AsyncIterator[bytes]) -> None:
        writer.write(self._head())
        async for chunk in text:
            if chunk:
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def _head(self) -> bytes:
        parts = urlsplit(self._address.url)
        lines = (
            f"POST {parts.path}{PREFIX}/logs/{quote(self._ticket, safe='')} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Authorization: Bearer {self._credential}",
            "Content-Type: text/plain; charset=utf-8",
            "Transfer-Encoding: chunked",
            "Connection: close",
        )
        return "\r\n".join((*lines, "", "")).encode("ascii")
