"""What is measured: the mock engine, and the proxies before it, each a process that ends with its `with`."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_lite.wire import Limits
from tests.fakes.gateway_world import KEY, World, credential, route

HERE = Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")
PLENTY = Limits(requests_per_minute=10**9, tokens_per_minute=10**12, concurrency=10**6)
"""Limits that are kept and never reached: looking costs the same."""


@dataclass(frozen=True)
class Shape:
    """One port of the mock engine; its name is the model's too. A pace of 0 is as fast as it goes."""

    name: str
    chunks: int
    pace_us: int
    port: int = 0


SHAPES = (Shape("paced", 50, 20_000), Shape("dense", 100, 10_000), Shape("flood", 1_000_000, 0))


@dataclass(frozen=True)
class Target:
    """Who is asked: on which port for which shape, and whose processor time it costs."""

    name: str
    ports: Mapping[str, int]
    pids: tuple[int, ...] = ()
    key: str = KEY

    @property
    def cpu_seconds(self) -> float:
        return sum(_cpu_seconds(pid) for pid in self.pids)

    @property
    def rss_mb(self) -> float:
        return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 for pid in self.pids) / 1e6


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass(frozen=True)
class Cores:
    """The proxies have one core to themselves; the engine and the load share the other."""

    proxies: set[int] = field(default_factory=lambda: {max(os.sched_getaffinity(0))})
    others: set[int] = field(default_factory=lambda: {min(os.sched_getaffinity(0))})


def compiled(folder: Path, name: str) -> Path:
    program = folder / name
    subprocess.run(["gcc", "-O2", "-o", program, HERE / f"{name}.c"], check=True)
    return program


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def process(
    argv: list[str | Path], output: Path, cores: set[int], env: Mapping[str, str] | None = None
) -> Iterator[int]:
    with output.open("ab") as log:
        started = subprocess.Popen(
            argv, stdout=log, stderr=log, env={**os.environ, **(env or {})}, start_new_session=True
        )
    try:
        os.sched_setaffinity(started.pid, cores)
        yield started.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def wait_for_port(port: int, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


@contextlib.contextmanager
def engine(folder: Path, cores: Cores) -> Iterator[Target]:
    ports = {shape.name: free_port() for shape in SHAPES}
    given: list[str | Path] = [f"{ports[shape.name]}:{shape.chunks}:{shape.pace_us}" for shape in SHAPES]
    with process([compiled(folder, "engine"), *given], folder / "engine.log", cores.others) as pid:
        for port in ports.values():
            wait_for_port(port)
        yield Target("direct", ports, (pid,))


@contextlib.asynccontextmanager
async def gateway(folder: Path, behind: Target, cores: Cores) -> AsyncIterator[tuple[Target, World]]:
    """The real process, with authentication, limits, metrics and usage."""
    async with World(folder / "world") as world:
        routes = tuple(
            route(name, f"127.0.0.1:{port}").model_copy(update={"id": number})
            for number, (name, port) in enumerate(behind.ports.items())
        )
        await world.server.publish(routes, (credential(KEY, limits=PLENTY),))
        os.sched_setaffinity(world.gateway.pid, cores.proxies)
        yield Target("gpustack-lite", dict.fromkeys(behind.ports, world.gateway.port), (world.gateway.pid,)), world


NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 12000; }}
http {{
  access_log off; keepalive_requests 1000000000; client_max_body_size 100m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {servers}
}}
"""
SERVER = """
  upstream {name} {{ server 127.0.0.1:{engine}; keepalive 512; keepalive_requests 1000000000; }}
  server {{ listen 127.0.0.1:{port}; location / {{
    proxy_pass http://{name}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }} }}
"""


@contextlib.contextmanager
def nginx(folder: Path, behind: Target, cores: Cores) -> Iterator[Target | None]:
    """A plain relay that looks at nothing. None where it is not installed."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        yield None
        return
    ports = {name: free_port() for name in behind.ports}
    servers = "".join(SERVER.format(name=name, engine=behind.ports[name], port=ports[name]) for name in ports)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, servers=servers))
    argv: list[str | Path] = [program, "-p", folder, "-c", folder / "nginx.conf", "-g", "master_process off;"]
    with process(argv, folder / "nginx.out", cores.proxies) as pid:
        for port in ports.values():
            wait_for_port(port)
        yield Target("nginx", ports, (pid,))


LITELLM = """
model_list:
{models}
general_settings: {{ master_key: {key} }}
litellm_settings: {{ telemetry: false }}
"""
MODEL = """
  - model_name: {name}
    litellm_params: {{ model: openai/{name}, api_base: "http://127.0.0.1:{port}/v1", api_key: none }}
"""


def litellm_venv(given: Path | None) -> Path:
    """The virtual environment that has LiteLLM, made by uv where none was named; never a part of ours."""
    if given is not None:
        return given
    made = Path(tempfile.gettempdir()) / "gpustack-lite-benchmark-litellm"
    if not (made / "bin" / "litellm").exists():
        subprocess.run(["uv", "venv", "--python", "3.11", made], check=True)
        subprocess.run(["uv", "pip", "install", "--python", made / "bin" / "python", "litellm[proxy]"], check=True)
    return made


@contextlib.contextmanager
def litellm(folder: Path, behind: Target, cores: Cores, venv: Path) -> Iterator[Target]:
    """One worker with a master key."""
    port, key = free_port(), "sk-of-the-benchmark"
    models = "".join(MODEL.format(name=name, port=each) for name, each in behind.ports.items())
    (folder / "litellm.yaml").write_text(LITELLM.format(models=models, key=key))
    argv = [venv / "bin" / "litellm", "--config", folder / "litellm.yaml", "--host", "127.0.0.1", "--port", str(port)]
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PATH": f"{venv}/bin:{os.environ.get('PATH', '')}"}
    with process([*argv, "--num_workers", "1"], folder / "litellm.log", cores.proxies, env) as pid:
        _wait_until_alive(port)
        yield Target("LiteLLM", dict.fromkeys(behind.ports, port), (pid,), key)


def _wait_until_alive(port: int, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
