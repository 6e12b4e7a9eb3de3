"""The output of engines: one file per attempt, bounded by copy and truncate, read from the end, followed on and on.

The engine writes to the file itself (O_APPEND), without a pipe: nothing of it stops when the worker dies.
"""

import asyncio
import logging
import os
import shutil
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Clock

log = logging.getLogger(__name__)
BLOCK_BYTES = 64 * 1024
LONGEST_TAIL_BYTES = 16 * 1024**2
FOLLOW_SECONDS = 0.2
INSTANCES_KEPT = 20


class Logs:
    """worker/logs/<instance>/<attempt>.log, with .1 the youngest of its rotated parts."""

    def __init__(self, data_dir: Path, *, file_bytes: int, files_kept: int, attempts_kept: int) -> None:
        self.directory = data_dir / "worker" / "logs"
        self._file_bytes = file_bytes
        self._files_kept = files_kept
        self._attempts_kept = attempts_kept
        self._rotations: dict[Path, int] = defaultdict(int)
        self._lock = threading.Lock()

    def path(self, instance_id: int, attempt: int) -> Path:
        return self.directory / str(instance_id) / f"{attempt}.log"

    def attempts(self, instance_id: int) -> list[int]:
        found = (self.directory / str(instance_id)).glob("*.log")
        return sorted(int(path.stem) for path in found if path.stem.isdigit())

    def last_lines(self, instance_id: int, attempt: int, count: int = 50) -> list[str]:
        return tail(self._parts(self.path(instance_id, attempt)), count).decode(errors="replace").splitlines()

    def rotate(self, instance_id: int, attempt: int) -> bool:
        """Copy the full file aside and empty it. What the engine writes between the two is lost: microseconds."""
        path = self.path(instance_id, attempt)
        if _size(path) < self._file_bytes:
            return False
        with self._lock:
            for number in range(self._files_kept, 1, -1):
                _move(_part(path, number - 1), _part(path, number))
            _copy_if_there_is_room(path, _part(path, 1))
            os.truncate(path, 0)
            self._rotations[path] += 1
        return True

    def forget_old_attempts(self, instance_id: int) -> None:
        for attempt in self.attempts(instance_id)[: -self._attempts_kept]:
            path = self.path(instance_id, attempt)
            for part in [path, *path.parent.glob(f"{path.name}.*")]:
                part.unlink(missing_ok=True)

    def forget_ended(self, living: set[int]) -> None:
        """The logs of the last twenty instances that are no more stay for whoever wonders."""
        folders = [each for each in self.directory.glob("*") if each.name.isdigit() and int(each.name) not in living]
        for folder in sorted(folders, key=lambda each: int(each.name))[:-INSTANCES_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)

    async def read(self, instance_id: int, attempt: int | None, line_count: int) -> tuple[bytes, "Place"]:
        """The last lines, and the place behind them.

        Raises:
            Refusal: `log_missing`.
        """
        wanted = attempt or (self.attempts(instance_id) or [0])[-1]
        path = self.path(instance_id, wanted)
        if not path.exists():
            raise Refusal("log_missing", status=404, instance_id=instance_id, attempt=wanted)
        return await asyncio.to_thread(self._tail_and_place, path, wanted, line_count)

    async def follow(
        self, instance_id: int, place: "Place", *, clock: Clock, goes_on: Callable[[], bool], all_attempts: bool
    ) -> AsyncIterator[bytes]:
        """What is written from `place` on, through rotations, and into later attempts where wanted.

        Ends when everything was read and `goes_on` says that no more will come.
        """
        while True:
            may_grow = goes_on()  # before reading, so that the last words are not missed
            if chunk := await asyncio.to_thread(self._read_on, instance_id, place):
                yield chunk
            elif all_attempts and (later := self._attempt_after(instance_id, place.attempt)):
                place.begin(later, self._rotations[self.path(instance_id, later)])
            elif may_grow:
                await clock.sleep(FOLLOW_SECONDS)
            else:
                return

    def _attempt_after(self, instance_id: int, attempt: int) -> int | None:
        return next((each for each in self.attempts(instance_id) if each > attempt), None)

    def _parts(self, path: Path) -> list[Path]:
        """Youngest first."""
        return [path, *(_part(path, number) for number in range(1, self._files_kept + 1))]

    def _tail_and_place(self, path: Path, attempt: int, line_count: int) -> tuple[bytes, "Place"]:
        with self._lock:
            position = _size(path)
            return tail(self._parts(path), line_count, position), Place(attempt, position, self._rotations[path])

    def _read_on(self, instance_id: int, place: "Place") -> bytes:
        path = self.path(instance_id, place.attempt)
        with self._lock:
            rotations = self._rotations[path]
            if place.rotation == rotations - 1 and (rest := _read_from(_part(path, 1), place.position)):
                place.position += len(rest)
                return rest
            if place.rotation != rotations:
                place.begin(place.attempt, rotations)
            chunk = _read_from(path, place.position)
            place.position += len(chunk)
            return chunk


class Place:
    """Where a reader stands: a byte of one attempt's file, after so many rotations of it."""

    def __init__(self, attempt: int, position: int, rotation: int) -> None:
        self.attempt = attempt
        self.position = position
        self.rotation = rotation

    def begin(self, attempt: int, rotation: int) -> None:
        self.attempt, self.position, self.rotation = attempt, 0, rotation


def tail(parts: list[Path], line_count: int, size: int | None = None) -> bytes:
    """The last lines over all parts (youngest first), read from the end; `size` cuts the youngest.

    At most 16 MiB, however long the lines are.
    """
    found = b""
    for index, path in enumerate(parts):
        if found.count(b"\n", 0, -1) >= line_count or len(found) >= LONGEST_TAIL_BYTES:
            break
        found = _read_back(path, line_count, found, size if index == 0 else None)
    return _last_lines(found, line_count)[-LONGEST_TAIL_BYTES:]


def _read_back(path: Path, line_count: int, found: bytes, size: int | None) -> bytes:
    """`found` with as much of the file before it as is needed."""
    try:
        file = path.open("rb")
    except OSError:
        return found
    with file:
        position = file.seek(0, os.SEEK_END) if size is None else size
        while position > 0 and found.count(b"\n", 0, -1) < line_count and len(found) < LONGEST_TAIL_BYTES:
            step = min(max(BLOCK_BYTES, len(found)), position)
            position -= step
            file.seek(position)
            found = file.read(step) + found
    return found


def _last_lines(content: bytes, line_count: int) -> bytes:
    if line_count <= 0:
        return b""
    end = len(content)
    cut = end - 1 if content.endswith(b"\n") else end
    for _ in range(line_count):
        cut = content.rfind(b"\n", 0, cut)
        if cut < 0:
            return content
    return content[cut + 1 :]


def _read_from(path: Path, position: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(position)
            return file.read(BLOCK_BYTES)
    except OSError:
        return b""


def _copy_private(source: Path, target: Path) -> None:
    with source.open("rb") as read, open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as write:
        shutil.copyfileobj(read, write, 1024**2)


def _copy_if_there_is_room(source: Path, target: Path) -> None:
    """On a full disk the old part is given up: a log that cannot be bounded would be worse."""
    try:
        _copy_private(source, target)
    except OSError:
        target.unlink(missing_ok=True)
        log.warning("log_part_dropped", extra={"file": str(source)})


def _move(source: Path, target: Path) -> None:
    if source.exists():
        source.replace(target)


def _part(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
