"""A file that has no name, so that nothing of it is left when its process ends, however it ends."""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Scratch:
    """Written and read in threads, closed from anywhere: a descriptor never closes under a thread that uses it.

    Raises:
        OSError: the disk does not take it, or it was closed.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  # closed by `close`; mode 0600
        self._lock = threading.Lock()
        self._users = 0
        self._is_closed = False

    def append(self, data: bytes | bytearray) -> None:
        with self._open() as descriptor, memoryview(data) as view:
            done = 0
            while done < len(view):
                done += os.write(descriptor, view[done:])

    def read(self, start: int, size: int) -> bytes:
        with self._open() as descriptor:
            return os.pread(descriptor, size, start)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._close_unless_used()

    @contextmanager
    def _open(self) -> Iterator[int]:
        with self._lock:
            if self._is_closed:
                raise OSError("it was closed")
            self._users += 1
        try:
            yield self._file.fileno()
        finally:
            with self._lock:
                self._users -= 1
                self._close_unless_used()

    def _close_unless_used(self) -> None:
        if self._is_closed and not self._users:
            self._file.close()
