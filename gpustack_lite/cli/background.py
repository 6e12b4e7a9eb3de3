"""A `gpustack-lite start` that runs beside us and ends with us; one that an earlier run left is used as it is."""

import os
import signal
from pathlib import Path
from types import TracebackType

from gpustack_lite.cli import access, record
from gpustack_lite.cli.handover import same_command
from gpustack_lite.cli.readiness import answers
from gpustack_lite.cli.say import tell
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Identity, Ports

START_SECONDS = 120.0
END_SECONDS = 45.0
LOOK_AGAIN_SECONDS = 0.1


class Background:
    """Held with `with`. The platform's data, its output and its model are below `folder`."""

    def __init__(self, folder: Path, port: int, ports: Ports) -> None:
        self._folder = folder
        self._port = port
        self._ports = ports
        self._data_dir = folder / "data"
        self._supervisor: Identity | None = None
        self.url = ""

    @property
    def data_dir(self) -> Path:
        return self._data_dir

    @property
    def password_file(self) -> Path:
        return self._data_dir / "initial_admin_password"

    def __enter__(self) -> "Background":
        self._supervisor = self._running()
        if self._supervisor is None:
            self._supervisor = self._spawn()
        else:
            tell("platform_found", pid=self._supervisor.pid, path=str(self._data_dir))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._is_alive():
                tell("stopping")
        except OSError:
            pass  # the terminal is gone or the pipe is closed: all the more must nothing be left running
        finally:
            self._end()

    def _running(self) -> Identity | None:
        now = self._record()
        return now.supervisor if now is not None and self._ports.processes.is_alive(now.supervisor) else None

    def _record(self) -> record.Record | None:
        return record.read(self._ports.disk, self._data_dir / "run" / "supervisor.json")

    def _spawn(self) -> Identity:
        self._output.unlink(missing_ok=True)
        arguments = ["start", "--port", str(self._port), "--data-dir", str(self._data_dir)]
        return self._ports.processes.spawn(
            same_command([*arguments, "--model-root", str(self._folder / "model")]),
            env=dict(os.environ),
            output=self._output,
        )

    @property
    def _output(self) -> Path:
        return self._folder / "start.log"

    def client(self) -> Client:
        """Once it is ready. Raises Refusal with what `start` said when it ended instead."""
        self._until_ready()
        found = access.local(self._ports, self._data_dir)
        if found is None:
            raise Refusal("server_not_running", path=str(self._data_dir))
        return found.client()

    def _until_ready(self) -> None:
        ends_at = self._ports.clock.monotonic() + START_SECONDS
        while self._ports.clock.monotonic() < ends_at:
            if not self._is_alive():
                raise Refusal("start_failed", said=self._last_words())
            now = self._record()
            if now is not None and now.supervisor == self._supervisor and answers(now.url):
                self.url = now.url
                return
            self._ports.clock.pause(LOOK_AGAIN_SECONDS)
        raise Refusal("start_slow", path=str(self._data_dir / "logs"))

    def _last_words(self) -> str:
        lines = (self._ports.disk.read(self._output) or b"").decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "?"

    def wait(self) -> None:
        """Until a Ctrl-C ends us. Raises Refusal `platform_ended` when somebody else ended it."""
        try:
            while self._is_alive():
                self._ports.clock.pause(LOOK_AGAIN_SECONDS)
        except KeyboardInterrupt:
            return
        raise Refusal("platform_ended", path=str(self._data_dir / "logs"))

    def _is_alive(self) -> bool:
        return self._supervisor is not None and self._ports.processes.is_alive(self._supervisor)

    def _end(self) -> None:
        ends_at = self._ports.clock.monotonic() + END_SECONDS
        self._ask_to_end()
        while self._is_alive() and self._ports.clock.monotonic() < ends_at:
            try:
                self._ports.clock.pause(LOOK_AGAIN_SECONDS)
            except KeyboardInterrupt:
                self._ask_to_end()

    def _ask_to_end(self) -> None:
        if self._supervisor is not None:
            self._ports.processes.send(self._supervisor, signal.SIGTERM)
