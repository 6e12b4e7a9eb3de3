"""Assembles the server: lock, database, reconcilers and the HTTP application on one socket."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import uvicorn
import uvloop

from gpustack_lite import descriptors
from gpustack_lite.api import failing
from gpustack_lite.api.app import build
from gpustack_lite.api.context import Context, read_machine_tokens
from gpustack_lite.api.first_start import ensure_admin
from gpustack_lite.api.secrets import warn_about_unreadable
from gpustack_lite.api.vault import open_vault
from gpustack_lite.db.engine import Database, open_database, sqlite_url
from gpustack_lite.db.queries import cluster, secrets
from gpustack_lite.ports import Ports, short_unix_path
from gpustack_lite.server import evaluating, leadership, reconcilers
from gpustack_lite.server.core import Core
from gpustack_lite.server.heartbeats import Heartbeats, Silence
from gpustack_lite.server.lock import locked
from gpustack_lite.server.publish import Publisher
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals

log = logging.getLogger(__name__)
DATABASE_FILE = "gpustack-lite.db"
GRACEFUL_SECONDS = 3
_KEEP_ALIVE_SECONDS = 75


class Http(uvicorn.Server):
    """uvicorn without signal handlers of its own: ours end the long polls first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def run(settings: Settings, ports: Ports, *, server_fd: int | None, data_dir: Path) -> None:
    """Serve until SIGTERM or SIGHUP. Without a descriptor the socket is bound at `run/server.sock`.

    Raises:
        Refusal: the data dir or the database cannot be used.
    """
    os.umask(0o077)
    descriptors.raise_limit()
    with locked(data_dir, ports.clock), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, ports, server_fd, data_dir))


async def _serve(settings: Settings, ports: Ports, server_fd: int | None, data_dir: Path) -> None:
    db = await open_database(settings.database_url or sqlite_url(data_dir / DATABASE_FILE), ports)
    try:
        async with working(settings, ports, db, data_dir) as context:
            http = Http(_http_config(context))
            _end_on_signals(context, http)
            log.info("server_ready", extra={"data_dir": str(data_dir)})
            await http.serve(sockets=[_listening(server_fd, data_dir)])
    finally:
        await db.close()
    log.info("server_ended")


@contextlib.asynccontextmanager
async def working(settings: Settings, ports: Ports, db: Database, data_dir: Path) -> AsyncIterator[Context]:
    """The first start is done and the reconcilers work, whoever serves the application."""
    signals = Signals()
    heartbeats = Heartbeats(ports.clock, signals)
    async with db.write() as session:
        await cluster.secret(session, cluster.ENGINE_KEYS, ports.randomness)
        has_secrets = await secrets.count(session) > 0
    publisher = Publisher(db, signals, ports.clock)
    context = Context(
        settings=settings,
        ports=ports,
        db=db,
        signals=signals,
        data_dir=data_dir,
        published=publisher,
        heartbeats=heartbeats,
        judge=evaluating,
        tokens=read_machine_tokens(ports.disk, data_dir),
        vault=open_vault(settings, ports, data_dir, has_secrets=has_secrets),
    )
    await ensure_admin(context)
    await warn_about_unreadable(context)
    core = Core(db, signals, ports, settings.model_copy(update={"data_dir": data_dir}), epoch=0)
    candidate = leadership.Candidate(
        db=db,
        clock=ports.clock,
        server_id=server_id(ports, data_dir),
        run_id=ports.randomness.unique_id(),
        lease_seconds=settings.lease_seconds,
    )
    work = asyncio.ensure_future(_work(core, heartbeats, publisher, candidate))
    work.add_done_callback(_end_with_it)
    try:
        yield context
    finally:
        context.stop()
        await _end(work)
        await failing.flush(context, at_end=True)
        await heartbeats.flush(db)
        await leadership.resign(candidate)


async def _work(core: Core, heartbeats: Heartbeats, publisher: Publisher, candidate: leadership.Candidate) -> None:
    """What every server does, and what it does while it leads."""
    silence = Silence(core.ports.clock, heartbeats)

    async def lead(epoch: int) -> None:
        publisher.epoch = epoch
        core.signals.touch("progress", "assignments")
        leading = replace(core, epoch=epoch)
        try:
            await reconcilers.keep(leading, reconcilers.of_the_leader(leading, heartbeats, silence))
        finally:
            publisher.epoch = None

    async with asyncio.TaskGroup() as group:
        group.create_task(reconcilers.keep(core, reconcilers.of_every_server(core, heartbeats, publisher)))
        group.create_task(leadership.stand(candidate, lead))


def _end_with_it(work: asyncio.Future[None]) -> None:
    """A server that no longer works must not look as if it did: its supervisor starts a new one."""
    if not work.cancelled() and (error := work.exception()) is not None:
        log.critical("work_ended", exc_info=error)
        signal.raise_signal(signal.SIGTERM)


async def _end(work: asyncio.Future[None]) -> None:
    work.cancel()
    await asyncio.wait([work])


def server_id(ports: Ports, data_dir: Path) -> str:
    """Made once per data dir, so that a restarted server need not wait for its own lease to run out."""
    path = data_dir / "server_id"
    known = ports.disk.read(path)
    if known:
        return known.decode("ascii", "replace")
    made = ports.randomness.unique_id()
    ports.disk.replace(path, made.encode("ascii"))
    return made


def _http_config(context: Context) -> uvicorn.Config:
    return uvicorn.Config(
        build(context),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )


def _end_on_signals(context: Context, http: Http) -> None:
    def end() -> None:
        context.stop()
        http.should_exit = True

    for signum in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(signum, end)


def _listening(server_fd: int | None, data_dir: Path) -> socket.socket:
    if server_fd is not None:
        return socket.socket(fileno=server_fd)
    path = data_dir / "run" / "server.sock"
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(short_unix_path(path))
    bound.listen(128)
    return bound
