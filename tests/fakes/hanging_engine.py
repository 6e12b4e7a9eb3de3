"""An engine that passes its health check and, while a file is there, accepts requests and never answers."""

import argparse
import http.server
import json
import threading
from pathlib import Path

ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


def handler(hangs: Path) -> type[http.server.BaseHTTPRequestHandler]:
    stuck = threading.Event()  # stays so until the process ends, as a deadlock does

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer({})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if hangs.exists():
                hangs.unlink()
                stuck.set()
            if stuck.is_set():
                threading.Event().wait()
            self.answer(ANSWER)

        def answer(self, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--hangs", type=Path, required=True)
    given = parser.parse_args()
    http.server.ThreadingHTTPServer(("127.0.0.1", given.port), handler(given.hangs)).serve_forever()
