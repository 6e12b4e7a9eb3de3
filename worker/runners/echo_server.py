"""A tiny OpenAI server whose behaviour is scripted: when it starts, for each deployment, or in one request.

Standard library only; run by path with `python -I echo_server.py --port P --model NAME --script JSON`, never imported.
A request may carry a script of its own, as JSON in the header `x-echo-script` or as an object in the body's field
`echo`; what it says wins over the deployment's script. The keys are the options of backends/echo.py. GET /echo/state
tells what happened so far. Tokens are words.
"""

import argparse
import asyncio
import base64
import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
import signal
import socket
import struct
import sys
import time

LONGEST_BODY_BYTES = 64 * 1024**2
RESET_PAUSE_SECONDS = 0.05
MEETING_SECONDS = 60
EMBEDDING_DIMS = 8


class ClientLeft(Exception):
    pass


class Answered(Exception):
    """Ends a request with a status and a JSON (or text) body."""

    def __init__(self, status, body):
        super().__init__(status)
        self.status = status
        self.body = body


def refused(status, message, code):
    kind = "authentication_error" if status == 401 else "invalid_request_error"
    return Answered(status, {"error": {"message": message, "type": kind, "param": None, "code": code}})


class Connection(asyncio.StreamReaderProtocol):
    """A stream protocol that knows when the client has gone."""

    def __init__(self, engine):
        self.left = asyncio.Event()
        super().__init__(asyncio.StreamReader(limit=2**20), lambda reader, writer: engine.serve(reader, writer, self))

    def eof_received(self):
        self.left.set()
        return super().eof_received()

    def connection_lost(self, error):
        self.left.set()
        super().connection_lost(error)

    async def pause(self, seconds):
        """Raises ClientLeft as soon as nobody listens any more."""
        if seconds > 0:
            try:
                await asyncio.wait_for(self.left.wait(), seconds)
            except TimeoutError:
                return
        else:
            await asyncio.sleep(0)
        if self.left.is_set():
            raise ClientLeft


class Request:
    def __init__(self, method, path, headers, content):
        self.method = method
        self.path = path.partition("?")[0]
        self.headers = headers
        self.content = content
        self.body = {}

    @property
    def keeps_alive(self):
        return self.headers.get("connection", "").lower() != "close"

    def parse(self):
        try:
            self.body = json.loads(self.content or b"{}")
        except ValueError as error:
            raise refused(400, f"the body is no JSON: {error}", "invalid_json") from error
        if not isinstance(self.body, dict):
            raise refused(400, "the body is no object", "invalid_json")

    def script(self, base):
        said = self.body.get("echo")
        made = {**base, **(said if isinstance(said, dict) else {})}
        if header := self.headers.get("x-echo-script"):
            made.update(json.loads(header))
        return made


