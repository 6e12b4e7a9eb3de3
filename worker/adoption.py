"""What survives the worker: one record per instance on disk, and the verdict on each when a worker starts."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpustack_lite.domain import HttpProbe
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Disk, Identity, Processes
from gpustack_lite.wire import AssignedInstance, Measured, Said, Wire
from worker.runtimes.environment import marker_value
from worker.runtimes.process import Tree

log = logging.getLogger(__name__)


class ProcessDoc(Wire):
    pid: int
    start_ticks: int
    boot_id: str

    @classmethod
    def of(cls, identity: Identity) -> "ProcessDoc":
        return cls(pid=identity.pid, start_ticks=identity.start_ticks, boot_id=identity.boot_id)

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.start_ticks, self.boot_id)


class ProbeDoc(Wire):
    path: str = "/health"
    deadline_seconds: float = 60.0
    live_path: str | None = None
    port: int | None = None
    busy: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()

    @classmethod
    def of(cls, probe: HttpProbe) -> "ProbeDoc":
        told = {**asdict(probe), "busy": tuple(sorted(probe.busy)), "dead": tuple(sorted(probe.dead))}
        return cls(**told)

    @property
    def probe(self) -> HttpProbe:
        told = self.model_dump()
        return HttpProbe(**told | {"busy": frozenset(self.busy), "dead": frozenset(self.dead)})


class ContainerDoc(Wire):
    cli: str
    name: str


class Record(Wire):
    """One instance. Written before its engine is spawned (`process` None, `port` set), after, and at every move."""

    instance: AssignedInstance
    state: State = State.SCHEDULED
    since: datetime
    said: Said | None = None
    attempt: int = 0
    failures: int = 0
    gave_up: bool = False
    process: ProcessDoc | None = None
    members: tuple[ProcessDoc, ...] = ()
    group: str | None = None
    """The control group of its processes, where there is one."""
    port: int | None = None
    more_ports: tuple[int, ...] = ()
    meeting_ports: tuple[int, ...] = ()
    """Of `more_ports`, those at which the engines of other workers meet this one."""
    probe: ProbeDoc = ProbeDoc()
    shared_memory: tuple[str, ...] = ()
    """Patterns of what its engine may leave in /dev/shm."""
    segments: tuple[tuple[str, int], ...] = ()
    """Those that were seen open in its processes, by name and inode."""
    started_at: float = 0.0
    """When this attempt's engine was spawned, in seconds of the wall clock."""
    container: ContainerDoc | None = None
    """Of the present attempt, where it runs in one; `process` is then the program that is attached to it."""
    size_bytes: int | None = None
    launch: dict[str, Any] | None = None
    context_length: int | None = None
    simulated: bool = False
    measured: Measured | None = None
    """Of the present attempt."""

    def tree(self, worker_uid: str) -> Tree:
        return Tree(
            marker_value(worker_uid, self.instance.id),
            None if self.process is None else self.process.identity,
            frozenset(each.identity for each in self.members),
            None if self.group is None else Path(self.group),
        )


class Verdict(Enum):
    ADOPT = "adopt"
    RELAUNCH = "relaunch"
    END = "end"


def judge(record: Record, *, is_wanted: bool, is_alive: bool) -> Verdict:
    """What to do with a record found at the start; `is_alive` is the answer of `is_its_engine`."""
    if not is_wanted:
        return Verdict.END
    return Verdict.ADOPT if is_alive and record.state in _RUNNING else Verdict.RELAUNCH


_RUNNING = frozenset({State.STARTING, State.READY, State.UNHEALTHY})


def is_its_engine(record: Record, worker_uid: str, processes: Processes, marks: Mapping[Identity, str]) -> bool:
    """Whether the recorded process lives: pid, start time and boot id are the same, and its marker is not another's.

    A marker may be missing where the engine wrote its title over its environment.
    """
    if record.process is None or not processes.is_alive(record.process.identity):
        return False
    expected = marker_value(worker_uid, record.instance.id)
    return marks.get(record.process.identity, expected) == expected


def without_root(record: Record) -> Record:
    """A root that is not there names nobody: its pid, and the session of that number, may be another's by now."""
    return record.model_copy(update={"process": None, "port": None, "more_ports": (), "meeting_ports": ()})


def strays(marks: Mapping[Identity, str], worker_uid: str, known: Collection[int]) -> Mapping[str, Tree]:
    """By marker, the trees of this worker's instances of which there is no record."""
    ours = {value for value in marks.values() if value.startswith(f"{worker_uid}:")}
    recorded = {marker_value(worker_uid, id) for id in known}
    return {value: Tree(value) for value in sorted(ours - recorded)}


class Records:
    """worker/instances/<id>.json; the directory beside each is the engine's working directory."""

    def __init__(self, data_dir: Path, disk: Disk) -> None:
        self.directory = data_dir / "worker" / "instances"
        self._disk = disk
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def workdir(self, instance_id: int) -> Path:
        return self.directory / str(instance_id)

    def save(self, record: Record) -> None:
        self._disk.replace(self._path(record.instance.id), record.model_dump_json().encode())

    def forget(self, instance_id: int) -> None:
        self._disk.remove(self._path(instance_id))

    def load(self) -> dict[int, Record]:
        """A record that cannot be read is dropped: its processes are found by their marker."""
        found: dict[int, Record] = {}
        for path in sorted(self.directory.glob("*.json")):
            try:
                record = Record.model_validate_json(path.read_bytes())
            except (OSError, ValidationError) as error:
                log.warning("record_unreadable", extra={"file": path.name, "why": type(error).__name__})
                self._disk.remove(path)
                continue
            found[record.instance.id] = record
        return found

    def _path(self, instance_id: int) -> Path:
        return self.directory / f"{instance_id}.json"
