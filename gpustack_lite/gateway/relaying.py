"""Everything that is not the data plane goes to the server, streaming both ways."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import requests
from gpustack_lite.gateway.call import Call, ClientGone
from gpustack_lite.gateway.proxies import Proxies, Seen
from gpustack_lite.ports import short_unix_path
from gpustack_lite.relay.connection import Connection, Patience
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.heads import LAST_CHUNK, chunk
from gpustack_lite.relay.pool import Lent, Pool
from gpustack_lite.relay.target import Target

DAY_SECONDS = 86_400.0
PATIENCE = Patience(connect_seconds=2.0, first_byte_seconds=65.0, idle_seconds=DAY_SECONDS)
"""A log that is followed may be silent for hours; a question waits longer than any long poll (60 s), no more."""
UPLOAD_PATIENCE = Patience(connect_seconds=2.0, first_byte_seconds=DAY_SECONDS, idle_seconds=DAY_SECONDS)
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_BODY = frozenset({204, 304})
_SSE = b"text/event-stream"
_SLOW_UPLOADS = "/api/agent/v1/logs/"
"""An engine may say nothing for hours; everybody else who sends a body has it at hand."""


class Relaying:
    def __init__(
        self,
        pool: Pool,
        server_socket: Path,
        is_away: Callable[[], bool] = lambda: False,
        proxies: Proxies = Proxies(),  # noqa: B008  # frozen
    ) -> None:
        self._pool = pool
        self._proxies = proxies
        self._is_away = is_away
        self._socket = server_socket
        self._event_streams: set[asyncio.Task[None]] = set()
        self._is_ending = False

    @property
    def target(self) -> Target:
        return Target(unix_path=short_unix_path(self._socket))

    async def relay(self, call: Call) -> None:
        """
        Raises:
            Refusal: `server_away` (503) when no answer began, at once where the server has been silent for long: what
                waits in its socket could be carried out hours later, when whoever asked is gone.
        """
        if self._is_away():
            raise Refusal("server_away", status=503, cause="silent")
        try:
            lent = await self._ask(call)
        except UpstreamFailed as failure:
            raise Refusal("server_away", status=503, cause=failure.cause) from failure
        with lent as answer:
            await self._pass_on(call, answer)

    async def _ask(self, call: Call) -> Lent:
        if not call.has_body:
            return await self._whole(call, b"")
        if call.content_length is None:
            return await self._streamed(call, b"")  # it may begin with a long silence, as a log does
        data, has_more = await _receive(call)
        return await self._streamed(call, data) if has_more else await self._whole(call, data)

    async def _whole(self, call: Call, body: bytes) -> Lent:
        """A write never goes out on a connection that the server may just have closed: it could not be repeated."""
        method = call.method.encode()
        head = requests.to_server(call, self._seen(call), method, len(body))
        is_safe = call.method in _SAFE_METHODS
        return await self._pool.request(self.target, method, [head, body], may_reuse=is_safe, patience=PATIENCE)

    async def _streamed(self, call: Call, first: bytes) -> Lent:
        method = call.method.encode()
        connection = await self._pool.connect(self.target, PATIENCE)
        length = call.content_length
        connection.begin(method, [requests.to_server(call, self._seen(call), method, length)], UPLOAD_PATIENCE)
        pump = asyncio.create_task(_pump(call, connection, first, is_chunked=length is None))
        with contextlib.ExitStack() as undo:
            undo.callback(self._pool.drop, connection)
            try:
                await connection.head()
            finally:
                if not pump.done():
                    connection.spoil()
                    pump.cancel()
            undo.pop_all()
        return self._pool.lend(self.target, connection)

    def _seen(self, call: Call) -> Seen:
        return self._proxies.look_behind(call.client_address, call.fields, is_tls=call.is_tls)

    async def _pass_on(self, call: Call, answer: Connection) -> None:
        length = None if answer.status in _NO_BODY else requests.length_of(answer.fields)
        await call.start(answer.status, requests.of_server(answer.fields), length=length)
        with _Among(self._event_streams, is_one=_is_event_stream(answer)):
            try:
                while data := await answer.read():
                    await call.write(data)
            except UpstreamFailed:
                call.cut()
                return
            except asyncio.CancelledError:
                if not self._is_ending or call.door.is_gone:
                    raise
        await call.finish()

    def end_event_streams(self) -> None:
        """Their readers resume them elsewhere: without this, one open console would keep a leaving gateway for ever."""
        self._is_ending = True
        for task in tuple(self._event_streams):
            task.cancel()


class _Among:
    """The current task is in the set while the `with` lasts."""

    def __init__(self, tasks: set[asyncio.Task[None]], *, is_one: bool) -> None:
        self._tasks = tasks
        self._task = asyncio.current_task() if is_one else None

    def __enter__(self) -> None:
        if self._task is not None:
            self._tasks.add(self._task)

    def __exit__(self, *_: object) -> None:
        if self._task is not None:
            self._tasks.discard(self._task)
            if self._task.cancelling():
                self._task.uncancel()


def _is_event_stream(answer: Connection) -> bool:
    return any(name == b"content-type" and value.startswith(_SSE) for name, value in answer.fields)


async def _pump(call: Call, connection: Connection, first: bytes, *, is_chunked: bool) -> None:
    """Send the client's body on as it comes and no faster than the server takes it."""
    data, has_more = first, True
    try:
        while has_more or data:
            if data:
                await connection.write(chunk(data) if is_chunked else data)
            data, has_more = await _receive(call) if has_more else (b"", False)
        if is_chunked:
            await connection.write(LAST_CHUNK)
    except (UpstreamFailed, ClientGone):
        return


async def _receive(call: Call) -> tuple[bytes, bool]:
    """The next piece of the body, for which the door waits half a minute and no longer."""
    call.door.awaits_body = not call.path.startswith(_SLOW_UPLOADS)
    try:
        return await call.receive()
    finally:
        call.door.awaits_body = False
