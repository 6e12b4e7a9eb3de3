"""The HTTP around an engine that is a library: what our runners for speech, images and Transformers share.

Standard library only. A runner is run by path with `python -I`, puts its own directory on sys.path and imports this.
"""

import argparse
import hmac
import json
import os
import select
import signal
import socket
import sys
import threading
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LONGEST_BODY_BYTES = 512 * 1024**2
LONGEST_LINE_BYTES = 1024


class Refused(Exception):
    """Answered with this status, in the form of OpenAI's errors."""

    def __init__(self, status, message, code="invalid_request", param=None):
        super().__init__(message)
        self.status = status
        kind = "authentication_error" if status == 401 else "invalid_request_error"
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


class Failed(Exception):
    """The runner cannot start; its text is the one sentence that it ends with."""


class Answer:
    """Bytes of some kind; `frames` instead are sent one by one, as server-sent events."""

    def __init__(self, content=b"", kind="application/json", frames=None):
        self.content = content
        self.kind = kind
        self.frames = frames


def as_json(document):
    return Answer(json.dumps(document, ensure_ascii=False).encode())


class Asked:
    """One request: `fields` of its JSON or of its form, and the `files` of the form."""

    def __init__(self, path, fields, files):
        self.path = path
        self.fields = fields
        self.files = files
        self.has_left = lambda: False

    def text(self, name, default=None):
        value = self.fields.get(name, default)
        if value is not None and not isinstance(value, str):
            raise Refused(400, f"{name} must be a text", param=name)
        return value

    def number(self, name, default, least, most):
        value = self.fields.get(name)
        if value is None:
            return default
        try:
            made = None if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            made = None
        if made is None or not least <= made <= most:
            raise Refused(400, f"{name} must be a number from {least} to {most}", param=name)
        return made

    def whole(self, name, default, least, most):
        made = self.number(name, default, least, most)
        if made is not None and made != int(made):
            raise Refused(400, f"{name} must be a whole number", param=name)
        return None if made is None else int(made)

    def one_of(self, name, choices, default):
        value = self.text(name, default)
        if value not in choices:
            raise Refused(400, f"{name} must be one of {', '.join(choices)}", param=name)
        return value

    def says(self, name):
        return str(self.fields.get(name, "")).lower() in {"true", "1"}


