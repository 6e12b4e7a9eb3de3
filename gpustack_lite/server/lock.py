"""One server per data dir: an flock that the system gives back however the process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Clock

NAME = "server.lock"
PATIENCE_SECONDS = 5.0
"""So long a successor waits for the server that it replaces."""
_PAUSE_SECONDS = 0.05


@contextmanager
def locked(data_dir: Path, clock: Clock, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Hold the lock; the file names the process that does.

    Raises:
        Refusal: `data_dir_not_writable`, or `data_dir_in_use` when another server keeps it.
    """
    descriptor = _open(data_dir)
    try:
        _acquire(descriptor, data_dir, clock, patience_seconds)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(data_dir: Path) -> int:
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(data_dir / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refusal("data_dir_not_writable", status=500, path=str(data_dir), why=error.strerror) from error


def _acquire(descriptor: int, data_dir: Path, clock: Clock, patience_seconds: float) -> None:
    until = clock.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if clock.monotonic() >= until:
                pid = os.pread(descriptor, 32, 0).decode("ascii", "ignore") or None
                raise Refusal("data_dir_in_use", status=409, pid=pid, path=str(data_dir)) from error
            clock.pause(_PAUSE_SECONDS)
        else:
            return
