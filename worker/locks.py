"""One at a time, over threads, processes and, where the file system does it, machines: held through flock.

So a lock ends with the process that holds it, however that ends: none is left behind.
"""

import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from gpustack_lite.ports import Clock

POLL_SECONDS = 0.2


@asynccontextmanager
async def only_one(lock: Path, clock: Clock) -> AsyncIterator[None]:
    with _opened(lock) as descriptor:
        while not _locked(descriptor):
            await clock.sleep(POLL_SECONDS)
        yield


@contextmanager
def only_one_thread(lock: Path, clock: Clock, on_wait: Callable[[], None]) -> Iterator[None]:
    """`on_wait` is called again and again while another one holds it, and may raise to give up."""
    with _opened(lock) as descriptor:
        while not _locked(descriptor):
            on_wait()
            clock.pause(POLL_SECONDS)
        yield


@contextmanager
def _opened(lock: Path) -> Iterator[int]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