class Handler(BaseHTTPRequestHandler):
    """`server.engine` has `routes` ("/v1/..." -> a function of Asked) and `model`, the name that it answers to."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 300

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/health":
            self.reply(200, as_json({"status": "ok"}))
        elif path == "/v1/models":
            row = {"id": self.server.model, "object": "model", "created": 0, "owned_by": "local"}
            self.answer(lambda: as_json({"object": "list", "data": [row]}))
        else:
            self.answer(lambda: self.unknown(path))

    def do_POST(self):
        path = self.path.partition("?")[0]
        content = self.body()
        if content is not None:
            self.answer(lambda: self.routed(path, content))

    def routed(self, path, content):
        route = self.server.routes.get(path) or self.unknown(path)
        asked = asked_of(path, self.headers.get("content-type", ""), content)
        asked.has_left = self.has_left
        return route(asked)

    def has_left(self):
        """Whether the client closed the connection; what it may send meanwhile stays unread."""
        try:
            is_readable = bool(select.select([self.connection], [], [], 0)[0])
            return is_readable and self.connection.recv(1, socket.MSG_PEEK) == b""
        except (OSError, ValueError):
            return True

    def unknown(self, path):
        raise Refused(404, f"no {self.command} {path} here", "not_found")

    def answer(self, make):
        try:
            self.check_key()
            self.reply(200, make())
        except Refused as refused:
            self.reply(refused.status, as_json(refused.body))

    def check_key(self):
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        if self.server.key and not hmac.compare_digest(given.encode(), self.server.key.encode()):
            raise Refused(401, "wrong api key", "invalid_api_key")

    def body(self):
        """None where it could not be read: then the connection ends."""
        try:
            if "chunked" in self.headers.get("transfer-encoding", "").lower():
                return self.chunks()
            return self.read_whole(int(self.headers.get("content-length", "0")))
        except ValueError:
            self.close_connection = True
            self.reply(400, as_json(Refused(400, "the body could not be read").body))
            return None

    def read_whole(self, size):
        if not 0 <= size <= LONGEST_BODY_BYTES:
            raise ValueError(size)
        return self.rfile.read(size)

    def chunks(self):
        found = bytearray()
        while size := int(self.rfile.readline(LONGEST_LINE_BYTES).partition(b";")[0].strip(), 16):
            found += self.read_whole(size)
            self.rfile.readline(LONGEST_LINE_BYTES)
            self.read_whole(len(found) if len(found) > LONGEST_BODY_BYTES else 0)
        while self.rfile.readline(LONGEST_LINE_BYTES).strip():
            pass
        return bytes(found)

    def reply(self, status, answer):
        try:
            self.stream(answer) if answer.frames is not None else self.send_whole(status, answer)
        except ConnectionError:
            self.close_connection = True

    def send_whole(self, status, answer):
        self.send_response(status)
        self.send_header("content-type", answer.kind)
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def stream(self, answer):
        """The first frame is made before the head is sent, so that a refusal still has its status."""
        frames = iter(answer.frames)
        first = next(frames, None)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            while first is not None:
                self.chunk(f"data: {first if isinstance(first, str) else json.dumps(first, ensure_ascii=False)}\n\n")
                first = next(frames, None)
        except Refused as refused:
            self.chunk(f"data: {json.dumps(refused.body)}\n\n")
        finally:
            frames.close()
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, text):
        content = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))

    def log_message(self, *_):
        """What is asked is nobody's business but the client's."""


def asked_of(path, kind, content):
    if kind.lower().startswith("multipart/form-data"):
        return form_of(path, kind, content)
    try:
        fields = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is no JSON: {error}", "invalid_json") from error
    if not isinstance(fields, dict):
        raise Refused(400, "the body is no object", "invalid_json")
    return Asked(path, fields, {})


def form_of(path, kind, content):
    """A field whose name ends in [] is a list."""
    message = BytesParser(policy=HTTP).parsebytes(b"content-type: " + kind.encode("latin-1") + b"\r\n\r\n" + content)
    if not message.is_multipart():
        raise Refused(400, "the form has no parts", "invalid_form")
    fields, files = {}, {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None:
            files[name] = part.get_payload(decode=True) or b""
        elif name is not None:
            value = (part.get_payload(decode=True) or b"").decode("utf-8", "replace")
            fields[name] = [*fields.get(name, []), value] if name.endswith("[]") else value
    return Asked(path, fields, files)


def parser(prog):
    made = argparse.ArgumentParser(prog=prog, allow_abbrev=False)
    made.add_argument("--model", required=True)
    made.add_argument("--alias", required=True)
    made.add_argument("--port", type=int, required=True)
    made.add_argument("--threads", type=int, default=1)
    return made


def library(load):
    """What `load` imports, or the sentence by which everybody knows that it is not there."""
    try:
        return load()
    except ImportError as error:
        raise Failed(f"the engine's library could not be loaded: {error}") from error


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port, model, routes):
        super().__init__(("127.0.0.1", port), Handler)
        self.model = model
        self.routes = routes
        self.key = os.environ.pop("ENGINE_API_KEY", "")

    def handle_error(self, *_):
        error = sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            super().handle_error(*_)


def run(prog, argv, arguments, load):
    """`load(given)` makes the routes; the port opens when that is done."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    given = arguments.parse_args(argv)
    try:
        server = Server(given.port, given.alias, load(given))
    except (Failed, OSError) as error:
        print(f"{prog}: {error}", file=sys.stderr, flush=True)
        return 1
    print(f"{prog}: ready on port {given.port}", flush=True)
    server.serve_forever()
    return 0


class Turn:
    """One request after the other in the engine: `with turn:`; whoever streams holds it until the end."""

    def __init__(self):
        self._lock = threading.Lock()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()
