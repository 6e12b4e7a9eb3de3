"""One instance's life on this worker: attempt after attempt, until it is wanted no more."""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backends.base import Backend
from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.lifecycle import State
from gpustack_lite.loop import keep_reconciling
from gpustack_lite.ports import Identity
from gpustack_lite.signals import Signals
from gpustack_lite.wire import AssignedInstance, InstanceStatus, Measured, Meeting, Progress, Said
from worker import failures, measuring, shared_memory
from worker.adoption import ContainerDoc, ProbeDoc, ProcessDoc, Record
from worker.engine import HUNG_SECONDS, Condemned, Ended, Engine, Foreign, Hung, SaysDead, TooSlow, Watch
from worker.failures import AttemptFailed
from worker.launching import Launch, Taken, launch, team_of
from worker.preparing import Prepared, backend_of, prepare
from worker.runtimes import process
from worker.runtimes.process import Tree, Within, everyone
from worker.workshop import Workshop

log = logging.getLogger(__name__)
STEADY_SECONDS = 600.0
LONGEST_BACKOFF_SECONDS = 300.0
PROGRESS_SECONDS = 0.25
MEASURE_SECONDS = 30.0
PORT_TRIES = 10
_FOREVER_SECONDS = 3600.0


class Instance:
    """`record` is always on disk before what it says can matter; `on_change` makes the worker report."""

    def __init__(self, record: Record, workshop: Workshop, on_change: Callable[[], None], *, adopted: bool) -> None:
        self.record = record
        self._workshop = workshop
        self._on_change = on_change
        self._adopted = adopted
        self._progress: Progress | None = None
        self._progress_at = float("-inf")
        self._next_try_at: float | None = None
        self._state_at = workshop.ports.clock.monotonic()
        self._seconds: float | None = None
        self._port_tries = 0
        self._watch: Watch | None = None
        self._measure_at = float("-inf")
        self._condemned_attempt = 0
        self._told = record.instance
        self._heard = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.is_ending = False
        if adopted and record.port is not None:
            workshop.port_range.keep([record.port, *record.more_ports])

    @property
    def id(self) -> int:
        return self.record.instance.id

    @property
    def tree(self) -> Tree:
        return self.record.tree(self._workshop.worker_uid)

    def begin(self) -> None:
        living = keep_reconciling(
            f"instance-{self.id}",
            self._step,
            signals=Signals(),
            topics=(),
            every_seconds=_FOREVER_SECONDS,
            clock=self._workshop.ports.clock,
        )
        self._task = asyncio.create_task(living)

    def tell(self, assigned: AssignedInstance) -> None:
        """What the server has changed about it: of one that several workers carry, the round and the meeting."""
        self._told = assigned
        self._heard.set()

    async def end(self) -> None:
        """Wanted no more: nothing of it lives and nothing of it is recorded when this returns."""
        self._move(State.STOPPING)
        await self._rest()
        await self._end_processes()
        self._workshop.records.forget(self.id)
        shutil.rmtree(self._workshop.records.workdir(self.id), ignore_errors=True)
        log.info("instance_ended", extra={"instance_id": self.id})

    async def pause(self) -> None:
        """The worker is being stopped: end the engine, keep the record, so that the next start begins it again."""
        await self._rest()
        if self.record.state is not State.FAILED:
            self._move(State.FAILED, Sentence("worker_was_stopped"))
        await self._end_processes()

    async def _rest(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    # --- one attempt

    async def _step(self) -> float:
        """One attempt, from preparing to its end; answers how long to wait before the next."""
        if self.record.gave_up:
            return _FOREVER_SECONDS
        await self._turn()
        try:
            await self._attempt()
        except AttemptFailed as failed:
            return await self._failed(failed.sentence, at_once=failed.at_once)
        except Refusal as refusal:
            return await self._failed(refusal.sentence)
        return 0.0

    async def _turn(self) -> None:
        """A share of an instance begins no attempt by itself: the server calls the next round for all of them."""
        while self._told.members and not self._adopted and self._told.round <= self.record.attempt:
            if self.record.state not in {State.SCHEDULED, State.FAILED}:
                self._move(State.FAILED, Sentence("engine_gone"))
            await self._hear()

    async def _hear(self) -> None:
        self._heard.clear()
        await self._heard.wait()

    async def _attempt(self) -> None:
        if not self._adopted:
            await self._end_processes()
            await self._start()
        self._adopted = False
        watch = self._watch = Watch(self._engine(), self._workshop.ports, self._workshop.client)
        self.condemn(self._condemned_attempt)
        try:
            if self.record.state is State.STARTING:
                await watch.until_ready(self._note_progress)
                self._ready()
            await watch.until_ended(self._note_health, self._note_look, self._look_closer)
        except Ended as ended:
            raise self._failure_of(ended) from ended
        except Foreign as foreign:
            raise AttemptFailed(self._port_taken(), at_once=True) from foreign
        except TooSlow as slow:
            raise AttemptFailed(failures.too_slow(slow.seconds, self._lines(), self._backend())) from slow
        except Condemned as condemned:
            raise AttemptFailed(self._why_condemned()) from condemned
        except SaysDead as dead:
            raise AttemptFailed(failures.says_dead(dead.status, self._lines(), self._backend())) from dead
        except Hung as hung:
            raise AttemptFailed(failures.hung(HUNG_SECONDS, self._lines())) from hung
        finally:
            self._watch = None
            watch.close()

    def condemn(self, attempt: int) -> None:
        """Gateways found that this attempt's engine answers nothing: it ends as by a crash, once."""
        self._condemned_attempt = attempt
        if self._watch is not None and self.record.attempt <= attempt:
            self._watch.condemn()

    async def _start(self) -> None:
        self._next_try_at = None
        self._move(State.PREPARING, self._carried(), attempt=self._next_attempt())
        prepared = await prepare(self._workshop, self.record.instance, self._note_progress, self._note_weights)
        meeting = await self._meeting()
        leads = bool(self._told.members) and self._told.rank == 0
        port, *more_ports = self._workshop.port_range.take_several(1 + prepared.needs.ports + leads)
        met = (more_ports[-1],) if leads else ()
        taken = {"port": port, "more_ports": tuple(more_ports), "meeting_ports": met}
        self.record = self.record.model_copy(update=taken)
        team = team_of(self._told, meeting.ports if meeting else met)
        own = Taken(port, tuple(more_ports[: prepared.needs.ports]), team)
        made = launch(self._workshop, self.record.instance, prepared, own)
        is_others = self._workshop.confinement.user is not None and made.container is None
        await asyncio.to_thread(process.mirror, made.spec, self._workshop.files.roots, anew=is_others)
        if prepared.source_path is not None and prepared.real_path is not None:
            await self._workshop.files.must_still_be(prepared.source_path, prepared.real_path)
        if made.container is not None:
            await asyncio.to_thread(self._workshop.containers.remember, made.container.cli)
        self._progress = None
        self._spawn(prepared, made)

    def _next_attempt(self) -> int:
        """Of a share: the round that was called, whatever this worker has missed."""
        return max(self.record.attempt + 1, self._told.round) if self._told.members else self.record.attempt + 1

    async def _meeting(self) -> Meeting | None:
        """Followers wait until their leader has said where.

        Raises:
            AttemptFailed: another share failed meanwhile.
        """
        while (assigned := self._told).members:
            if assigned.round > self.record.attempt:
                raise AttemptFailed(Sentence("joint_restart"))
            if assigned.rank == 0:
                return None
            if assigned.meeting is not None and assigned.meeting.round == self.record.attempt:
                return assigned.meeting
            await self._hear()
        return None

    def _why_condemned(self) -> Sentence:
        attempt = self.record.attempt
        if self._told.round > attempt > self._told.stuck_attempt:
            return Sentence("joint_restart")
        return failures.stuck(attempt, self._lines())

    def _spawn(self, prepared: Prepared, made: Launch) -> None:
        """No await between: a signal to leave never finds an engine whose record does not name it."""
        assigned = self.record.instance
        group = self._group(made)
        self._move(
            State.STARTING,
            self._carried(),
            probe=ProbeDoc.of(made.spec.probe),
            shared_memory=() if prepared.simulated else made.spec.shared_memory,
            segments=(),
            started_at=self._workshop.ports.clock.wall().timestamp(),
            size_bytes=None if prepared.facts is None or prepared.simulated else prepared.facts.size_bytes,
            launch=made.shown,
            context_length=assigned.context_length,
            simulated=prepared.simulated,
            measured=None,
            container=_container(made),
            group=None if group is None else str(group),
        )
        self._measure_at = float("-inf")
        output = self._workshop.logs.path(self.id, self.record.attempt)
        confined = None if made.container is not None else Within(self._workshop.confinement, group)
        identity = process.start(self._workshop.ports, made.spec, made.env, output, confined)
        self._save(process=ProcessDoc.of(identity))
        self._workshop.logs.forget_old_attempts(self.id)
        log.info(
            "engine_started",
            extra={"instance_id": self.id, "attempt": self.record.attempt, "pid": identity.pid, "port": made.spec.port},
        )
        self._on_change()

    def _group(self, made: Launch) -> Path | None:
        """A container has one of its own, made by who runs it."""
        if made.container is not None:
            return None
        return self._workshop.confinement.group(self._workshop.worker_uid, self.id)

    def _engine(self) -> Engine:
        record = self.record
        tree = self.tree
        if tree.root is None or record.port is None:
            raise AttemptFailed(Sentence("engine_vanished", {"last_line": "-"}))
        return Engine(
            root=tree.root,
            tree=tree,
            port=record.port,
            probe=record.probe.probe,
            key=record.instance.engine_key,
            log_file=self._workshop.logs.path(self.id, record.attempt),
            size_bytes=record.size_bytes,
            is_contained=record.container is not None,
        )

    def _ready(self) -> None:
        self._port_tries = 0
        self._progress = None
        self._move(State.READY)
        log.info("instance_ready", extra={"instance_id": self.id, "seconds": self._seconds})

    # --- what went wrong

    async def _failed(self, sentence: Sentence, *, at_once: bool = False) -> float:
        """The state is told first, so that nobody sends requests here; the claim is kept until nothing lives."""
        at_once = at_once and self._port_tries <= PORT_TRIES
        self._progress = None
        count = self.record.failures if at_once else self.record.failures + 1
        self._move(State.FAILED, sentence, failures=count)
        log.warning(
            "attempt_failed", extra={"instance_id": self.id, "code": sentence.code, "attempt": self.record.attempt}
        )
        await self._end_processes()
        if at_once:
            return 0.0
        if count >= self.record.instance.restart_limit:
            self._save(gave_up=True)
            self._on_change()
            return _FOREVER_SECONDS
        wait_seconds = backoff_seconds(self._workshop.settings.restart_backoff_seconds, count)
        self._next_try_at = self._now() + wait_seconds
        self._on_change()
        return wait_seconds

    def _failure_of(self, ended: Ended) -> AttemptFailed:
        lines = self._lines()
        if self.record.state is State.STARTING and failures.is_port_taken(lines):
            return AttemptFailed(self._port_taken(), at_once=True)
        return AttemptFailed(failures.ended(ended.exit_code, lines, self._backend()))

    def _port_taken(self) -> Sentence:
        self._port_tries += 1
        return Sentence("engine_port_taken", {"port": self.record.port, "attempt": self.record.attempt})

    def _carried(self) -> Sentence | None:
        """Why the last attempt had to move to another port is still worth telling while the next one starts."""
        said = self.record.said
        is_worth = said is not None and said.code == "engine_port_taken"
        return Sentence(said.code, said.params) if said is not None and is_worth else None

    def _lines(self) -> list[str]:
        return self._workshop.logs.last_lines(self.id, self.record.attempt)

    def _backend(self) -> Backend | None:
        try:
            return backend_of(self.record.instance)
        except Refusal:
            return None

    async def _end_processes(self) -> None:
        root: Identity | None = self.tree.root
        await self._look_at_shared_memory()
        await self._end_container()
        await process.end(self._workshop.ports, self.tree, self._workshop.settings.stop_grace_seconds)
        if root is not None:
            await self._workshop.ports.processes.wait(root)
        await asyncio.to_thread(self._clean_shared_memory)
        for port in (self.record.port, *self.record.more_ports):
            if port is not None:
                self._workshop.port_range.give_back(port)
        held = (root, self.record.port, self.record.container)
        if any(each is not None for each in held) or self.record.members or self.record.group:
            self._save(
                process=None,
                members=(),
                port=None,
                more_ports=(),
                meeting_ports=(),
                segments=(),
                container=None,
                group=None,
            )
            self._on_change()

    def _owner(self) -> int:
        user = self._workshop.confinement.user
        return os.getuid() if user is None else user.uid

    async def _end_container(self) -> None:
        """Before what is attached to it: the end of that one would leave the container to itself."""
        if (held := self.record.container) is not None:
            grace = self._workshop.settings.stop_grace_seconds
            await asyncio.to_thread(self._workshop.containers.end, held.cli, held.name, grace)

    async def _look_at_shared_memory(self) -> None:
        """While the engine lives its own processes tell which files are theirs."""
        record = self.record
        if not record.shared_memory:
            return
        seen = await asyncio.to_thread(shared_memory.open_in, self._pids(), record.shared_memory)
        if kept := seen.difference(shared_memory.Segment(*each) for each in record.segments):
            self._save(segments=(*record.segments, *((each.name, each.inode) for each in sorted(kept))))

    def _clean_shared_memory(self) -> None:
        """After the engine has ended; what another process has open stays."""
        record = self.record
        if not record.shared_memory or record.started_at == 0.0:
            return
        seen = {shared_memory.Segment(*each) for each in record.segments}
        found = shared_memory.listed(record.shared_memory)
        ours = shared_memory.surely_ours(found, seen, self._pids(), self._owner(), record.started_at)
        held = shared_memory.open_in(shared_memory.all_pids(), record.shared_memory) if ours else set()
        shared_memory.remove(self._workshop.ports.disk, [each for each in ours if each not in held])

    def _pids(self) -> set[int]:
        roots = [self.record.process] if self.record.process is not None else []
        return {each.pid for each in (*roots, *self.record.members)}

    # --- what is noted

    def _note_progress(self, progress: Progress) -> None:
        self._progress = progress
        now = self._now()
        if now - self._progress_at >= PROGRESS_SECONDS:
            self._progress_at = now
            self._on_change()

    def _note_weights(self, progress: Progress, sentence: Sentence | None) -> None:
        """Why the files are not coming is told, not only that they are not there."""
        said = None if sentence is None else Said(code=sentence.code, params=dict(sentence.params))
        if said != self.record.said:
            self._save(said=said)
            self._progress_at = float("-inf")
        self._note_progress(progress)

    def _note_health(self, is_healthy: bool) -> None:
        if is_healthy and self.record.state is State.UNHEALTHY:
            self._move(State.READY)
        elif not is_healthy and self.record.state is State.READY:
            probe = self.record.probe
            words = {"path": probe.live_path or probe.path, "port": probe.port or self.record.port}
            self._move(State.UNHEALTHY, Sentence("engine_unhealthy", words))

    def _note_look(self, tree: Tree, seconds: float) -> None:
        members = tuple(ProcessDoc.of(each) for each in sorted(tree.members, key=lambda each: each.pid))
        if members != self.record.members:
            self._save(members=members)
        if self.record.failures and seconds >= STEADY_SECONDS:
            self._save(failures=0)

    async def _look_closer(self) -> None:
        await self._look_at_shared_memory()
        if not self.record.simulated and self._now() - self._measure_at >= MEASURE_SECONDS:
            self._measure_at = self._now()
            await self._measure(self.tree)

    async def _measure(self, tree: Tree) -> None:
        """The log is read once: what an engine allocates, it says before it is ready."""
        devices = self._workshop.inventory().chosen(self.record.instance.devices)
        known = self.record.measured
        held = await asyncio.to_thread(measuring.held, everyone(tree), devices)
        if known is None:
            found = measuring.first(await asyncio.to_thread(self._said_by_log), held)
        else:
            found = measuring.merged(known, held)
        if measuring.is_news(self.record.measured, found):
            self._save(measured=found)
            self._on_change()

    def _said_by_log(self) -> Measured:
        lines = self._workshop.logs.last_lines(self.id, self.record.attempt, measuring.LOG_LINES)
        return measuring.said(self.record.instance.backend, lines)

    def _move(self, state: State, said: Sentence | None = None, **more: Any) -> None:
        now = self._now()
        if state is not self.record.state:
            self._seconds, self._state_at = now - self._state_at, now
            more["since"] = self._workshop.ports.clock.wall()
        told = None if said is None else Said(code=said.code, params=dict(said.params))
        self._save(state=state, said=told, **more)
        self._on_change()

    def _save(self, **update: Any) -> None:
        """A full disk must not end a healthy engine: what could not be written is found again by its marker."""
        self.record = self.record.model_copy(update=update)
        try:
            self._workshop.records.save(self.record)
        except OSError as error:
            log.error("record_not_saved", extra={"instance_id": self.id, "why": error.strerror})

    def _now(self) -> float:
        return self._workshop.ports.clock.monotonic()

    def status(self) -> InstanceStatus:
        record = self.record
        return InstanceStatus(
            id=self.id,
            state=record.state,
            said=record.said,
            pid=None if record.process is None else record.process.pid,
            port=record.port,
            attempt=record.attempt,
            next_try_seconds=None if self._next_try_at is None else max(0.0, self._next_try_at - self._now()),
            gave_up=record.gave_up,
            progress=self._progress,
            context_length=record.context_length,
            simulated=record.simulated,
            launch=record.launch,
            meeting_ports=record.meeting_ports,
            seconds=self._seconds,
            measured=record.measured,
        )


def backoff_seconds(first_seconds: float, failure_count: int) -> float:
    """5, 10, 20 ... 300 for a first of 5."""
    return min(first_seconds * 2.0 ** min(failure_count - 1, 30), LONGEST_BACKOFF_SECONDS)


def _container(made: Launch) -> ContainerDoc | None:
    return None if made.container is None else ContainerDoc(cli=made.container.cli, name=made.container.name)
