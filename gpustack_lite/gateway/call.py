"""One request to the gateway and its answer, as the handlers see it, whichever lane it came by."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import answers, anthropic, paths
from gpustack_lite.gateway.answers import Document, Field
from gpustack_lite.gateway.anthropic import errors as anthropic_errors
from gpustack_lite.gateway.door import Door
from gpustack_lite.messages import Language, language_of
from gpustack_lite.wire import Credential

log = logging.getLogger(__name__)
_SANE_ID = re.compile(rb"[A-Za-z0-9._:-]{1,100}")
_RETRY_SECONDS = {503: b"2", 502: b"1", anthropic_errors.OVERLOADED: b"2"}


class ClientGone(Exception):
    """The client left while its request was still coming."""


class Head:
    """A request's head as it was parsed, with what follows from its bytes alone.

    The protocol lane keeps it for the next request whose head has the same bytes. `admitted` is the gate's, and
    `for_engines` are the parts of the heads for engines; `content-length` is not among its fields there.
    """

    __slots__ = (
        "admitted",
        "fields",
        "for_engines",
        "given_id",
        "headers",
        "http_version",
        "method",
        "path",
        "query",
        "raw_path",
        "target",
    )

    def __init__(
        self, fields: list[Field], method: str, raw_path: bytes, query: bytes = b"", http_version: str = "1.1"
    ) -> None:
        self.fields = fields
        self.headers: Mapping[bytes, bytes] = dict(fields)
        self.method = method
        self.raw_path = raw_path
        self.query = query
        self.http_version = http_version
        self.path = _path_of(raw_path)
        where = paths.encoded(self.path)
        self.target = where + b"?" + query if query else where
        """Canonical path and query, for the request line of whoever it is sent on to."""
        given = self.headers.get(b"x-request-id")
        self.given_id = given if given is not None and _SANE_ID.fullmatch(given) else None
        self.admitted: tuple[object, Credential] | None = None
        self.for_engines: dict[tuple[str, str, bytes], tuple[bytes, bytes]] = {}


def _path_of(raw_path: bytes) -> str:
    """The canonical path, or nothing where there is none: whoever serves the call says why."""
    try:
        return paths.without_alias(paths.canonical(raw_path))
    except Refusal:
        return ""


class Call:
    """`id` is ours and unique; `shown_id` is what the client sees as X-Request-ID, its own if it sent a sane one.

    The lanes differ in `receive`, `start`, `write` and `finish`, and in nothing else that a handler can see.
    """

    def __init__(
        self,
        door: Door,
        head: Head,
        unique_id: str,
    ) -> None:
        self.door = door
        self.head = head
        self.fields = head.fields
        self.headers = head.headers
        self.method = head.method
        self.query = head.query
        self.http_version = head.http_version
        self.id = unique_id
        self.shown_id = head.given_id or unique_id.encode()
        self.path = ""
        self.status = 0
        self.extra_fields: list[Field] = []
        """Of whatever is answered: limits, states of a queue."""
        self.last_words: Callable[[Document], bytes] | None = None
        """How a stream that has begun says that it ends with an error."""
        self.ended_by: Refusal | None = None
        self.is_finished = False

    @property
    def client_address(self) -> str:
        return self.door.client[0] if self.door.client else "unknown"

    @property
    def is_tls(self) -> bool:
        return self.door.scheme == "https"

    @property
    def target(self) -> bytes:
        return self.head.target

    @property
    def language(self) -> Language:
        return language_of(self.headers.get(b"accept-language", b"").decode("latin-1"))

    # --- the request's body ------------------------------------------------------------------------------------------

    @property
    def has_body(self) -> bool:
        return b"transfer-encoding" in self.headers or self.headers.get(b"content-length", b"0").strip(b"0") != b""

    @property
    def content_length(self) -> int | None:
        given = self.headers.get(b"content-length")
        return int(given) if given is not None else None

    async def receive(self) -> tuple[bytes, bool]:
        """A piece of the body and whether more of it comes.

        Raises:
            ClientGone: it does not come.
        """
        raise NotImplementedError

    # --- the answer --------------------------------------------------------------------------------------------------

    async def start(self, status: int, fields: list[Field], *, length: int | None = None) -> None:
        """Without a length the body has chunks, or lasts until the connection ends."""
        raise NotImplementedError

    async def write(self, data: bytes) -> None:
        """Waits while the client does not take what was written before."""
        raise NotImplementedError

    async def finish(self, data: bytes = b"") -> None:
        raise NotImplementedError

    @property
    def has_room_now(self) -> bool:
        """Whether `write_now` may be used: the client takes bytes, and nobody waits to write."""
        return False

    def write_now(self, data: bytes) -> None:
        """A chunk, without waiting."""
        raise NotImplementedError

    def head_fields(self, fields: list[Field], length: int | None) -> list[Field]:
        head = [*fields, *self.extra_fields, (b"x-request-id", self.shown_id)]
        if length is not None:
            head.append((b"content-length", b"%d" % length))
        return head

    def end(self, refusal: Refusal) -> None:
        """From outside of the work on this call, which is cancelled; `end_now` then says why."""
        self.ended_by = refusal
        if self.door.task is not None:
            self.door.task.cancel()

    async def end_now(self, refusal: Refusal) -> None:
        """A client that reads slowly is not waited for: it sees the broken end alone."""
        if self.status and self.last_words is not None and not self.door.flow.write_paused:
            await self.write(self.last_words(self.document_of(refusal)))
        await self.refuse(refusal)

    def cut(self) -> None:
        """Let the client see that the answer is not whole."""
        self.is_finished = True
        self.door.cut()

    async def answer(self, status: int, body: bytes, fields: list[Field]) -> None:
        await self.start(status, fields, length=len(body))
        await self.finish(body)

    async def answer_json(self, status: int, document: Mapping[str, object], *extra: Field) -> None:
        fields = [answers.JSON, answers.NOSNIFF, *extra]
        if status in _RETRY_SECONDS and not any(name == b"retry-after" for name, _ in extra):
            fields.append((b"retry-after", _RETRY_SECONDS[status]))
        await self.answer(status, answers.encode(document), fields)

    async def answer_error(self, status: int, document: Document, *extra: Field) -> None:
        """An error document, in the shape of the surface that was asked."""
        if self.path in anthropic.PATHS:
            status, document = anthropic_errors.shaped(status, document)
        await self.answer_json(status, document, *extra)

    async def refuse(self, refusal: Refusal) -> None:
        if self.status:  # an answer has begun: another one would be read as its body
            self.cut()
            return
        extra = [(b"www-authenticate", b"Bearer")] if refusal.status == 401 else []
        extra += refusal.fields if isinstance(refusal, answers.Later) else ()
        await self.answer_error(refusal.status, self.document_of(refusal), *extra)

    def document_of(self, refusal: Refusal) -> Document:
        if isinstance(refusal, answers.Explained):
            return refusal.document(self.language)
        return answers.of_refusal(refusal, self.language)


class AsgiCall(Call):
    """By way of ASGI: any method, any body, HTTP/1.0 too."""

    def __init__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable, unique_id: str) -> None:
        super().__init__(
            _door(scope),
            Head(
                list(scope["headers"]),
                scope["method"],
                scope["raw_path"],
                scope["query_string"],
                scope["http_version"],
            ),
            unique_id,
        )
        self._receive = receive
        self._send = send
        self._is_delimited_by_close = False

    async def receive(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientGone
        return message.get("body", b""), message.get("more_body", False)

    async def start(self, status: int, fields: list[Field], *, length: int | None = None) -> None:
        self.status = status
        head = self.head_fields(fields, length)
        if length is None and self.http_version == "1.0" and self.method != "HEAD":
            self._is_delimited_by_close = True
            self.door.delimit_by_close()
        await self._send({"type": "http.response.start", "status": status, "headers": head, "trailers": False})

    async def write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self, data: bytes = b"") -> None:
        self.is_finished = True
        await self._send({"type": "http.response.body", "body": data, "more_body": self._is_delimited_by_close})
        if self._is_delimited_by_close:
            self.door.cut()


class UntilClientLeaves:
    """The work inside the `with` is cancelled when the client goes; that is an end like any other, not an error."""

    __slots__ = ("_door",)

    def __init__(self, door: Door) -> None:
        self._door = door

    def __enter__(self) -> None:
        self._door.task = asyncio.current_task()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        task, self._door.task = asyncio.current_task(), None
        if kind is asyncio.CancelledError and self._door.is_gone and task is not None:
            task.uncancel()
            return True
        return False


def _door(scope: MutableMapping[str, Any] | HTTPScope) -> Door:
    extensions: Any = scope.get("extensions") or {}
    door: Door = extensions["door"]["connection"]
    return door
