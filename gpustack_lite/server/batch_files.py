"""The files of a running batch, for threads: its requests are read, its results appended so that no kill loses one."""

import os
import threading
from pathlib import Path

from gpustack_lite.filestore import sync_directory, write_all
from gpustack_lite.server.batch_lines import Checker, Line, custom_id_of


def check(path: Path, endpoint: str, most_line_bytes: int) -> Checker:
    """
    Raises:
        OSError: the file cannot be read.
    """
    checker = Checker(endpoint, most_line_bytes)
    with path.open("rb") as lines:
        for line in lines:
            checker.take(line)
    checker.end()
    return checker


def read_line(path: Path, line: Line) -> bytes:
    with path.open("rb") as file:
        file.seek(line.start)
        return file.read(line.size)


class Results:
    """The output and the error file. What they hold is the truth of what was done: `done` is read from them.

    Raises:
        OSError: the disk does not take it.
    """

    def __init__(self, output: Path, errors: Path) -> None:
        self.paths = (output, errors)
        self.done: set[str] = set()
        self._counts = [0, 0]
        self._lock = threading.Lock()
        self._is_closed = False
        self.sizes = (0, 0)
        """In bytes, once it was left."""
        self._descriptors = [self._resume(index, path) for index, path in enumerate(self.paths)]
        sync_directory(output.parent)

    def _resume(self, index: int, path: Path) -> int:
        """Opened for appending, behind its last whole line."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        whole_bytes = 0
        with path.open("rb") as lines:
            for line in lines:
                custom_id = custom_id_of(line)
                if custom_id is None:
                    break
                whole_bytes += len(line)
                self.done.add(custom_id)
                self._counts[index] += 1
        os.ftruncate(descriptor, whole_bytes)
        os.fsync(descriptor)
        return descriptor

    def append(self, custom_id: str, line: bytes, *, is_error: bool) -> None:
        """On the disk when it returns. A line that has a result already keeps it."""
        self.append_all([(custom_id, line)], is_error=is_error)

    def append_all(self, lines: list[tuple[str, bytes]], *, is_error: bool) -> None:
        with self._lock:
            if self._is_closed:
                raise OSError("they were closed")
            new = [(custom_id, line) for custom_id, line in lines if custom_id not in self.done]
            _append(self._descriptors[is_error], b"".join(line for _, line in new))
            self.done.update(custom_id for custom_id, _ in new)
            self._counts[is_error] += len(new)

    @property
    def counts(self) -> tuple[int, int]:
        """Completed and failed."""
        with self._lock:
            return self._counts[0], self._counts[1]

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        """A thread that is still on its way finds them closed. A file without a line is removed."""
        with self._lock:
            self._is_closed = True
            self.sizes = self._close(0), self._close(1)

    def _close(self, index: int) -> int:
        size = os.fstat(self._descriptors[index]).st_size
        os.close(self._descriptors[index])
        if not size:
            self.paths[index].unlink(missing_ok=True)
        return size


def _append(descriptor: int, data: bytes) -> None:
    """All of it or nothing: behind half a line no other one could be read."""
    before = os.fstat(descriptor).st_size
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise
