"""`python -P -m gpustack_lite.cli.child ROLE`: where the parts of a child process are put together."""

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel

from gpustack_lite import logs, settings
from gpustack_lite.cli import refusals
from gpustack_lite.cli.family import MARK
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings

log = logging.getLogger(__name__)


class Told(BaseModel):
    """GPUSTACK_LITE_CHILD: what the supervisor says to one child."""

    data_dir: Path
    listen_fd: int | None = None
    tls_fd: int | None = None
    server_fd: int | None = None
    server_socket: Path | None = None
    index: int = 0
    server_url: str | None = None
    join_token_file: Path | None = None


@contextmanager
def loading() -> Iterator[None]:
    """Modules are no garbage: looking for it while they load takes a tenth of a start, and later of every search."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def run_server(settings: Settings, ports: Ports, told: Told) -> None:
    with loading():
        from gpustack_lite.server.main import run

    run(settings, ports, server_fd=told.server_fd, data_dir=told.data_dir)


def run_gateway(settings: Settings, ports: Ports, told: Told) -> None:
    with loading():
        from gpustack_lite.gateway.main import run

    if told.listen_fd is None or told.server_socket is None:
        raise Refusal("child_lacks_socket", role="gateway")
    run(
        settings,
        ports,
        listen_fd=told.listen_fd,
        tls_fd=told.tls_fd,
        server_socket=told.server_socket,
        data_dir=told.data_dir,
        index=told.index,
    )


def run_worker(settings: Settings, ports: Ports, told: Told) -> None:
    with loading():
        from worker.main import run

    token_file = told.join_token_file or told.data_dir / "run" / "local_join_token"
    token = ports.disk.read(token_file)
    run(
        settings,
        ports,
        server_socket=told.server_socket,
        server_url=told.server_url,
        join_token=None if token is None else token.decode().strip(),
        data_dir=told.data_dir,
    )


def check(settings: Settings, ports: Ports, told: Told) -> None:
    """Load every role's code and end: asked before a supervisor replaces itself with what is installed now."""
    for module in ("cli.launch", "cli.start", "cli.join", "gateway.main", "server.main"):
        import_module(f"gpustack_lite.{module}")
    import_module("worker.main")


RUN: dict[str, Callable[[Settings, Ports, Told], None]] = {
    "server": run_server,
    "gateway": run_gateway,
    "worker": run_worker,
    "check": check,
}


def main() -> None:
    kind = sys.argv[1]
    told = Told.model_validate_json(os.environ.pop("GPUSTACK_LITE_CHILD"))
    os.environ.pop(MARK, None)  # marks us, not the engines that a worker starts
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the supervisor, which ends us in order
    role = f"{kind}-{told.index}" if kind == "gateway" else kind
    ports = Ports()
    try:
        given = settings.load()
        logs.configure(given.log_level, process=role)
        RUN[kind](given, ports, told)
    except Refusal as refusal:
        log.error("refused", extra={"code": refusal.code, "params": dict(refusal.params)})
        refusals.leave(ports.disk, told.data_dir / "run", role, refusal)
        sys.exit(refusals.EXIT_CODE)


if __name__ == "__main__":
    main()
