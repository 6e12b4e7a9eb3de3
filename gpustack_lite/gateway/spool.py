"""Usage that waits for the server: checksummed lines in files that one process alone writes, removed when delivered."""

import logging
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path

from gpustack_lite.gateway import owned, rows
from gpustack_lite.ports import Disk, Identity, Processes

log = logging.getLogger(__name__)
KIND, SUFFIX = "usage", ".spool"
MOST_BYTES = 256 * 1024**2
MOST_KEPT_ROWS = 10_000


class Spool:
    """Files are named usage.PID.TICKS.BOOT.NUMBER.spool: whose writer is gone belongs to whoever finds it.

    A file is only ever appended to by its writer, and only while it has its highest number; `seal` begins the next.
    Everything here blocks and may be called from several threads: a file is never delivered while it is written to.
    """

    def __init__(
        self, directory: Path, disk: Disk, processes: Processes, me: Identity, most_bytes: int = MOST_BYTES
    ) -> None:
        self._directory = directory
        self._disk = disk
        self._processes = processes
        self._me = me
        self._most_bytes = most_bytes
        self._number = 0
        self._current_bytes = 0
        self._waiting_bytes = 0
        self._has_failed = False
        self._bytes: dict[str, int] = {}
        """Of our own files by name."""
        self._kept: dict[str, list[bytes] | None] = {}
        """Their rows: nobody need read them back, until there are too many."""
        self._lock = threading.RLock()
        self.waiting_rows = 0
        self.dropped_rows = 0

    @property
    def _current(self) -> Path:
        return self._directory / owned.name_of(KIND, self._me, self._number, SUFFIX)

    def append(self, texts: Sequence[bytes]) -> None:
        """Rows as JSON, on the platter when it returns. When the spool is full the rows are counted and lost, aloud.

        Raises:
            OSError: nothing is promised; append them again, which writes them into the next file.
        """
        if texts:
            with self._lock:
                self._append(b"".join([encode(text) for text in texts]), texts)

    def _append(self, lines: bytes, texts: Sequence[bytes]) -> None:
        if self._has_failed:
            self.seal()
        if self._waiting_bytes + len(lines) > self._most_bytes:
            self.dropped_rows += len(texts)
            log.error("usage_spool_full", extra={"dropped_rows": self.dropped_rows, "limit_bytes": self._most_bytes})
            return
        self._has_failed = True  # until it has not: half a line at the end would spoil the next one
        self._current_bytes += len(lines)
        self._disk.append(self._current, lines)
        self._has_failed = False
        self._waiting_bytes += len(lines)
        self.waiting_rows += len(texts)
        self._keep(self._current.name, len(lines), texts)

    def _keep(self, name: str, size: int, texts: Sequence[bytes]) -> None:
        self._bytes[name] = self._bytes.get(name, 0) + size
        kept = self._kept.setdefault(name, [])
        if kept is not None:
            kept.extend(texts)
        if self.waiting_rows > MOST_KEPT_ROWS:
            self._kept = dict.fromkeys(self._kept)

    def seal(self) -> None:
        """What was written until now can be delivered; what comes goes into another file."""
        with self._lock:
            if self._current_bytes:
                self._number += 1
                self._current_bytes = 0

    def deliverable(self) -> list[Path]:
        """Our sealed files, and those of writers that live no more; oldest names first."""
        return [self._directory / name for name in self._disk.names(self._directory) if self._is_deliverable(name)]

    def _is_deliverable(self, name: str) -> bool:
        writer = writer_of(name)
        if writer is None or name == self._current.name:
            return False
        return writer == self._me or not self._processes.is_alive(writer)

    def read(self, path: Path) -> list[bytes]:
        """The rows as the JSON they were written as."""
        kept = self._kept.get(path.name)
        return kept if kept is not None else decode(self._disk.read(path) or b"", path)

    def ids_by(self, writer: Identity) -> set[str]:
        """The requests of which this process wrote rows that wait still."""
        paths = [self._directory / name for name in self._disk.names(self._directory) if writer_of(name) == writer]
        found = (rows.decode(text) for path in paths for text in self.read(path))
        return {row.request_id for row in found if row is not None}

    def remove(self, path: Path, count: int) -> None:
        self._disk.remove(path)
        if writer_of(path.name) == self._me:
            with self._lock:
                self._kept.pop(path.name, None)
                self._waiting_bytes -= self._bytes.pop(path.name, 0)
                self.waiting_rows = max(0, self.waiting_rows - count)


def writer_of(name: str) -> Identity | None:
    return owned.writer_of(name, KIND, SUFFIX)


def encode(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(data: bytes, path: Path) -> list[bytes]:
    """The rows that are whole; a torn or spoilt line is said aloud and passed over."""
    texts = [_text(line) for line in data.split(b"\n") if line]
    spoilt = texts.count(None)
    if spoilt:
        log.error("usage_spool_damaged", extra={"path": str(path), "lines": spoilt})
    return [text for text in texts if text is not None]


def _text(line: bytes) -> bytes | None:
    checksum, _, text = line.partition(b" ")
    return text if checksum == b"%08x" % zlib.crc32(text) else None