class Engine:
    def __init__(self, model, key, script, longest):
        self.model = model
        self.key = key
        self.script = script
        self.longest = longest
        self.ready_at = time.monotonic() + script.get("load-ms", 0) / 1000
        self.meeting = Meeting(1)
        self.state = {"requests": 0, "streams": 0, "active": 0, "left": 0, "left_at": []}

    # --- HTTP ---

    async def serve(self, reader, writer, connection):
        writer.transport.set_write_buffer_limits(0)
        try:
            while request := await read_request(reader):
                await self.answer(request, writer, connection)
                if not request.keeps_alive:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        except ClientLeft:
            self.state["left"] += 1
            self.state["left_at"].append(time.time())
            print("echo_server: a client left", flush=True)
        finally:
            writer.close()

    async def answer(self, request, writer, connection):
        try:
            self.check_key(request)
            request.parse()
            await self.route(request, writer, connection)
        except Answered as answered:
            await self.reply(writer, answered.status, answered.body)

    def check_key(self, request):
        if not self.key or request.path in {"/health", "/echo/state"}:
            return
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self.key.encode()):
            raise refused(401, "wrong api key", "invalid_api_key")

    async def route(self, request, writer, connection):
        handlers = {
            ("GET", "/health"): self.health,
            ("GET", "/v1/models"): self.models,
            ("GET", "/echo/state"): self.tell_state,
            ("POST", "/tokenize"): self.tokenize,
            ("POST", "/v1/embeddings"): self.embeddings,
            ("POST", "/v1/chat/completions"): self.chat,
            ("POST", "/v1/completions"): self.complete,
        }
        handler = handlers.get((request.method, request.path))
        if handler is None:
            raise refused(404, f"no {request.method} {request.path} here", "not_found")
        if request.path.startswith("/v1/") and request.method == "POST":
            await self.misbehave(request.script(self.script), connection)
        await handler(request, writer, connection)

    async def misbehave(self, script, connection):
        self.state["requests"] += 1
        limit = script.get("exit-after-requests")
        if limit is not None and self.state["requests"] > limit:
            print(f"echo_server: ends after {limit} requests, as scripted", file=sys.stderr, flush=True)
            os._exit(int(script.get("exit-code") or 1))
        if "status" in script:
            await connection.pause(script.get("first-token-ms", 0) / 1000)
            raise Answered(int(script["status"]), error_body(script))

    async def reply(self, writer, status, body):
        content = body.encode() if isinstance(body, str) else json.dumps(body, ensure_ascii=False).encode()
        kind = "text/plain" if isinstance(body, str) and not body.lstrip().startswith("{") else "application/json"
        head = f"HTTP/1.1 {status} {reason(status)}\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()

    # --- endpoints ---

    async def health(self, request, writer, connection):
        if time.monotonic() < self.ready_at or self.meeting.missing:
            raise Answered(503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}})
        await self.reply(writer, 200, {"status": "ok"})

    async def models(self, request, writer, connection):
        row = {"id": self.model, "object": "model", "created": 0, "owned_by": "echo", "max_model_len": self.longest}
        await self.reply(writer, 200, {"object": "list", "data": [row]})

    async def tell_state(self, request, writer, connection):
        await self.reply(writer, 200, {**self.state, "pid": os.getpid()})

    async def tokenize(self, request, writer, connection):
        words = str(request.body.get("content", request.body.get("prompt", ""))).split()
        await self.reply(writer, 200, {"tokens": [number(word) for word in words], "count": len(words)})

    async def embeddings(self, request, writer, connection):
        script = request.script(self.script)
        given = request.body.get("input", "")
        texts = given if isinstance(given, list) and not all(isinstance(each, int) for each in given) else [given]
        dims = int(request.body.get("dimensions") or script.get("embedding-dims") or EMBEDDING_DIMS)
        as_text = request.body.get("encoding_format") == "base64"
        await connection.pause(script.get("first-token-ms", 0) / 1000)
        data = [
            {"object": "embedding", "index": index, "embedding": packed(vector(text, dims), as_text)}
            for index, text in enumerate(texts)
        ]
        tokens = sum(count(text) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        await self.reply(writer, 200, self.marked(script, {"object": "list", "data": data, "usage": usage}))

    async def chat(self, request, writer, connection):
        messages = request.body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise refused(400, "messages must be a list with at least one message", "invalid_messages")
        contents = [content_of(message) for message in messages]
        await self.generate(request, writer, connection, Chat(), contents)

    async def complete(self, request, writer, connection):
        prompt = request.body.get("prompt", "")
        await self.generate(request, writer, connection, Completion(), prompt if isinstance(prompt, list) else [prompt])

    async def generate(self, request, writer, connection, shape, prompts):
        script = request.script(self.script)
        prompt_tokens = sum(count(each) for each in prompts)
        if self.longest and prompt_tokens > self.longest:
            raise refused(400, f"{prompt_tokens} tokens, {self.longest} at most", "context_length_exceeded")
        pieces, finish = answer_pieces(str(prompts[-1]), request.body, script)
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": len(pieces),
            "total_tokens": prompt_tokens + len(pieces),
            "prompt_tokens_details": {"cached_tokens": int(script.get("cached-tokens", 0))},
        }
        base = self.marked(script, {"id": f"echo-{self.state['requests']}", "created": int(time.time())})
        if request.body.get("stream"):
            told = usage if wants_usage(request.body) else None
            await self.stream(writer, connection, script, list(stream_frames(shape, base, pieces, finish, told)))
            return
        await connection.pause((script.get("first-token-ms", 0) + script.get("chunk-ms", 0) * len(pieces)) / 1000)
        await self.reply(writer, 200, {**base, **shape.whole("".join(pieces), finish), "usage": usage})

    def marked(self, script, body):
        made = {**body, "model": self.model}
        if script.get("simulated"):
            made.update(simulated=True, system_fingerprint="simulated")
        return made

    # --- streams ---

    async def stream(self, writer, connection, script, frames):
        self.state["streams"] += 1
        self.state["active"] += 1
        try:
            await self.send_frames(Wire(writer, connection, script), script, frames)
        finally:
            self.state["active"] -= 1

    async def send_frames(self, wire, script, frames):
        await wire.open()
        for _ in range(int(script.get("comments", 0))):
            await wire.send(wire.line(": keepalive") + wire.line(""))
            await wire.pause(script.get("comment-ms", 0))
        await wire.pause(script.get("first-token-ms", 0))
        for index, frame in enumerate(frames):
            if index == script.get("reset-after-frames"):
                await wire.reset()
            if index == script.get("end-after-frames"):
                await wire.cut()
            await wire.send(wire.event(frame))
            await wire.pause(script.get("chunk-ms", 0) if index else 0)
        if script.get("reset-after-frames", -1) >= len(frames):
            await wire.reset()
        await wire.close()


