"""The flight recorder: what is under way, in a mapped file that is still there when the process is not.

One slot of a page per request. Its first byte says what it holds and is written last, so a process that is killed
between two writes leaves the slot as it was before. A killed process loses nothing that it stored in a mapping, because
the pages are the kernel's; what a power cut leaves of them is judged row by row.
"""

import logging
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from gpustack_lite.gateway import owned, rows
from gpustack_lite.gateway.rows import Row
from gpustack_lite.ports import Disk, Identity

log = logging.getLogger(__name__)
KIND, SUFFIX = "flight", ".slots"
SLOT_BYTES = 4096
SLOTS = 1024
"""Of one file; when all are taken another file is begun."""
MOST_FILES = 32
KILLED, KILLED_STATUS = "gateway_killed", 502
_FREE, _OPEN, _DONE = 0, 1, 2
_LENGTH = struct.Struct("<H")
_HEAD_LENGTH_AT, _DONE_LENGTH_AT = 2, 4
_COUNTERS = struct.Struct("<Iddqqqq")
_PASSED, _USAGE = struct.Struct("<Idd"), struct.Struct("<qqqq")
_BEGUN = struct.Struct("<HHxxIddqqqq")
"""Both lengths and the counters, from `_HEAD_LENGTH_AT` on."""
_COUNTERS_AT = 8
_USAGE_AT = _COUNTERS_AT + _PASSED.size
_HEAD_AT, _DONE_AT = 128, 2048
_MOST_HEAD, _MOST_DONE = _DONE_AT - _HEAD_AT, SLOT_BYTES - _DONE_AT
_NONE = -1
_TRY_AGAIN_EACH = 256
Slot = tuple[mmap.mmap, int]
"""A mapping and the offset in it."""


class Flight:
    """Everything here runs on the loop's thread and none of it waits for a disk, except when another file is begun."""

    def __init__(self, directory: Path, disk: Disk, me: Identity) -> None:
        self._directory = directory
        self._disk = disk
        self._me = me
        self._free: list[Slot] = []
        self._files: list[tuple[Path, mmap.mmap]] = []
        self.without_slot = 0
        """Rows and requests that had to do without, because the disk has no room."""
        self._grow()

    def begin(self, head: bytes) -> Slot | None:
        """A request has reached an engine; `head` is its row as far as it is known. None where there is no room."""
        slot = self._take(len(head) <= _MOST_HEAD)
        if slot is not None:
            mapped, at = slot
            mapped[at + _HEAD_AT : at + _HEAD_AT + len(head)] = head
            _BEGUN.pack_into(mapped, at + _HEAD_LENGTH_AT, len(head), 0, 0, 0.0, -1.0, _NONE, _NONE, _NONE, _NONE)
            mapped[at] = _OPEN
        return slot

    def finish(self, slot: Slot | None, line: bytes) -> Slot | None:
        """Its row is complete and stays in the slot until `free`."""
        slot = slot or self._take(len(line) <= _MOST_DONE)
        if slot is not None and len(line) <= _MOST_DONE:
            mapped, at = slot
            mapped[at + _DONE_AT : at + _DONE_AT + len(line)] = line
            _LENGTH.pack_into(mapped, at + _DONE_LENGTH_AT, len(line))
            mapped[at] = _DONE
        return slot

    def free(self, slot: Slot) -> None:
        mapped, at = slot
        mapped[at] = _FREE
        self._free.append(slot)

    @property
    def taken(self) -> int:
        return len(self._files) * SLOTS - len(self._free)

    def close(self) -> None:
        """Nothing is under way and every row is on disk: nobody need look here."""
        if self.taken:
            return  # whoever comes next looks into it
        for path, mapped in self._files:
            self._disk.remove(path)
            mapped.close()
        self._files.clear()
        self._free.clear()

    def _take(self, fits: bool) -> Slot | None:
        if fits and (self._free or self._grow()):
            return self._free.pop()
        self.without_slot += 1
        return None

    def _grow(self) -> bool:
        number = len(self._files)
        if number >= MOST_FILES or self.without_slot % _TRY_AGAIN_EACH:
            return False
        path = self._directory / owned.name_of(KIND, self._me, number, SUFFIX)
        try:
            mapped = self._disk.map(path, SLOTS * SLOT_BYTES)
        except OSError as error:
            log.error("flight_not_recorded", extra={"path": str(path), "cause": error.strerror})
            return False
        self._files.append((path, mapped))
        self._free += [(mapped, at * SLOT_BYTES) for at in reversed(range(SLOTS))]
        return True


def note(slot: Slot, frames: int, seconds: float, ttft: float | None) -> None:
    """What passed so far; called for every piece of an answer, a fraction of a microsecond."""
    _PASSED.pack_into(slot[0], slot[1] + _COUNTERS_AT, frames, seconds, -1.0 if ttft is None else ttft)


def note_usage(slot: Slot, counts: tuple[int | None, int | None, int | None, int | None]) -> None:
    """Prompt, completion, cached and reasoning tokens, as the engine said them."""
    known = (_NONE if each is None else each for each in counts)
    _USAGE.pack_into(slot[0], slot[1] + _USAGE_AT, *known)


# --- what a dead process left -----------------------------------------------------------------------------------------


def rows_of(content: bytes) -> Iterator[bytes]:
    """The rows of a dead process: complete ones as they are, and those of what was under way, closed as killed."""
    for at in range(0, len(content) - SLOT_BYTES + 1, SLOT_BYTES):
        row = _row_of(content[at : at + SLOT_BYTES])
        if row is not None:
            yield rows.encode(row)


def _row_of(slot: bytes) -> Row | None:
    if slot[0] == _DONE:
        return rows.decode(_text(slot, _DONE_AT, _DONE_LENGTH_AT))
    if slot[0] != _OPEN:
        return None
    row = rows.decode(_text(slot, _HEAD_AT, _HEAD_LENGTH_AT))
    return None if row is None else _killed(row, *_COUNTERS.unpack_from(slot, _COUNTERS_AT))


def _text(slot: bytes, at: int, length_at: int) -> bytes:
    (length,) = _LENGTH.unpack_from(slot, length_at)
    return slot[at : at + length]


def _killed(row: Row, frames: int, seconds: float, ttft: float, *counts: int) -> Row:
    prompt, completion, cached, reasoning = (None if each < 0 else each for each in counts)
    row.status, row.cause, row.partial = KILLED_STATUS, KILLED, True
    row.seconds, row.ttft_seconds = round(seconds, 6), None if ttft < 0 else round(ttft, 6)
    row.prompt_tokens, row.cached_tokens, row.reasoning_tokens = prompt, cached, reasoning
    row.completion_tokens = completion if completion is not None else (frames or None)
    return row
