"""From settings to a running supervisor: data directory, lock, sockets (new, inherited or shared with our orphans)."""

import logging
import logging.handlers
import socket
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from gpustack_lite import certificates
from gpustack_lite.cli import handover, listening, record
from gpustack_lite.cli.datadir import DataDir, lock, prepare
from gpustack_lite.cli.family import CHILD_PROGRAM, LOG_BYTES, LOGS_KEPT, MARK, Family
from gpustack_lite.cli.rotation import rotate
from gpustack_lite.cli.say import outlive_readers, tell
from gpustack_lite.cli.supervisor import Stage, Supervisor
from gpustack_lite.errors import Refusal
from gpustack_lite.logs import JsonFormatter
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings


def supervise_platform(
    settings: Settings, ports: Ports, *, program: Sequence[str] = CHILD_PROGRAM, again: Sequence[str] | None = None
) -> None:
    """Run server, gateways and worker of one data directory until somebody asks to stop."""
    inherited = handover.receive()
    data_dir, lock_fd, before = _enter(settings, ports, inherited)
    if inherited is None or inherited.public is None or inherited.server is None:
        public = _bind(settings, before, _orphans(data_dir, ports))
        server = listening.bind_server(data_dir.server_socket)
    else:
        public, server = handover.listener(inherited.public), handover.listener(inherited.server)
    tls = _tls(settings, inherited, _orphans(data_dir, ports))
    gateways = [f"gateway-{number}" for number in range(settings.gateways)]
    family = Family(
        settings,
        data_dir,
        ports,
        roles=("server", *gateways, *(() if settings.no_worker else ("worker",))),
        listen_fd=public.fileno(),
        server_fd=server.fileno(),
        tls_fd=None if tls is None else tls.fileno(),
        program=program,
    )
    stage = Stage(family, lock_fd, listening.public_url(public), public, server, tls, again or _again())
    if tls is not None:
        tell("tls_open", url=listening.public_url(tls, "https"))
    Supervisor(stage, before).run()


def supervise_worker(
    settings: Settings, ports: Ports, server_url: str, token_file: Path, *, program: Sequence[str] = CHILD_PROGRAM
) -> None:
    """Run the worker alone."""
    data_dir, lock_fd, before = _enter(settings, ports, handover.receive())
    family = Family(
        settings,
        data_dir,
        ports,
        roles=("worker",),
        server_url=server_url,
        join_token_file=token_file,
        program=program,
    )
    Supervisor(Stage(family, lock_fd, server_url, again=_again()), before).run()


def _again() -> list[str]:
    return handover.same_command(sys.argv[1:])


def _enter(
    settings: Settings, ports: Ports, inherited: handover.Handover | None
) -> tuple[DataDir, int, record.Record | None]:
    data_dir = prepare(settings.data_dir, ports)
    lock_fd = lock(data_dir) if inherited is None else inherited.lock
    before = record.read(ports.disk, data_dir.record)
    if lock_fd is None:
        raise _already_running(data_dir, before)
    outlive_readers()
    _log_to(data_dir.logs / "supervisor.log", settings.log_level)
    if inherited is None:
        tell("starting", path=str(data_dir.root))
    return data_dir, lock_fd, before


def _already_running(data_dir: DataDir, before: record.Record | None) -> Refusal:
    if before is None:
        return Refusal("already_running_unknown", path=str(data_dir.root))
    return Refusal("already_running", path=str(data_dir.root), pid=before.supervisor.pid, url=before.url)


def _log_to(path: Path, level: str) -> None:
    rotate(path, limit_bytes=LOG_BYTES, kept=LOGS_KEPT)
    handler = logging.handlers.WatchedFileHandler(path, encoding="utf-8")
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _bind(settings: Settings, before: record.Record | None, orphans: Collection[int]) -> socket.socket:
    """Port 0 means any; where orphans of ours listen, theirs is taken again, because their clients know it."""
    port = settings.port
    if port == 0 and before is not None and orphans:
        port = before.port
    return listening.bind_public(settings.host, port, ours=orphans)


def _tls(settings: Settings, inherited: handover.Handover | None, orphans: Collection[int]) -> socket.socket | None:
    """The second public socket, where a certificate is given; one that is inherited is kept."""
    given = certificates.configured(settings)
    if given is None:
        return None
    certificates.load(given)
    if inherited is not None and inherited.tls is not None:
        return handover.listener(inherited.tls)
    port = certificates.DEFAULT_PORT if settings.tls_port is None else settings.tls_port
    return listening.bind_public(settings.host, port, ours=orphans)


def _orphans(data_dir: DataDir, ports: Ports) -> set[int]:
    mark = data_dir.secret("family", ports)
    return {each.pid for each in ports.processes.marked(MARK, mark)}
