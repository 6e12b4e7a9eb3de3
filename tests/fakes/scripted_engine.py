"""An engine made of raw bytes: each request is handed to a script that writes, pauses, resets or stays silent."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

SSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Talk:
    """The engine's end of one connection. `gone` is set when the other side has closed it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Each piece in a packet of its own."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(pause)

    async def events(self, *events: bytes, pause: float = 0.001) -> None:
        """Each as one chunk of a chunked body."""
        await self.send(*(chunk(event) for event in events), pause=pause)

    async def answer(self, status: int, body: bytes, *fields: bytes, content_type: bytes = b"application/json") -> None:
        head = [b"HTTP/1.1 %d Said" % status, b"Content-Type: " + content_type, b"Content-Length: %d" % len(body)]
        await self.send(b"\r\n".join([*head, *fields]) + b"\r\n\r\n" + body)

    async def answer_json(self, document: object, status: int = 200) -> None:
        await self.answer(status, json.dumps(document).encode())

    async def reset(self) -> None:
        """RST instead of FIN: what a crashed process with unread data leaves."""
        await self.writer.drain()
        await asyncio.sleep(0.02)
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()

    async def until_gone(self) -> None:
        """Reads until the other side ends; whatever it sends meanwhile is passed over."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass
        self.gone.set()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def frame(content: str | None = None, *, usage: object = "absent", finish: str | None = None, **more: object) -> bytes:
    """A chat completion chunk as an event; `usage` beside empty choices when there is no content and no finish."""
    delta = {} if content is None else {"content": content}
    choices = [] if content is None and finish is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    document = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "tiny",
        "choices": choices,
        **more,
    }
    if usage != "absent":
        document["usage"] = usage
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def usage_of(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


Script = Callable[[Request, Talk], Awaitable[None]]


async def chat(request: Request, talk: Talk) -> None:
    """An engine that behaves: three words, streamed or whole, usage in a stream only when it is asked for."""
    words, counts = ["one ", "two ", "three"], usage_of(7, 3)
    if not request.json.get("stream"):
        message = {"role": "assistant", "content": "".join(words)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        document = {"id": "c1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice]}
        await talk.answer_json({**document, "usage": counts})
        return
    await talk.send(SSE_HEAD)
    await talk.events(*(frame(word) for word in words), frame(finish="stop"))
    if (request.json.get("stream_options") or {}).get("include_usage"):
        await talk.events(frame(usage=counts))
    await talk.events(DONE)
    await talk.send(b"0\r\n\r\n")


class ScriptedEngine:
    """`async with ScriptedEngine(script) as engine:` listens on a free port; `requests` and `talks` are what it saw."""

    def __init__(self, script: Script = chat) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.talks: list[Talk] = []
        self.connections = 0
        self.errors: list[BaseException] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "ScriptedEngine":
        self._server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if kind is None and self.errors:
            raise self.errors[0]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def forget(self) -> None:
        self.requests.clear()
        self.talks.clear()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await read_request(reader)) is not None and not writer.is_closing():
                talk = Talk(reader, writer)
                self.requests.append(request)
                self.talks.append(talk)
                await self.script(request, talk)
        except ConnectionError:
            pass
        except Exception as error:  # noqa: BLE001  # told when the test ends
            self.errors.append(error)
        finally:
            self._tasks.discard(task)
            if self.talks:
                self.talks[-1].gone.set()
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = line.split(" ")
    headers = [(name.lower(), value.strip()) for name, _, value in (each.partition(":") for each in lines)]
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    return Request(method, path, headers, await reader.readexactly(length))
