"""A whole platform for integration tests: the real supervisor, its real children, a data directory of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx

from gpustack_lite.cli import record
from gpustack_lite.cli.record import Record
from gpustack_lite.ports import SystemDisk, SystemProcesses

ROOT = Path(__file__).parents[1]
CLI = (sys.executable, "-m", "gpustack_lite.cli")
T = TypeVar("T")
Document = dict[str, Any]


def environment(**extra: str) -> dict[str, str]:
    """Ours without what a person configured; English, and the checkout before whatever is installed."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GPUSTACK_LITE_")}
    return clean | {"PYTHONPATH": str(ROOT), "GPUSTACK_LITE_LANG": "en", "PYTHONUNBUFFERED": "1"} | extra


def cli(
    *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 90, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [*CLI, *arguments],
        env=environment(**(env or {})),
        input=given,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def until(condition: Callable[[], T], seconds: float, *, why: Callable[[], str] = lambda: "") -> T:
    """The first truthy answer; AssertionError when the time runs out. An HTTP error counts as not yet."""
    ends_at = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < ends_at:
        try:
            if answer := condition():
                return answer
            last = answer
        except httpx.HTTPError as error:
            last = error
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s, last {last!r}\n{why()}")


class Platform:
    """`with Platform(tmp_path) as platform:` starts it on a free port and ends it with everything it started."""

    def __init__(
        self,
        folder: Path,
        *,
        model_roots: Sequence[Path] = (),
        simulate: str | None = None,
        ram_bytes: int | None = None,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = (*CLI, "start"),
        waits: bool = True,
    ) -> None:
        self.data_dir = folder / "data"
        self.env = environment(**(env or {}))
        self._waits = waits
        self._output = folder / "supervisor.out"
        self._argv = [*command, "--port", "0", "--data-dir", str(self.data_dir), *arguments]
        self._argv += [part for root in model_roots for part in ("--model-root", str(root))]
        if ram_bytes is not None:
            simulate = str(_declare_ram(folder, ram_bytes))
        if simulate is not None:
            self._argv += ["--simulate", simulate]
        self._keys: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._api: httpx.Client | None = None

    # --- life

    def __enter__(self) -> "Platform":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._argv, env=self.env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            until(self._is_up, 90, why=self.story)
        except BaseException:
            self.stop()
            raise

    def _is_up(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the supervisor ended with {self._process.returncode}\n{self.story()}")
        now = self.record
        if now is None or now.supervisor.pid != self._process.pid:
            return False
        return not self._waits or httpx.get(f"{now.url}/readyz", trust_env=False).status_code == 200

    def stop(self) -> None:
        """TERM and wait; whatever is left of this data directory is killed, so that no test leaves a process."""
        if self._api is not None:
            self._api.close()
            self._api = None
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(45)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def wait_for_end(self, seconds: float = 45) -> int:
        assert self._process is not None
        code = self._process.wait(seconds)
        self._process = None
        return code

    def processes(self) -> list[int]:
        """Everything alive that belongs to this data directory: supervisor's children, and engines by their folder."""
        wanted = str(self.data_dir).encode()
        return [pid for pid in _pids() if pid != os.getpid() and wanted in _spoken_of(pid)]

    # --- what it is

    @property
    def record(self) -> Record | None:
        return record.read(SystemDisk(), self.data_dir / "run" / "supervisor.json")

    @property
    def url(self) -> str:
        assert self.record is not None
        return self.record.url

    @property
    def supervisor_pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def api(self) -> httpx.Client:
        """The management API with the supervisor's own credential."""
        if self._api is None:
            token = (self.data_dir / "run" / "cli_token").read_text().strip()
            self._api = httpx.Client(
                base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False
            )
        return self._api

    def pid(self, role: str) -> int | None:
        """Of a living child: "server", "gateway-0" (or "gateway"), "worker"."""
        role = "gateway-0" if role == "gateway" else role
        now = self.record
        identity = None if now is None else now.children.get(role)
        return identity.pid if identity is not None and SystemProcesses().is_alive(identity) else None

    def kill(self, role: str, signum: int = signal.SIGKILL) -> int:
        """Send the signal to a child and answer with the pid it had; a killed one is gone when this returns."""
        pid = self.until(lambda: self.pid(role), seconds=30)
        assert pid is not None
        os.kill(pid, signum)
        if signum == signal.SIGKILL:
            self.until(lambda: self.pid(role) != pid, seconds=10)
        return pid

    def signal(self, signum: int) -> None:
        """To the supervisor."""
        assert self._process is not None
        self._process.send_signal(signum)

    def reap(self) -> None:
        """After a kill -9 of the supervisor."""
        assert self._process is not None
        self._process.wait(10)
        self._process = None

    # --- waiting

    def until(self, condition: Callable[[], T], seconds: float) -> T:
        return until(condition, seconds, why=self.story)

    def wait_api(self, seconds: float = 30) -> None:
        self.until(lambda: self.api.get("/api/v1/models").status_code == 200, seconds)

    def wait_ready(self, name: str, seconds: float = 60) -> Document:
        def is_ready() -> Document | None:
            model = self.model(name)
            if model.get("state") == "failed":
                raise AssertionError(f"{name} failed: {self.instances(name)}\n{self.story()}")
            return model if model.get("state") == "ready" else None

        ready = self.until(is_ready, seconds)
        assert ready is not None
        return ready

    def together(self, *acts: Callable[[], object]) -> None:
        """At once, each in a thread; the first error is raised."""
        assert self.api  # made once, before the threads ask for it
        errors: list[BaseException] = []

        def run(act: Callable[[], object]) -> None:
            try:
                act()
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=run, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    # --- using it

    def key(self, name: str = "test", *, models: Sequence[str] = ("*",), scopes: Sequence[str] = ("inference",)) -> str:
        """An API key that the gateways know; the same one when it is asked for again."""
        label = json.dumps([name, *models, *scopes])
        if label not in self._keys:
            body = {"name": name, "models": list(models), "scopes": list(scopes)}
            key = str(_ok(self.api.post("/api/v1/keys", json=body))["key"])
            if "inference" in scopes:
                self.until(lambda: self._knows(key), seconds=40)
            self._keys[label] = key
        return self._keys[label]

    def _knows(self, key: str) -> bool:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.get(f"{self.url}/v1/models", headers=headers, trust_env=False).status_code == 200

    def deploy(self, name: str, *, source: str = "none:", **spec: object) -> Document:
        return _ok(self.api.post("/api/v1/models", json={"name": name, "source": source, **spec}))

    def create_backend(self, spec: Document) -> Document:
        return _ok(self.api.post("/api/v1/backends", json=spec))

    def model(self, name: str) -> Document:
        return _ok(self.api.get(f"/api/v1/models/{name}"))

    def instances(self, model: str) -> list[Document]:
        found: list[Document] = _ok(self.api.get(f"/api/v1/models/{model}/instances"))["items"]
        return found

    def usage(self, by: str = "model") -> list[Document]:
        rows: list[Document] = _ok(self.api.get("/api/v1/usage", params={"by": by}))["items"]
        return rows

    def requests(self, model: str) -> list[Document]:
        rows: list[Document] = _ok(self.api.get("/api/v1/requests", params={"model": model}))["items"]
        return rows

    def chat(self, model: str, text: str, **more: object) -> Document:
        body = {"model": model, "messages": [{"role": "user", "content": text}], **more}
        headers = {"Authorization": f"Bearer {self.key()}"}
        return _ok(self.api.post("/v1/chat/completions", json=body, headers=headers))

    def metric(self, name: str) -> float:
        """The sum over the labels of one metric."""
        lines = self.api.get("/metrics").text.splitlines()
        values = [line.rpartition(" ")[2] for line in lines if line.partition("{")[0].partition(" ")[0] == name]
        return sum(float(value) for value in values)

    # --- finding out

    def find_in_data_dir(self, secret: str) -> list[Path]:
        wanted = secret.encode()
        return [path for path in self.data_dir.rglob("*") if path.is_file() and wanted in path.read_bytes()]

    def output(self) -> str:
        """What the supervisor said."""
        return self._output.read_text(errors="replace") if self._output.exists() else ""

    def story(self) -> str:
        """The ends of all logs, for the message of a failed test."""
        logs = sorted((self.data_dir / "logs").glob("*.log")) if self.data_dir.exists() else []
        ends = [f"--- {path.name}\n" + path.read_text(errors="replace")[-3000:] for path in logs]
        return "\n".join([f"--- output\n{self.output()[-2000:]}", *ends])


def _ok(answer: httpx.Response) -> Document:
    assert answer.is_success, f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}"
    document: Document = answer.json() if answer.content else {}
    return document


def _declare_ram(folder: Path, ram_bytes: int) -> Path:
    path = folder / "declared.yaml"
    path.write_text(f"ram_bytes: {ram_bytes}\ndevices:\n  - {{chip: 910B3, count: 1, memory: 64G}}\n")
    return path


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def is_running(pid: int) -> bool:
    """False for a zombie, which holds nothing any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _spoken_of(pid: int) -> bytes:
    """Arguments, environment and folder of a process that runs."""
    try:
        if not is_running(pid):
            return b""
        told = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        return told + os.readlink(f"/proc/{pid}/cwd").encode()
    except OSError:
        return b""
