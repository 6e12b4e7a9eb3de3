"""The gateway's process: serves on the socket that it was handed, and leaves in order."""

import asyncio
import gc
import logging
import os
import signal
import socket
from pathlib import Path

import uvloop

from gpustack_lite import certificates, descriptors, heap
from gpustack_lite.certificates import Certificates
from gpustack_lite.gateway.leaving import Leaving
from gpustack_lite.gateway.parts import Chore, Parts
from gpustack_lite.loop import keep_reconciling
from gpustack_lite.ports import Ports, short_unix_path
from gpustack_lite.settings import Settings

log = logging.getLogger(__name__)
BACKLOG = 2048
FILES_FOR_OURSELVES = 512


def run(
    settings: Settings,
    ports: Ports,
    *,
    listen_fd: int,
    server_socket: Path,
    data_dir: Path,
    index: int = 0,
    tls_fd: int | None = None,
) -> None:
    """Until SIGTERM (finish what runs, at most 30 s) or SIGHUP (finish what runs) has been obeyed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    heap.give_back_large()
    me = ports.processes.identify(os.getpid())
    if me is None:
        raise RuntimeError("this process cannot see itself in /proc")
    parts = Parts(settings, ports, me, server_socket=server_socket, data_dir=data_dir, index=index)
    parts.house.most_connections = _most_connections()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(parts, listen_fd, _tls(settings, tls_fd)))


def _most_connections() -> int:
    """How many connections may be open; an engine's side of each needs a file too."""
    return max(64, (descriptors.raise_limit() - FILES_FOR_OURSELVES) // 2)


def _tls(settings: Settings, tls_fd: int | None) -> tuple[int, Certificates] | None:
    given = certificates.configured(settings)
    return None if given is None or tls_fd is None else (tls_fd, Certificates(given))


def _spare_the_collector() -> None:
    """What lives now lives for ever, and requests leave hardly any cycles: look rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _renewal(tls: tuple[int, Certificates] | None) -> list[Chore]:
    return [] if tls is None else [Chore("certificates", tls[1].step, (), certificates.LOOK_SECONDS)]


def _inner_socket(path: Path) -> socket.socket:
    """For the server's own requests. A successor takes the name over; what was accepted before stays."""
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(short_unix_path(beside))
    beside.chmod(0o600)
    beside.rename(path)
    return bound


async def _serve(parts: Parts, listen_fd: int, tls: tuple[int, Certificates] | None) -> None:
    parts.begin()
    leaving = Leaving(parts)
    chores = [
        asyncio.create_task(
            keep_reconciling(
                chore.name,
                chore.step,
                signals=parts.signals,
                topics=chore.topics,
                every_seconds=chore.every_seconds,
                clock=parts.ports.clock,
            )
        )
        for chore in (*parts.chores(), *_renewal(tls))
    ]
    listener = socket.socket(fileno=listen_fd)
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(parts.door(), sock=listener, backlog=BACKLOG)]
    if tls is not None:
        secured = socket.socket(fileno=tls[0])
        servers += [await loop.create_server(parts.door(), sock=secured, backlog=BACKLOG, ssl=tls[1].context)]
    servers.append(await loop.create_server(parts.door(), sock=_inner_socket(parts.inner_socket), backlog=BACKLOG))
    log.info("gateway_serving", extra={"address": listener.getsockname()})
    _spare_the_collector()
    await leaving.wanted()
    for server in servers:
        server.close()
    await leaving.drain()
    for chore in chores:
        chore.cancel()
    await asyncio.gather(*chores, return_exceptions=True)
    await parts.prober.close()
    await leaving.hand_over()
