"""The bytes of stored files, below `files/` in the data dir, each under its id; for threads, because disks wait."""

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

_NEW = ".new"


class FileStore:
    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "files"

    def path(self, file_id: str) -> Path:
        return self.folder / file_id

    def incoming(self, file_id: str) -> "Incoming":
        """
        Raises:
            OSError: the disk does not take it.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Incoming(self.path(file_id))

    def remove(self, file_id: str) -> None:
        self.path(file_id).unlink(missing_ok=True)

    def left_over(self, known: set[str], older_than: float) -> Iterator[Path]:
        """What nobody knows and nobody has written to since that time of the wall clock, in seconds since 1970."""
        try:
            found = list(self.folder.iterdir())
        except FileNotFoundError:
            return
        for path in found:
            if path.name not in known and path.stat().st_mtime < older_than:
                yield path


class Incoming:
    """Beside its place until `keep`; then all of it is on the disk, under its own name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}{_NEW}")
        self._descriptor = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self._is_closed = False

    def append(self, data: bytes | bytearray) -> None:
        with self._lock:
            write_all(self._descriptor, data)

    def keep(self) -> None:
        with self._lock:
            os.fsync(self._descriptor)
            self._close()
            self._beside.rename(self._path)
            sync_directory(self._path.parent)

    def discard(self) -> None:
        with self._lock:
            self._close()
            self._beside.unlink(missing_ok=True)

    def _close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            os.close(self._descriptor)


def write_all(descriptor: int, data: bytes | bytearray) -> None:
    with memoryview(data) as view:
        done = 0
        while done < len(view):
            done += os.write(descriptor, view[done:])


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def id_of(batch_id: str, kind: str) -> str:
    """Of the file that a batch writes: the same after every restart, so that the work goes on where it stopped."""
    return "file-" + hashlib.sha256(f"{batch_id}:{kind}".encode()).hexdigest()[:32]
