"""An engine that misbehaves on demand: forks children that hold a lock file, exits, floods its log, ignores TERM."""

import argparse
import errno
import fcntl
import http.server
import os
import signal
import sys
import threading
import time


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--say", default="mock engine")
    parser.add_argument("--exit-after-start", type=int, default=None)
    parser.add_argument("--children", type=int, default=0)
    parser.add_argument("--lock-file")
    parser.add_argument("--children-ignore-term", action="store_true")
    parser.add_argument("--children-lose-marker", action="store_true")
    parser.add_argument("--flood-lines", type=int, default=0)
    parser.add_argument("--sick-file")
    parser.add_argument("--busy-starts", type=int, default=0)
    parser.add_argument("--count-file")
    return parser.parse_args()


class Health(http.server.BaseHTTPRequestHandler):
    sick_file: str | None = None

    def do_GET(self) -> None:
        is_sick = self.sick_file is not None and os.path.exists(self.sick_file)
        body = f"pid {os.getpid()}".encode()
        self.send_response(503 if is_sick else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def child(options: argparse.Namespace, number: int) -> None:
    """In a session of its own, as some engines put their workers; holds a share of the lock."""
    if number % 2:
        os.setsid()
    else:
        os.setpgid(0, 0)
    if options.children_ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.lock_file:
        descriptor = os.open(options.lock_file, os.O_RDWR | os.O_CREAT)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    if options.children_lose_marker:  # as setproctitle does, which writes over the environment
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})
    while True:
        time.sleep(60)


def main() -> None:
    options = parse()
    print(options.say, flush=True)
    if options.exit_after_start is not None:
        raise SystemExit(options.exit_after_start)
    if options.count_file and count(options.count_file) <= options.busy_starts:
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    Health.sick_file = options.sick_file
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Health)
    for number in range(options.children):  # they inherit the listening socket, too
        if os.fork() == 0:
            child(options, number)
    if options.flood_lines:
        threading.Thread(target=flood, args=(options.flood_lines,), daemon=True).start()
    server.serve_forever()


def count(path: str) -> int:
    """How often an engine was started with this file."""
    with open(path, "a+") as file:
        file.write("x")
        file.flush()
        return os.path.getsize(path)


def flood(lines: int) -> None:
    for number in range(lines):
        sys.stdout.write(f"line {number:09}\n")
        if number % 1000 == 0:
            sys.stdout.flush()
            time.sleep(0.005)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
