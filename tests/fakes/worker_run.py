"""Starts, kills and restarts a real worker process against a made-up server, and leaves nothing behind."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from gpustack_lite.wire import AssignedInstance
from tests.fakes.agent_server import TOKEN, AgentServer, serving

ROOT = Path(__file__).resolve().parents[2]
MOCK_ENGINE = Path(__file__).with_name("mock_engine.py")
WORKER = Path(__file__).with_name("worker_process.py")
MARKER = "GPUSTACK_LITE_INSTANCE"


class WorkerRun:
    """`settings` become GPUSTACK_LITE_* variables; tests use a short back-off and their own ports."""

    def __init__(self, folder: Path, server: AgentServer, socket: Path) -> None:
        self.folder = folder
        self.server = server
        self.socket = socket
        first = 22000 + os.getpid() % 90 * 100
        self.settings: dict[str, str] = {
            "ENGINE_PORTS": f"{first}-{first + 99}",
            "RESTART_BACKOFF_SECONDS": "0.1",
            "STOP_GRACE_SECONDS": "1.0",
            "HEARTBEAT_SECONDS": "0.2",
            "NAME": "w1",
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def uid(self) -> str:
        content = json.loads((self.data / "worker" / "identity.json").read_text())
        uid: str = content["uid"]
        return uid

    def output(self) -> str:
        return (self.folder / "worker.log").read_text(errors="replace")

    def start(self, token: str = TOKEN, **settings: str) -> None:
        self.data.mkdir(mode=0o700, exist_ok=True)
        own = {f"GPUSTACK_LITE_{name}": value for name, value in {**self.settings, **settings}.items()}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GPUSTACK_LITE_")}
        with (self.folder / "worker.log").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(WORKER), str(self.socket), str(self.data), token],
                env={**inherited, **own, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def send(self, signum: int) -> int:
        """Send a signal and answer with the exit code."""
        assert self.process is not None
        self.process.send_signal(signum)
        return self.process.wait(30)

    def marked(self) -> list[int]:
        """The pids of all engine processes of this worker."""
        wanted = f"{MARKER}={self.uid}:".encode()
        return [pid for pid in psutil.pids() if any(each.startswith(wanted) for each in _environment(pid))]

    def clean(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        if (self.data / "worker" / "identity.json").exists():
            for pid in self.marked():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def worker_run(folder: Path) -> Iterator[WorkerRun]:
    sockets = Path(tempfile.mkdtemp(prefix="w"))
    server = AgentServer()
    run = WorkerRun(folder, server, sockets / "s.sock")
    try:
        with serving(server, run.socket):
            try:
                yield run
            finally:
                run.clean()
    finally:
        shutil.rmtree(sockets, ignore_errors=True)


def mock(id: int, *arguments: str, restart_limit: int = 5, **more: Any) -> AssignedInstance:
    """An instance of the mock engine, described as a custom backend."""
    spec = {
        "name": "mock",
        "command": [sys.executable, "-P", str(MOCK_ENGINE), "--port", "{port}", *arguments],
        "env": {},
        "device_kinds": ["cpu"],
        "probe": {"path": "/health", "deadline_seconds": 30},
        "claim": {"device_count": 0, "bytes_per_device": 0, "ram_bytes": 100_000_000},
    }
    return AssignedInstance(
        id=id,
        model=f"model-{id}",
        generation=1,
        source="none:",
        backend="mock",
        backend_spec=spec,
        engine_key=f"engine-key-{id}",
        restart_limit=restart_limit,
        **more,
    )


def echo(id: int, **more: Any) -> AssignedInstance:
    return AssignedInstance(
        id=id, model=f"model-{id}", generation=1, source="none:", backend="echo", engine_key=f"engine-key-{id}", **more
    )


def wait_for(what: Callable[[], Any], seconds: float = 20.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
