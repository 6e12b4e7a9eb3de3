"""Bodies of forms: small ones are held in memory, larger ones on disk, and each is sent on as often as it must be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import requests
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.forms import Fields, FormReader
from gpustack_lite.gateway.scratch import Scratch
from gpustack_lite.relay import target
from gpustack_lite.relay.connection import Connection
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.pool import Lent, Part, Pool
from gpustack_lite.wire import Endpoint

IN_MEMORY_BYTES = 1024**2
PIECE_BYTES = 256 * 1024
"""Written and read at once, in a thread: a full write-back cache must not hold up the other requests."""
_UPLOADS_AT_ONCE = 8
"""That many of the largest size may be kept together."""


class FormUploads:
    """All forms under way in this gateway. `kept_bytes` counts memory and disk."""

    def __init__(self, limit_bytes: int, folder: Path) -> None:
        self.limit_bytes = limit_bytes
        self.most_kept_bytes = limit_bytes * _UPLOADS_AT_ONCE
        self.kept_bytes = 0
        self.folder = folder

    def held(self, call: Call) -> "FormUpload":
        """For `with`: the body is kept until `let_go`, at the latest until the `with` is left."""
        return FormUpload(self, call)


class FormUpload:
    def __init__(self, all_uploads: FormUploads, call: Call) -> None:
        self._all = all_uploads
        self._call = call
        self._memory = bytearray()
        """All of it, or what is not on disk yet."""
        self._scratch: Scratch | None = None
        self.kept_bytes = 0

    def __enter__(self) -> "FormUpload":
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def let_go(self) -> None:
        self._all.kept_bytes -= self.kept_bytes
        self.kept_bytes = 0
        self._memory = bytearray()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    # --- from the client ---------------------------------------------------------------------------------------------

    async def read(self) -> Fields:
        """Keep the whole body and answer with what it says.

        Raises:
            Refusal: what FormReader raises; `upload_too_large` (413), `uploads_full` (503) or
                `upload_disk_failed` (507).
            ClientGone: it never came whole.
        """
        self._refuse_more_than(self._call.content_length or 0)
        reader = FormReader(self._call.headers.get(b"content-type", b""), self._call.path)
        self._call.door.awaits_body = True
        try:
            await self._receive(reader)
        finally:
            self._call.door.awaits_body = False
        fields = reader.end()
        if self._scratch is not None:
            await self._write(self._scratch)
        return fields

    async def _receive(self, reader: FormReader) -> None:
        has_more = True
        while has_more:
            data, has_more = await self._call.receive()
            self._count(len(data))
            reader.feed(data)
            await self._keep(data)

    def _refuse_more_than(self, length: int) -> None:
        if length > self._all.limit_bytes:
            raise Refusal("upload_too_large", status=413, limit_bytes=self._all.limit_bytes)

    def _count(self, more_bytes: int) -> None:
        self.kept_bytes += more_bytes
        self._all.kept_bytes += more_bytes
        self._refuse_more_than(self.kept_bytes)
        if self._all.kept_bytes > self._all.most_kept_bytes:
            raise Refusal("uploads_full", status=503)

    async def _keep(self, data: bytes) -> None:
        self._memory += data
        if self._scratch is None and len(self._memory) > IN_MEMORY_BYTES:
            self._scratch = self._made()
        if self._scratch is not None and len(self._memory) >= PIECE_BYTES:
            await self._write(self._scratch)

    def _made(self) -> Scratch:
        try:
            return Scratch(self._all.folder)
        except OSError as error:
            raise _disk_failed(error) from error

    async def _write(self, scratch: Scratch) -> None:
        data, self._memory = self._memory, bytearray()
        try:
            await asyncio.to_thread(scratch.append, data)
        except OSError as error:
            raise _disk_failed(error) from error

    # --- to an engine ------------------------------------------------------------------------------------------------

    async def send(self, pool: Pool, endpoint: Endpoint, fields: Fields, *, may_repeat: bool) -> Lent:
        """
        Raises:
            UpstreamFailed: no head of an answer came.
        """
        before, between, after = fields.splice(endpoint.served_name)
        length = before + len(between) + self.kept_bytes - after
        head = requests.to_engine(self._call.head, self._call.shown_id, endpoint, length)
        where = target.parse(endpoint.address)
        if self._scratch is None:
            view = memoryview(self._memory)
            parts: list[Part] = [head, view[:before], between, view[after:]]
            return await pool.request(where, b"POST", parts, may_repeat=may_repeat)
        connection = await pool.connect(where)
        connection.begin(b"POST", [head], pool.patience)
        pump = asyncio.create_task(self._pump(self._scratch, connection, fields.splice(endpoint.served_name)))
        with ExitStack() as undo:
            undo.callback(pool.drop, connection)
            try:
                await connection.head()
            finally:
                if not pump.done():
                    connection.spoil()
                    pump.cancel()
            undo.pop_all()
        return pool.lend(where, connection)

    async def _pump(self, scratch: Scratch, connection: Connection, splice: tuple[int, bytes, int]) -> None:
        """As fast as the engine takes it. Why it failed is told by the connection."""
        before, between, after = splice
        try:
            async for piece in _pieces(scratch, 0, before):
                await connection.write(piece)
            await connection.write(between)
            async for piece in _pieces(scratch, after, self.kept_bytes):
                await connection.write(piece)
        except UpstreamFailed:
            return
        except OSError:
            connection.transport.abort()


async def _pieces(scratch: Scratch, start: int, end: int) -> AsyncIterator[bytes]:
    while start < end:
        piece = await asyncio.to_thread(scratch.read, start, min(PIECE_BYTES, end - start))
        if not piece:
            raise OSError("it is shorter than it was")
        start += len(piece)
        yield piece


def _disk_failed(error: OSError) -> Refusal:
    return Refusal("upload_disk_failed", status=507, why=error.strerror or str(error))
