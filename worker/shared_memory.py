"""What an engine leaves in /dev/shm: removed where it is surely of an instance of ours, and left alone else.

Surely of ours is a file that matches the backend's patterns and is this worker's user's, that no living process has
open, and that either was seen open in the engine's own processes (by name and inode), or has the pid of one of them in
its name and is not older than the attempt. MindIE names them so: llm_tokenizer_shared_memory_PID_NUMBER (MindIE-LLM
src/server/tokenizer). Others' leftovers, which its documentation removes by pattern, are others' business.
"""

import logging
import os
import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from gpustack_lite.ports import Disk

log = logging.getLogger(__name__)
FOLDER = Path("/dev/shm")  # noqa: S108  # where POSIX shared memory lies
PROC = Path("/proc")


class Segment(NamedTuple):
    name: str
    inode: int


class Found(NamedTuple):
    """One file of /dev/shm as it lies there."""

    segment: Segment
    owner: int
    changed_at: float


def surely_ours(
    found: Iterable[Found], seen: Collection[Segment], pids: Collection[int], owner: int, since: float
) -> list[Segment]:
    return [
        each.segment
        for each in found
        if each.owner == owner and (each.segment in seen or (each.changed_at >= since and _names_one_of(each, pids)))
    ]


def _names_one_of(found: Found, pids: Collection[int]) -> bool:
    """The first number is the pid; those behind it count."""
    number = re.search(r"[0-9]+", found.segment.name)
    return number is not None and int(number[0]) in pids


def listed(patterns: Sequence[str], folder: Path = FOLDER) -> list[Found]:
    made = [_found(path) for path in _entries(folder) if any(fnmatch(path.name, each) for each in patterns)]
    return [each for each in made if each is not None]


def open_in(pids: Iterable[int], patterns: Sequence[str], folder: Path = FOLDER, proc: Path = PROC) -> set[Segment]:
    """The files of `folder` that these processes have mapped or open. Those that we may not ask say nothing."""
    paths = {path for pid in pids for path in (*_mapped(proc / str(pid)), *_opened(proc / str(pid)))}
    mine = [path for path in paths if path.parent == folder and any(fnmatch(path.name, each) for each in patterns)]
    return {found.segment for path in mine if (found := _found(path)) is not None}


def remove(disk: Disk, segments: Iterable[Segment], folder: Path = FOLDER) -> None:
    """Whatever has another inode by now is somebody's new file."""
    for each in segments:
        found = _found(folder / each.name)
        if found is not None and found.segment == each:
            disk.remove(folder / each.name)
            log.info("shared_memory_removed", extra={"file": each.name})


def all_pids(proc: Path = PROC) -> list[int]:
    return [int(path.name) for path in _entries(proc) if path.name.isdigit()]


def _found(path: Path) -> Found | None:
    try:
        said = path.lstat()
    except OSError:
        return None
    return Found(Segment(path.name, said.st_ino), said.st_uid, said.st_ctime)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _mapped(process: Path) -> list[Path]:
    try:
        lines = (process / "maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    parts = [line.split(None, 5) for line in lines]
    return [Path(part[5]) for part in parts if len(part) == 6 and part[5].startswith("/")]


def _opened(process: Path) -> list[Path]:
    made = []
    for link in _entries(process / "fd"):
        try:
            made.append(Path(os.readlink(link)))
        except OSError:
            continue
    return made
