"""A stand-in for each child of the supervisor, with the real sockets, signals and exit codes but nothing behind them.

`python role.py KIND`: the server answers on its Unix socket, the gateway answers every request with its pid, is ready
once the others are, and keeps what it streams until it is done, the worker starts one "engine" (this file again) and
finds it again after a restart.
FAKE_ROLE_REFUSES names a kind that refuses, FAKE_ROLE_DIES one that ends at once.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

KIND = sys.argv[1]
TOLD = json.loads(os.environ.get("GPUSTACK_LITE_CHILD", "{}"))
DATA_DIR = Path(TOLD.get("data_dir", "/nonexistent"))
SERVER_FILE, ENGINE_FILE = DATA_DIR / "server.ran", DATA_DIR / "engine.pid"


async def serve(server_kwargs: dict[str, socket.socket], *, is_gateway: bool) -> None:
    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, leaving.set)
    busy: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        busy.add(task)
        line = await reader.readline()
        is_ready = SERVER_FILE.exists() and ENGINE_FILE.exists()
        status = b"503 Not ready" if b"/readyz" in line and not is_ready else b"200 OK"
        writer.write(b"HTTP/1.1 " + status + b"\r\nConnection: close\r\n\r\n")
        for _ in range(int(line.split()[1].decode().partition("?")[2] or 1)):
            writer.write(f"{os.getpid()}\n".encode())
            await writer.drain()
            await asyncio.sleep(0.05 if b"?" in line else 0)
        writer.close()
        busy.discard(task)

    server = await (asyncio.start_server if is_gateway else asyncio.start_unix_server)(answer, **server_kwargs)
    await leaving.wait()
    server.close()
    while busy:
        await asyncio.sleep(0.02)


def work() -> None:
    if not ENGINE_FILE.exists() or not Path(f"/proc/{ENGINE_FILE.read_text()}").exists():
        engine = subprocess.Popen([sys.executable, __file__, "engine"], start_new_session=True, env={})
        ENGINE_FILE.write_text(str(engine.pid))
    number = signal.sigwait({signal.SIGTERM, signal.SIGHUP})
    if number == signal.SIGTERM:
        os.kill(int(ENGINE_FILE.read_text()), signal.SIGKILL)
        ENGINE_FILE.unlink()


def refuse() -> None:
    name = f"{KIND}-{TOLD['index']}" if KIND == "gateway" else KIND
    document = {"code": "unreachable", "params": {"where": "the fake", "why": "it was told so"}}
    (Path(TOLD["data_dir"]) / "run" / f"refused-{name}.json").write_text(json.dumps(document))
    sys.exit(3)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.environ.get("FAKE_ROLE_REFUSES") == KIND:
        refuse()
    if os.environ.get("FAKE_ROLE_DIES") == KIND:
        sys.exit(1)
    match KIND:
        case "server":
            SERVER_FILE.touch()
            asyncio.run(serve({"sock": socket.socket(fileno=TOLD["server_fd"])}, is_gateway=False))
        case "gateway":
            asyncio.run(serve({"sock": socket.socket(fileno=TOLD["listen_fd"])}, is_gateway=True))
        case "worker":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP})
            work()
        case "engine":
            time.sleep(600)


if __name__ == "__main__":
    main()