class Wire:
    """Server-sent events over chunked HTTP, in the dress that the script asks for."""

    def __init__(self, writer, connection, script):
        self.writer = writer
        self.connection = connection
        self.script = script
        self.end = "\r\n" if script.get("crlf") else "\n"

    def line(self, text):
        return text + self.end

    def event(self, frame):
        if frame == "[DONE]":
            return self.line("data: [DONE]") + self.line("")
        indent = 1 if self.script.get("multi-line") else None
        text = json.dumps(frame, ensure_ascii=False, indent=indent)
        return "".join(self.line(f"data: {each}") for each in text.split("\n")) + self.line("")

    async def open(self):
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
        self.writer.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        await self.drain()

    async def send(self, text):
        content = text.encode()
        if not self.script.get("byte-by-byte"):
            await self.send_bytes(content)
            return
        for index in range(len(content)):
            await self.send_bytes(content[index : index + 1])
            await self.pause(self.script.get("byte-ms", 0))

    async def send_bytes(self, content):
        self.writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        await self.drain()

    async def drain(self):
        if self.connection.left.is_set():
            raise ClientLeft
        try:
            await self.writer.drain()
        except ConnectionError as error:
            raise ClientLeft from error

    async def pause(self, milliseconds):
        await self.connection.pause(milliseconds / 1000)

    async def close(self):
        self.writer.write(b"0\r\n\r\n")
        await self.drain()

    async def cut(self):
        """The last chunk never comes."""
        await asyncio.sleep(RESET_PAUSE_SECONDS)
        raise ConnectionAbortedError

    async def reset(self):
        await asyncio.sleep(RESET_PAUSE_SECONDS)
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()
        raise ConnectionResetError


class Chat:
    def first(self):
        return {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}

    def piece(self, text):
        return {"index": 0, "delta": {"content": text}, "finish_reason": None}

    def last(self, finish):
        return {"index": 0, "delta": {}, "finish_reason": finish}

    def whole(self, text, finish):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return {"object": "chat.completion", "choices": [choice]}

    chunk = "chat.completion.chunk"


class Completion:
    def first(self):
        return None

    def piece(self, text):
        return {"index": 0, "text": text, "finish_reason": None, "logprobs": None}

    def last(self, finish):
        return {"index": 0, "text": "", "finish_reason": finish, "logprobs": None}

    def whole(self, text, finish):
        choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
        return {"object": "text_completion", "choices": [choice]}

    chunk = "text_completion"


def stream_frames(shape, base, pieces, finish, usage):
    head = {**base, "object": shape.chunk}
    choices = [shape.first(), *(shape.piece(piece) for piece in pieces), shape.last(finish)]
    yield from ({**head, "choices": [choice]} for choice in choices if choice is not None)
    if usage is not None:
        yield {**head, "choices": [], "usage": usage}
    yield "[DONE]"


