"""A reverse proxy that shows a platform below a path, as `location /ai/ { proxy_pass http://platform/; }` of nginx."""

import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

PIECE_BYTES = 64 * 1024
NOT_HERE = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_PROXYS_OWN = re.compile(rb"\r\n(?:connection|x-forwarded-[a-z]+): [^\r]*", re.IGNORECASE)


@contextmanager
def reverse_proxy(platform: str, below: str, *, client: str = "203.0.113.9") -> Iterator[str]:
    """Its address without `below`. Each connection carries one request, as if it came over TLS from `client`."""
    with _Proxy(urlsplit(platform).port or 80, below.encode(), client.encode()) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{proxy.server_address[1]}"
        proxy.shutdown()
        thread.join(10)


class _Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, below: bytes, client: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Passage)
        self.port, self.below, self.client = port, below, client


class _Passage(socketserver.BaseRequestHandler):
    server: _Proxy

    def handle(self) -> None:
        here: socket.socket = self.request
        with suppress(OSError):
            head, begun = _read_head(here)
            there_head = self._rewritten(head)
            if there_head is None:
                here.sendall(NOT_HERE)
                return
            with socket.create_connection(("127.0.0.1", self.server.port)) as there:
                there.sendall(there_head + begun)
                threading.Thread(target=_copy, args=(here, there), daemon=True).start()
                _copy(there, here)

    def _rewritten(self, head: bytes) -> bytes | None:
        method, _, rest = head.partition(b" ")
        if not rest.startswith(self.server.below + b"/"):
            return None
        line, _, fields = rest.removeprefix(self.server.below).partition(b"\r\n")
        kept = _PROXYS_OWN.sub(b"", b"\r\n" + fields)
        said = b"\r\nconnection: close\r\nx-forwarded-for: 6.6.6.6, %s\r\nx-forwarded-proto: https\r\n\r\n"
        return method + b" " + line + kept + said % self.server.client


def _read_head(here: socket.socket) -> tuple[bytes, bytes]:
    """The head without its empty line, and what of the body came with it."""
    data = b""
    while b"\r\n\r\n" not in data and (piece := here.recv(PIECE_BYTES)):
        data += piece
    head, _, begun = data.partition(b"\r\n\r\n")
    return head, begun


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(PIECE_BYTES):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
