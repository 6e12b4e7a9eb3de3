"""The gateway's process: serves on the socket that it was handed, and leaves in order."""

import asyncio
import gc
import logging
import os
import signal
import socket
from pathlib import Path

import uvloop

from gpustack_lite import descriptors
from gpustack_lite.gateway.leaving import Leaving
from gpustack_lite.gateway.parts import Parts
from gpustack_lite.loop import keep_reconciling
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings

log = logging.getLogger(__name__)
BACKLOG = 2048
FILES_FOR_OURSELVES = 512


def run(
    settings: Settings, ports: Ports, *, listen_fd: int, server_socket: Path, data_dir: Path, index: int = 0
) -> None:
    """Until SIGTERM (finish what runs, at most 30 s) or SIGHUP (finish what runs) has been obeyed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    me = ports.processes.identify(os.getpid())
    if me is None:
        raise RuntimeError("this process cannot see itself in /proc")
    parts = Parts(settings, ports, me, server_socket=server_socket, data_dir=data_dir, index=index)
    parts.house.most_connections = _most_connections()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(parts, listen_fd))


def _most_connections() -> int:
    """How many connections may be open; an engine's side of each needs a file too."""
    return max(64, (descriptors.raise_limit() - FILES_FOR_OURSELVES) // 2)


def _spare_the_collector() -> None:
    """What lives now lives for ever, and requests leave hardly any cycles: look rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def _serve(parts: Parts, listen_fd: int) -> None:
    parts.copy.load()
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
        for chore in parts.chores()
    ]
    listener = socket.socket(fileno=listen_fd)
    server = await asyncio.get_running_loop().create_server(parts.door(), sock=listener, backlog=BACKLOG)
    log.info("gateway_serving", extra={"address": listener.getsockname()})
    _spare_the_collector()
    await leaving.wanted()
    server.close()
    await leaving.drain()
    for chore in chores:
        chore.cancel()
    await asyncio.gather(*chores, return_exceptions=True)
    await leaving.hand_over()
