"""The Assignment that counts: never an older one, and the last one outlives this process."""

import logging
from pathlib import Path

from pydantic import ValidationError

from gpustack_lite.ports import Disk
from gpustack_lite.wire import Assignment
from worker.adoption import Records

log = logging.getLogger(__name__)
NOTHING_YET = Assignment(epoch=0, revision=0)


def is_newer(candidate: Assignment, current: Assignment) -> bool:
    """Epochs count before revisions: whoever held the lease later is right. A repeated message is not newer."""
    return (candidate.epoch, candidate.revision) > (current.epoch, current.revision)


class Desired:
    """Keeps the last Assignment in worker/assignment.json (0600: it holds the engines' keys)."""

    def __init__(self, data_dir: Path, disk: Disk) -> None:
        self._path = data_dir / "worker" / "assignment.json"
        self._disk = disk
        self.current = self._load()
        self._any_order = False

    def accept(self, candidate: Assignment) -> bool:
        """False where `candidate` is old news. What was accepted is on disk when this returns, unless that is full."""
        if not self._any_order and not is_newer(candidate, self.current):
            return False
        try:
            self._disk.replace(self._path, candidate.model_dump_json().encode())
        except OSError as error:
            log.error("assignment_not_saved", extra={"why": error.strerror})
        self.current = candidate
        self._any_order = False
        return True

    def position(self) -> tuple[int, int]:
        """(epoch, revision) to ask after; the beginning when the next answer counts whatever its number is."""
        return (0, -1) if self._any_order else (self.current.epoch, self.current.revision)

    def begin_anew(self) -> None:
        """The server forgot us, so its numbers may have begun anew: its next Assignment counts, whatever its number."""
        self._any_order = True

    def _load(self) -> Assignment:
        content = self._disk.read(self._path)
        try:
            return Assignment.model_validate_json(content or b"")
        except ValidationError as error:
            if content is not None:
                log.error("assignment_unreadable", extra={"why": f"{error.error_count()} faults"})
            return self._recorded()

    def _recorded(self) -> Assignment:
        """Not to know what is wanted is no reason to end anything: what was begun goes on until a server is heard."""
        records = Records(self._path.parents[1], self._disk).load()
        return NOTHING_YET.model_copy(update={"instances": tuple(each.instance for each in records.values())})
