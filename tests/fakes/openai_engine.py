"""An engine as somebody else would script it, for a custom backend: the `user` of a request names its behaviour."""

import argparse
import asyncio
import base64
import json
import socket
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
TEXT = "你好世界🌍"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(*choices: object, **more: object) -> dict[str, object]:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


def delta(finish: str | None = None, **content: str) -> dict[str, object]:
    return chunk({"index": 0, "delta": content, "finish_reason": finish})


def event(document: object, end: str = "\n\n") -> bytes:
    return f"data: {document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)}{end}".encode()


def spread(document: object) -> bytes:
    """One event whose JSON lies on several lines."""
    lines = json.dumps(document, indent=1).splitlines()
    return "".join(f"data: {line}\r\n" for line in lines).encode() + b"\r\n"


class Talk:
    def __init__(self, request: dict[str, object], writer: asyncio.StreamWriter) -> None:
        options = request.get("stream_options")
        self.wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        self.writer = writer

    async def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        for piece in pieces:
            self.writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await self.writer.drain()
            await asyncio.sleep(pause)

    def ending(self, end: str = "\n\n") -> Iterable[bytes]:
        yield event(delta("stop"), end)
        if self.wants_usage:
            yield event(chunk(usage=USAGE), end)
        yield event("[DONE]", end)

    async def plain(self) -> None:
        await self.send(*(event(delta(content=word)) for word in ("a", "b", "c")), *self.ending())

    async def reset(self, *words: str) -> None:
        await self.send(event(delta(role="assistant")), *(event(delta(content=word)) for word in words), pause=0.05)
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def slow(self) -> None:
        for number in range(300):
            await self.send(event(delta(content=f"{number} ")), pause=0.2)

    async def prefill(self) -> None:
        for _ in range(5):
            await self.send(b":\n\n", b": keepalive\n\n")
            await asyncio.sleep(0.3)
        await self.send(event(delta(content="Hel"), "\r\n\r\n"), event(delta(content="lo "), "\r\n\r\n"))
        await self.send(spread(delta(content="world")), *self.ending("\r\n\r\n"))

    async def in_bytes(self, end: str) -> None:
        whole = b"".join([event(delta(content=TEXT), end), *self.ending(end)])
        await self.send(*(whole[at : at + 1] for at in range(len(whole))), pause=0.001)

    async def cut_in_words(self) -> None:
        whole = b"".join([event(delta(content=TEXT), "\r\n\r\n"), *self.ending("\r\n\r\n")])
        parts = whole.replace(b"data:", b"da\0ta:").replace(b"\r\n", b"\r\0\n").split(b"\0")
        await self.send(*parts, pause=0.005)


VECTOR = [index / 1024 for index in range(1024)]
RANKED = [
    {"index": 1, "relevance_score": 0.9},
    {"index": 2, "relevance_score": 0.5},
    {"index": 0, "relevance_score": 0.1},
]


def embed(request: dict[str, object]) -> tuple[int, object]:
    """`user` may name an engine that knows no base64."""
    given = request["input"]
    packed: object = base64.b64encode(struct.pack("<1024f", *VECTOR)).decode()
    is_packed = request.get("encoding_format") == "base64" and request.get("user") != "floats only"
    data = [
        {"object": "embedding", "index": index, "embedding": packed if is_packed else VECTOR}
        for index in range(len(given) if isinstance(given, list) else 1)
    ]
    return 200, {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}}


def rerank(request: dict[str, object]) -> tuple[int, object]:
    if not request.get("documents"):
        return 400, {
            "object": "error",
            "message": "documents must not be empty",
            "type": "BadRequestError",
            "code": 400,
        }
    return 200, {"id": "r", "model": "m", "usage": {"total_tokens": 12, "prompt_tokens": 12}, "results": RANKED}


WHOLE: dict[bytes, Callable[[dict[str, object]], tuple[int, object]]] = {
    b"/v1/embeddings": embed,
    b"/v1/rerank": rerank,
    b"/v2/rerank": rerank,
}


def whole(status: int, document: object) -> bytes:
    body = json.dumps(document).encode()
    head = b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, log: Path) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0)
        request = json.loads(await reader.readexactly(length) or b"{}")
        path = head.split(b" ", 2)[1]
        if path in WHOLE:
            writer.write(whole(*WHOLE[path](request)))
            continue
        if not request.get("stream"):
            message = {"role": "assistant", "content": "hello"}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            writer.write(whole(200, {**chunk(*choices), "object": "chat.completion", "usage": USAGE}))
            continue
        writer.write(STREAM)
        talk = Talk(request, writer)
        behaviours = {
            "plain": talk.plain,
            "reset": lambda talk=talk: talk.reset("one ", "two "),
            "reset at once": talk.reset,
            "slow": talk.slow,
            "prefill": talk.prefill,
            "bytes": lambda talk=talk: talk.in_bytes("\n\n"),
            "bytes with CRLF": lambda talk=talk: talk.in_bytes("\r\n\r\n"),
            "cut": talk.cut_in_words,
        }
        telling = asyncio.ensure_future(behaviours[str(request.get("user", "plain"))]())
        if request.get("user") == "slow":
            await reader.read(1)  # nothing more is sent: this ends when the other side closes
            telling.cancel()
            with log.open("a") as file:
                file.write(f"{time.monotonic()}\n")
            return
        await telling
        if writer.is_closing():
            return
        writer.write(b"0\r\n\r\n")


async def main(port: int, log: Path) -> None:
    async def each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer, log)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(each, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(main(given.port, given.log))
