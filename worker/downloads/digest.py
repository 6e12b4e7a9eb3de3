"""Whether bytes are those that the hub promised."""

import hashlib
from pathlib import Path

from worker.downloads.names import Expected

PIECE_BYTES = 4 * 1024**2


class Digest:
    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self.done_bytes = 0
        self._hash = hashlib.sha1(usedforsecurity=False) if expected.kind == "git" else hashlib.sha256()
        if expected.kind == "git":
            self._hash.update(f"blob {expected.size_bytes}\0".encode())  # git-hash-object(1)

    def update(self, piece: bytes) -> None:
        self.done_bytes += len(piece)
        if self._expected.kind != "size":
            self._hash.update(piece)

    def is_right(self) -> bool:
        if self.done_bytes != self._expected.size_bytes:
            return False
        return self._expected.kind == "size" or self._hash.hexdigest() == self._expected.value


def of_file(path: Path, expected: Expected) -> Digest:
    """Raises:
    OSError: it cannot be read.
    """
    digest = Digest(expected)
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest


def is_right(path: Path, expected: Expected) -> bool:
    """Reads it all, unless its size is wrong already."""
    try:
        return path.stat().st_size == expected.size_bytes and of_file(path, expected).is_right()
    except OSError:
        return False
