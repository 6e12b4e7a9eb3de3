"""One file from a hub to the disk: goes on where it stopped, and is whole and right when it is done. For threads."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gpustack_lite.errors import Refusal
from worker.downloads import digest
from worker.downloads.digest import Digest
from worker.downloads.names import Expected

WRONG_TRIES = 3


class Stream(NamedTuple):
    """`offset` is where it begins: 0 where the other side does not know ranges."""

    offset: int
    content: Iterator[bytes]


Open = Callable[[int], AbstractContextManager[Stream]]
Note = Callable[[int], None]
"""Is told how many bytes are there, and may raise to end it: what came stays."""


class Spot(NamedTuple):
    """Where it is kept meanwhile, and where it will be."""

    partial: Path
    blob: Path
    lock: Path
    name: str


def fetch(spot: Spot, expected: Expected, open_at: Open, note: Note) -> None:
    """Raises:
    Refusal: `files_corrupt`, `files_cut_short` (what came is kept), or what the hub says.
    OSError: there is no room.
    """
    for _ in range(WRONG_TRIES):
        if _try(spot, expected, open_at, note):
            return
        spot.partial.unlink(missing_ok=True)
    raise Refusal("files_corrupt", status=502, name=spot.name, tries=WRONG_TRIES)


def _try(spot: Spot, expected: Expected, open_at: Open, note: Note) -> bool:
    with _opened(spot.partial) as file:
        known = _known(file, spot.partial, expected)
        note(known.done_bytes)
        if known.done_bytes < expected.size_bytes:
            known = _pour(file, known, expected, open_at, note)
        if known.done_bytes < expected.size_bytes:
            raise _cut_short(spot, known, expected)
        if not known.is_right():
            return False
        os.fsync(file.fileno())  # whole and right on the platter before it has its name
        spot.partial.replace(spot.blob)
    return True


def _opened(partial: Path) -> BinaryIO:
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
    return os.fdopen(descriptor, "r+b", buffering=0)


def _known(file: BinaryIO, partial: Path, expected: Expected) -> Digest:
    """What is there already counts, unless it is too much."""
    if partial.stat().st_size > expected.size_bytes:
        file.truncate(0)
    known = digest.of_file(partial, expected)
    file.seek(known.done_bytes)
    return known


def _pour(file: BinaryIO, known: Digest, expected: Expected, open_at: Open, note: Note) -> Digest:
    with open_at(known.done_bytes) as stream:
        if stream.offset != known.done_bytes:
            known = _from_the_beginning(file, expected)
        for piece in stream.content:
            _write(file, piece, known)
            note(known.done_bytes)
            if known.done_bytes > expected.size_bytes:
                break
    return known


def _from_the_beginning(file: BinaryIO, expected: Expected) -> Digest:
    file.seek(0)
    file.truncate(0)
    return Digest(expected)


def _write(file: BinaryIO, piece: bytes, known: Digest) -> None:
    view = memoryview(piece)
    while view:
        view = view[file.write(view) :]
    known.update(piece)


def _cut_short(spot: Spot, known: Digest, expected: Expected) -> Refusal:
    name, done, size = spot.name, known.done_bytes, expected.size_bytes
    return Refusal("files_cut_short", status=502, name=name, done_bytes=done, size_bytes=size)
