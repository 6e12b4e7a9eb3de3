"""A proxy on loopback that notes whom it is asked to reach, and reaches nobody."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class ConnectProxy:
    port: int = 0
    asked_for: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running_proxy() -> Iterator[ConnectProxy]:
    proxy = ConnectProxy()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            method, target, _ = self.rfile.readline(8192).decode("latin-1").split(" ", 2)
            while self.rfile.readline(8192).strip():
                pass
            proxy.asked_for.append(f"{method} {target}")
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        proxy.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
