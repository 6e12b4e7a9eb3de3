"""An engine of every mode that the playground has: chat with reasoning and tools, embeddings, rerank, image, audio.

Run by path for a custom backend; standard library only. It refuses what real ones do: no messages, no documents, a form
without its file, a picture by address.
"""

import argparse
import hashlib
import http.server
import io
import json
import math
import struct
import wave
import zlib
from base64 import b64encode
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from typing import Any

Document = dict[str, Any]
DIMENSIONS = 64
ANSWER = """Here is **a list**:

- one
- two

```python
def half(x: float) -> float:
    return x / 2  # exact
```

| a | b |
|---|---|
| 1 | 2 |

<img src=x onerror=alert(1)> [a page](https://elsewhere.example/page) ![tracker](https://elsewhere.example/pixel.png)
"""


class Refused(Exception):
    pass


class Engine(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.reply(b"{}")

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        try:
            self.route(content)
        except Refused as refused:
            error = {"message": str(refused), "type": "invalid_request_error", "code": "invalid_request_error"}
            self.reply(json.dumps({"error": error}).encode(), status=400)

    def route(self, content: bytes) -> None:
        if self.path == "/v1/audio/transcriptions":
            self.tell({"text": f"{heard(self.headers['content-type'], content)} bytes were said."})
            return
        body = json.loads(content)
        if self.path == "/v1/chat/completions":
            self.stream(chat(body))
        elif self.path == "/v1/audio/speech":
            self.reply(tone(len(body["input"])), kind="audio/wav")
        else:
            self.tell({"/v1/embeddings": embed, "/v1/rerank": rank, "/v1/images/generations": draw}[self.path](body))

    def stream(self, frames: Iterator[Document]) -> None:
        texts = [f"data: {json.dumps(each)}\n\n".encode() for each in frames]
        self.reply(b"".join([*texts, b"data: [DONE]\n\n"]), kind="text/event-stream")

    def tell(self, document: Document) -> None:
        self.reply(json.dumps(document).encode())

    def reply(self, content: bytes, *, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None: ...


def chat(body: Document) -> Iterator[Document]:
    messages = body["messages"]
    if not messages:
        raise Refused("messages must not be empty")
    last = messages[-1]
    if last["role"] == "tool":
        yield from said(f"The tool says: {last['content']}")
    elif body.get("tools"):
        yield from called(body["tools"][0]["function"]["name"])
    elif pictures := pictures_in(last["content"]):
        yield from said(f"I see {pictures}.")
    else:
        yield delta(reasoning_content="They want Markdown.")
        yield from said(ANSWER)


def pictures_in(content: object) -> int:
    addresses = (
        [part["image_url"]["url"] for part in content if "image_url" in part] if isinstance(content, list) else []
    )
    if not all(address.startswith("data:image/") for address in addresses):
        raise Refused("pictures are taken as data alone")
    return len(addresses)


def said(text: str) -> Iterator[Document]:
    words = text.split(" ")
    yield from (delta(content=word if at == 0 else f" {word}") for at, word in enumerate(words))
    yield delta("stop")
    yield {
        "choices": [],
        "usage": {"prompt_tokens": 7, "completion_tokens": len(words), "total_tokens": 7 + len(words)},
    }


def called(name: str) -> Iterator[Document]:
    for piece in ({"name": name, "arguments": ""}, {"arguments": '{"city": '}, {"arguments": '"Berlin"}'}):
        yield delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": piece}])
    yield delta("tool_calls")


def delta(finish: str | None = None, **said: object) -> Document:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def embed(body: Document) -> Document:
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(given)]
    return {"object": "list", "data": data, "usage": {"prompt_tokens": len(given), "total_tokens": len(given)}}


def vector(text: str) -> list[float]:
    """Texts that share words are near."""
    counts = [0.0] * DIMENSIONS
    for word in text.lower().strip(".?!").split():
        counts[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1
    length = math.sqrt(sum(each * each for each in counts)) or 1.0
    return [each / length for each in counts]


def rank(body: Document) -> Document:
    if not body["documents"]:
        raise Refused("documents must not be empty")
    query = vector(body["query"])
    scores = [sum(map(float.__mul__, query, vector(text))) for text in body["documents"]]
    return {"results": [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]}


def draw(body: Document) -> Document:
    width, height = (int(side) for side in body["size"].split("x"))
    if body.get("response_format") != "b64_json":
        raise Refused("pictures are given as b64_json alone")
    return {"created": 1, "data": [{"b64_json": b64encode(png(width, height)).decode()}] * int(body.get("n", 1))}


def png(width: int, height: int) -> bytes:
    """A picture of two gradients."""
    rows = b"".join(
        b"\0" + bytes(value for x in range(width) for value in (255 * x // width, 90, 255 * y // height))
        for y in range(height)
    )
    parts = (
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def tone(letters: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        samples = (int(9000 * math.sin(at / 4)) for at in range(800 * letters))
        sound.writeframes(b"".join(struct.pack("<h", each) for each in samples))
    return file.getvalue()


def heard(content_type: str, content: bytes) -> int:
    """Bytes of the file in a form."""
    form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + content).get_payload()
    files = (
        [part for part in form if isinstance(part, Message) and part.get_filename()] if isinstance(form, list) else []
    )
    if not files:
        raise Refused("the form has no file")
    found = files[0].get_payload(decode=True)
    return len(found) if isinstance(found, bytes) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Engine).serve_forever()
