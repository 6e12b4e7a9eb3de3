"""Sends the lines of batches through the gateways, when nothing else wants the engines, and keeps what comes back.

Everything may be killed at any moment: what was done is read from the files of results, which are written first.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from gpustack_lite.db.queries import batches, cluster
from gpustack_lite.db.queries.batches import Maker
from gpustack_lite.db.tables import Batch, StoredFile
from gpustack_lite.domain import Sentence
from gpustack_lite.filestore import FileStore, digest, id_of
from gpustack_lite.messages import text
from gpustack_lite.relay.inner_door import Answer, AnswerTooLong, InnerDoor, NoAnswer
from gpustack_lite.server import batch_files, batch_lines
from gpustack_lite.server.batch_files import Results
from gpustack_lite.server.batch_lines import Line
from gpustack_lite.server.core import Core

log = logging.getLogger(__name__)
TOPIC = "batches"
LOOK_SECONDS = 5.0
LINES_AT_ONCE = 8
BATCHES_AT_ONCE = 16
"""The oldest run, the others wait: a batch holds a few requests open, and the list of its lines in memory."""
PROGRESS_SECONDS = 2.0
_NO_ANSWER_SECONDS = 1.0


class Verdict(NamedTuple):
    """How a batch ends, and why where it failed."""

    status: str
    errors: tuple[dict[str, Any], ...] = ()


DONE = Verdict("completed")


def failed(code: str, **params: Any) -> Verdict:
    return Verdict("failed", ({"code": code, "params": params, "param": None, "line": None},))


def must_end(batch: Batch, maker: Maker, now: datetime) -> Verdict | None:
    """Why no more of its lines may be sent, or None."""
    key, user = maker
    is_gone = user is None or not user.active or (batch.key_id is not None and (key is None or not key.enabled))
    if batch.status == "cancelling":
        return Verdict("cancelled")
    if now >= batch.expires_at:
        return Verdict("expired")
    if is_gone or (key is not None and key.expires_at is not None and key.expires_at <= now):
        return failed("batch_maker_gone")
    return None


async def step(core: Core) -> float | None:
    """Until the lease is lost. Each open batch has a task; when one fails, all begin anew, which is safe."""
    door = InnerDoor(core.ports, core.settings.data_dir / "run")
    running: dict[str, asyncio.Task[None]] = {}
    with core.signals.listen(TOPIC) as listener:
        async with asyncio.TaskGroup() as group:
            while True:
                listener.clear()
                async with core.db.read() as session:
                    open_ids = await batches.open_ids(session)
                running = {key: task for key, task in running.items() if not task.done()}
                for batch_id in [each for each in open_ids if each not in running][: BATCHES_AT_ONCE - len(running)]:
                    running[batch_id] = group.create_task(Run(core, door, batch_id).to_its_end())
                await listener.wait(LOOK_SECONDS)


@dataclass(slots=True)
class Prepared:
    batch: Batch
    lines: list[Line]
    results: Results
    secret: str

    @property
    def left(self) -> list[Line]:
        return [line for line in self.lines if line.custom_id not in self.results.done]


class Run:
    """One batch under one lease."""

    def __init__(self, core: Core, door: InnerDoor, batch_id: str) -> None:
        self._core = core
        self._door = door
        self._id = batch_id
        self._store = FileStore(core.settings.data_dir)
        self._now = core.ports.clock.wall

    async def to_its_end(self) -> None:
        batch, verdict = await self._look()
        try:
            checked = await asyncio.to_thread(
                batch_files.check,
                self._store.path(batch.input_file_id),
                batch.endpoint,
                self._core.settings.request_body_bytes,
            )
        except OSError as error:
            await self._end(failed("batch_file_gone", why=error.strerror or str(error)), (0, 0), (0, 0))
            return
        if checked.errors:
            await self._end(Verdict("failed", tuple(checked.errors)), (0, 0), (0, 0))
            return
        paths = [self._store.path(id_of(self._id, kind)) for kind in ("output", "error")]
        results = await asyncio.to_thread(Results, *paths)
        with results:
            prepared = Prepared(batch, checked.lines, results, self._core.ports.randomness.token())
            verdict = verdict or await self._send_all(prepared)
            if verdict.status == "expired":
                await asyncio.to_thread(_note_expired, self._id, prepared)
        await self._end(verdict, results.counts, results.sizes)

    async def _look(self) -> tuple[Batch, Verdict | None]:
        async with self._core.db.read() as session:
            batch = await batches.by_id(session, self._id, None)
            return batch, must_end(batch, await batches.maker(session, batch), self._now())

    # --- sending -----------------------------------------------------------------------------------------------------

    async def _send_all(self, prepared: Prepared) -> Verdict:
        await self._begin(prepared)
        sending = asyncio.ensure_future(self._send_lines(prepared))
        watching = asyncio.ensure_future(self._until_it_must_end(prepared.results))
        try:
            await asyncio.wait({sending, watching}, return_when=asyncio.FIRST_COMPLETED)
            return watching.result() if watching.done() else _done(sending)
        finally:
            sending.cancel()
            watching.cancel()
            await asyncio.gather(sending, watching, return_exceptions=True)

    async def _begin(self, prepared: Prepared) -> None:
        """From now on gateways know the secret of this run, and none that an earlier one had."""
        async with self._core.db.write() as session:
            await cluster.guard(session, self._core.epoch)
            batch = await batches.by_id(session, self._id, None)
            if batch.status == "validating":
                batch.status, batch.began_at = "in_progress", self._now()
            batch.lines, batch.digest = len(prepared.lines), digest(prepared.secret)
            session.add(batch)
        self._core.signals.touch("credentials")

    async def _send_lines(self, prepared: Prepared) -> None:
        left = iter(prepared.left)
        async with asyncio.TaskGroup() as group:
            for _ in range(LINES_AT_ONCE):
                group.create_task(self._send_some(prepared, left))

    async def _send_some(self, prepared: Prepared, left: Iterator[Line]) -> None:
        for line in left:
            is_error, written = await self._result(prepared, line)
            await asyncio.to_thread(prepared.results.append, line.custom_id, written, is_error=is_error)

    async def _result(self, prepared: Prepared, line: Line) -> tuple[bool, bytes]:
        """Whether it is an error, and what is to be written."""
        said = await asyncio.to_thread(batch_files.read_line, self._store.path(prepared.batch.input_file_id), line)
        try:
            answer = await self._answer(prepared, batch_lines.body_of(said))
        except AnswerTooLong:
            message = text(Sentence("batch_answer_too_long"))
            return True, batch_lines.failure(self._id, line.custom_id, "batch_answer_too_long", message)
        written = batch_lines.result(self._id, line.custom_id, answer.status, answer.request_id, answer.body)
        return answer.status >= 400, written

    async def _answer(self, prepared: Prepared, body: bytes) -> Answer:
        tries = Counter[int]()
        while True:
            wait: float | None = _NO_ANSWER_SECONDS
            try:
                answer = await self._door.post(prepared.batch.endpoint, body, prepared.secret)
                wait = batch_lines.seconds_to_wait(answer.status, answer.retry_after, tries[answer.status])
                tries[answer.status] += 1
            except NoAnswer:
                log.info("batch_line_unanswered", extra={"batch": self._id})
            if wait is None:
                return answer
            await self._core.ports.clock.sleep(wait)

    async def _until_it_must_end(self, results: Results) -> Verdict:
        seen = (-1, -1)
        with self._core.signals.listen(TOPIC, "credentials") as listener:
            while True:
                listener.clear()
                _, verdict = await self._look()
                if verdict is not None:
                    return verdict
                if results.counts != seen:
                    seen = results.counts
                    await self._note_progress(*seen)
                await listener.wait(PROGRESS_SECONDS)

    async def _note_progress(self, completed: int, failures: int) -> None:
        async with self._core.db.write() as session:
            await cluster.guard(session, self._core.epoch)
            batch = await batches.by_id(session, self._id, None)
            batch.completed, batch.failed, batch.lines_done = completed, failures, completed + failures
            session.add(batch)

    # --- ending ------------------------------------------------------------------------------------------------------

    async def _end(self, verdict: Verdict, counts: tuple[int, int], sizes: tuple[int, int]) -> None:
        """With its files, in one transaction: whoever sees the end can read the results."""
        now = self._now()
        async with self._core.db.write() as session:
            await cluster.guard(session, self._core.epoch)
            batch = await batches.by_id(session, self._id, None)
            files = [self._file(batch, kind, size, now) for kind, size in zip(("output", "error"), sizes, strict=True)]
            session.add_all([file for file in files if file is not None])
            batch.output_file_id, batch.error_file_id = (None if file is None else file.id for file in files)
            batch.completed, batch.failed = counts
            batch.lines_done = sum(counts)
            batch.status, batch.errors, batch.ended_at, batch.digest = verdict.status, list(verdict.errors), now, None
            session.add(batch)
        log.info("batch_ended", extra={"batch": self._id, "status": verdict.status, "lines_done": sum(counts)})
        self._core.signals.touch(TOPIC, "credentials")

    def _file(self, batch: Batch, kind: str, size: int, now: datetime) -> StoredFile | None:
        if not size:
            return None
        kept = batch.output_expires_seconds
        days = timedelta(days=self._core.settings.file_retention_days)
        return StoredFile(
            id=id_of(batch.id, kind),
            user_id=batch.user_id,
            key_id=batch.key_id,
            filename=f"{batch.id}_{kind}.jsonl",
            purpose="batch_output",
            size_bytes=size,
            created_at=now,
            expires_at=now + (days if kept is None else timedelta(seconds=kept)),
        )


def _done(sending: asyncio.Future[None]) -> Verdict:
    sending.result()
    return DONE


def _note_expired(batch_id: str, prepared: Prepared) -> None:
    message = text(Sentence("batch_expired"))
    left = [
        (line.custom_id, batch_lines.failure(batch_id, line.custom_id, "batch_expired", message))
        for line in prepared.left
    ]
    prepared.results.append_all(left, is_error=True)