def wants_usage(body):
    options = body.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def answer_pieces(prompt, body, script):
    """The answer by words, each with the space before it, so that joined they are the text again."""
    text = script.get("text")
    pieces = re.findall(r"\s*\S+|\s+$", prompt if text is None else str(text)) or ["echo"]
    if "words" in script:
        wanted = int(script["words"])
        spaced = [piece if piece[:1].isspace() else f" {piece}" for piece in pieces]
        pieces = (pieces[:1] + (spaced * (wanted // len(pieces) + 1))[1:])[:wanted]
    most = body.get("max_completion_tokens") or body.get("max_tokens")
    if most and len(pieces) > most:
        return pieces[: int(most)], "length"
    return pieces, "stop"


def content_of(message):
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def count(text):
    return len(text) if isinstance(text, list) else len(str(text).split())


def number(word):
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:3], "big")


def vector(text, dims):
    digest = hashlib.sha256(str(text).encode()).digest()
    return [digest[index % len(digest)] / 255 - 0.5 for index in range(dims)]


def packed(numbers, as_text):
    if not as_text:
        return numbers
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def error_body(script):
    said = script.get("error-body")
    if said is not None:
        return said
    status = int(script["status"])
    return {"error": {"message": f"scripted {status}", "type": "scripted", "param": None, "code": "scripted"}}


def reason(status):
    reasons = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 503: "Service Unavailable"}
    return reasons.get(status, "Scripted")


async def read_request(reader):
    """None at a clean end between requests."""
    line = await reader.readline()
    if not line.strip():
        return None
    method, path, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return Request(method, path, headers, await read_body(reader, headers))


async def read_body(reader, headers):
    if headers.get("transfer-encoding", "").lower() == "chunked":
        parts = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            parts.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(parts)
    size = int(headers.get("content-length", 0))
    if size > LONGEST_BODY_BYTES:
        raise ValueError("the body is too long")
    return await reader.readexactly(size)


# --- the process ---


def fork_children(how_many, lock_file):
    """In process groups and sessions of their own, as some engines put theirs; each holds a share of the lock."""
    for index in range(how_many):
        if os.fork():
            continue
        if index % 2:
            os.setsid()
        else:
            os.setpgid(0, 0)
        descriptor = os.open(os.path.basename(lock_file), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        while True:
            time.sleep(3600)


def prepare(script):
    if script.get("ignore-term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if script.get("children"):
        fork_children(int(script["children"]), str(script.get("lock-file", "echo.lock")))
    time.sleep(script.get("start-ms", 0) / 1000)
    if "exit-code" in script and "exit-after-requests" not in script:
        print(script.get("exit-line", "echo_server: ends at once, as scripted"), file=sys.stderr, flush=True)
        sys.exit(int(script["exit-code"]))


class Meeting:
    """Where a leader waits for the others of its replica. They say nothing more than their rank, once."""

    def __init__(self, ranks):
        self.missing = set(range(1, ranks))

    async def take(self, reader, writer):
        rank = int((await reader.readline()).strip() or b"0")
        print(f"echo_server: rank {rank} is here", flush=True)
        self.missing.discard(rank)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        print(f"echo_server: rank {rank} has gone", flush=True)
        self.missing.add(rank)
        writer.close()


async def follow(host, port, rank):
    """Until the leader is gone; the exit code."""
    ends_at = time.monotonic() + MEETING_SECONDS
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
            break
        except OSError as error:
            if time.monotonic() > ends_at:
                print(f"echo_server: nobody leads at {host}:{port}: {error}", file=sys.stderr, flush=True)
                return 1
            await asyncio.sleep(0.1)
    writer.write(b"%d\n" % rank)
    print(f"echo_server: rank {rank} follows {host}:{port}", flush=True)
    with contextlib.suppress(ConnectionError):
        await reader.read()
    print(f"echo_server: the leader at {host}:{port} has gone", file=sys.stderr, flush=True)
    return 1


async def run(engine, host, port, meet=None):
    if meet is not None:
        await asyncio.start_server(engine.meeting.take, meet[0], int(meet[1]))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(engine), host, port, backlog=1024)
    address = server.sockets[0].getsockname()
    print(f"echo_server: serves {engine.model} at {address[0]}:{address[1]}", flush=True)
    await server.serve_forever()


def main(argv):
    parser = argparse.ArgumentParser(prog="echo_server", allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", default="echo")
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--script", type=json.loads, default={})
    parser.add_argument("--meet", nargs=2)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=1)
    given = parser.parse_args(argv)
    prepare(given.script)
    if given.rank:
        return asyncio.run(follow(given.meet[0], int(given.meet[1]), given.rank))
    engine = Engine(given.model, os.environ.pop("ECHO_API_KEY", ""), given.script, given.max_model_len)
    engine.meeting = Meeting(given.ranks)
    try:
        asyncio.run(run(engine, given.host, given.port, given.meet))
    except OSError as error:
        print(f"echo_server: cannot listen on {given.host}:{given.port}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
