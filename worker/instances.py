"""All instances of this worker: made to match the Assignment, adopted at the start, ended at the end."""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any

from gpustack_lite.ports import Identity
from gpustack_lite.wire import AssignedInstance, Assignment, InstanceStatus
from worker.adoption import ProcessDoc, Record, Verdict, is_its_engine, judge, strays, without_root
from worker.instance import Instance
from worker.plan import Stop, condemned, overtaken, plan
from worker.runtimes import process
from worker.runtimes.confinement import group_prefix
from worker.runtimes.environment import MARKER, marker_value
from worker.runtimes.process import Tree
from worker.workshop import Workshop

log = logging.getLogger(__name__)


class Instances:
    def __init__(self, workshop: Workshop, on_change: Callable[[], None]) -> None:
        self._workshop = workshop
        self._on_change = on_change
        self._all: dict[int, Instance] = {}
        self._wanted: dict[int, AssignedInstance] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closing = False

    def take_over(self, assignment: Assignment) -> None:
        """At the start: adopt what lives and is wanted, end what is not, begin the rest again."""
        marks = dict(self._workshop.ports.processes.values_of(MARKER))
        records = self._workshop.records.load()
        records = {id: self._attached(record, marks) for id, record in records.items()}
        self._in_background(self._end_stray_containers(set(records)))
        self._end_strays(strays(marks, self._workshop.worker_uid, records).values())
        self._end_strays(self._stray_groups({each.group for each in records.values()}))
        wanted = {each.id for each in assignment.instances}
        for record in records.values():
            self._take(record, marks, is_wanted=record.instance.id in wanted)
        self.apply(assignment)

    def _attached(self, record: Record, marks: Mapping[Identity, str]) -> Record:
        """A container outlives the program that was attached to it: then another one is."""
        held, workshop = record.container, self._workshop
        if held is None or is_its_engine(record, workshop.worker_uid, workshop.ports.processes, marks):
            return record
        if held.name not in workshop.containers.running(held.cli):
            return record
        output = workshop.logs.path(record.instance.id, record.attempt)
        marker = {MARKER: marker_value(workshop.worker_uid, record.instance.id)}
        try:
            root = workshop.containers.attach(held.cli, held.name, marker, output)
        except OSError as error:
            log.warning("container_not_adopted", extra={"container": held.name, "why": error.strerror})
            return record
        kept = record.model_copy(update={"process": ProcessDoc.of(root)})
        workshop.records.save(kept)
        return kept

    async def _end_stray_containers(self, known: set[int]) -> None:
        grace = self._workshop.settings.stop_grace_seconds
        await asyncio.to_thread(self._workshop.containers.end_others, known, grace)

    def _stray_groups(self, known: Collection[str | None]) -> list[Tree]:
        """What no record names and no marker shows: an engine's record was lost, and it had hidden a program."""
        uid, groups = self._workshop.worker_uid, self._workshop.confinement.groups
        found = groups.named(group_prefix(uid))
        return [Tree(f"{uid}:{path.name}", group=path) for path in found if str(path) not in known]

    def _end_strays(self, trees: Iterable[Tree]) -> None:
        for tree in trees:
            log.warning("stray_processes_ended", extra={"marker": tree.marker})
            self._in_background(process.end(self._workshop.ports, tree, self._workshop.settings.stop_grace_seconds))

    def _take(self, record: Record, marks: Mapping[Identity, str], *, is_wanted: bool) -> None:
        is_alive = is_its_engine(record, self._workshop.worker_uid, self._workshop.ports.processes, marks)
        verdict = judge(record, is_wanted=is_wanted, is_alive=is_alive)
        log.info("record_found", extra={"instance_id": record.instance.id, "verdict": verdict.value})
        kept = record if is_alive else without_root(record)
        instance = Instance(kept, self._workshop, self._on_change, adopted=verdict is Verdict.ADOPT)
        self._all[instance.id] = instance
        if verdict is Verdict.END:
            self._end(instance)
        else:
            instance.begin()

    def apply(self, assignment: Assignment) -> None:
        """Everything that the Assignment lists is in `statuses` when this returns."""
        self._wanted = {each.id: each for each in assignment.instances}
        if self._is_closing:
            return
        for action in plan(self._wanted, self._all):
            if isinstance(action, Stop):
                self._end(self._all[action.id])
            else:
                self._begin(action.instance)
        attempts = {id: instance.record.attempt for id, instance in self._all.items()}
        for id in self._wanted.keys() & self._all.keys():
            self._all[id].tell(self._wanted[id])
        for each in (*condemned(self._wanted, attempts), *overtaken(self._wanted, attempts)):
            self._all[each.id].condemn(each.attempt)
        self._on_change()

    def _begin(self, assigned: AssignedInstance) -> None:
        record = Record(instance=assigned, attempt=assigned.stuck_attempt, since=self._workshop.ports.clock.wall())
        self._workshop.records.save(record)
        self._all[assigned.id] = Instance(record, self._workshop, self._on_change, adopted=False)
        self._all[assigned.id].begin()

    def _end(self, instance: Instance) -> None:
        if not instance.is_ending:
            instance.is_ending = True
            self._in_background(self._ended(instance))

    async def _ended(self, instance: Instance) -> None:
        try:
            await instance.end()
        except OSError:
            instance.is_ending = False  # the next look at the Assignment tries again
            raise
        del self._all[instance.id]
        self._workshop.logs.forget_ended(self.ids())
        self._on_change()
        if instance.id in self._wanted and not self._is_closing:
            self._begin(self._wanted[instance.id])

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._noted)

    def _noted(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("ending_failed", exc_info=error)

    async def end_all(self) -> None:
        """The worker is being stopped: no engine outlives this. The records stay for the next start."""
        self._is_closing = True
        pausing = [each.pause() for each in self._all.values() if not each.is_ending]
        await asyncio.gather(*pausing, *self._ending, return_exceptions=True)

    def statuses(self) -> tuple[InstanceStatus, ...]:
        """Everything that has or may have a process here."""
        return tuple(instance.status() for _, instance in sorted(self._all.items()))

    def has(self, instance_id: int) -> bool:
        return instance_id in self._all

    def runs_attempt(self, instance_id: int, attempt: int) -> bool:
        record = self._all[instance_id].record if instance_id in self._all else None
        return record is not None and record.attempt == attempt and record.process is not None

    def ids(self) -> set[int]:
        return set(self._all)

    def engines(self) -> list[Identity]:
        """The processes of all engines, as they were last seen; safe to ask from another thread."""
        records = [instance.record for instance in tuple(self._all.values())]
        roots = [record.process.identity for record in records if record.process is not None]
        return roots + [member.identity for record in records for member in record.members]

    def builds_in_use(self) -> set[tuple[str, str]]:
        """(backend, version) of whatever runs here or is about to."""
        records = [instance.record for instance in tuple(self._all.values())]
        assigned = {(each.instance.backend, each.instance.backend_version or "") for each in records}
        shown = [each.launch for each in records if each.launch is not None]
        return assigned | {(str(each["backend"]), str(each["backend_version"])) for each in shown}

    def rotate_logs(self) -> None:
        for instance in tuple(self._all.values()):
            self._workshop.logs.rotate(instance.id, instance.record.attempt)
