"""An engine that hides a program: forked twice, in a session of its own, with nothing in its environment."""

import http.server
import os
import sys


def hide(pid_file: str) -> None:
    if (middle := os.fork()) == 0:
        os.setsid()
        if (hidden := os.fork()) != 0:
            with open(pid_file, "w") as file:
                file.write(str(hidden))
            os._exit(0)
        os.execve(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(600)"], {})
    os.waitpid(middle, 0)


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


if __name__ == "__main__":
    hide(sys.argv[2])
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
