"""All holdings of this worker: made to match the Assignment, and waited for by the instances that need them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.sources import Source
from gpustack_lite.wire import AssignedFiles, FilesStatus, Progress
from worker.downloads.job import TOLD, Job, Means
from worker.downloads.names import folder_of
from worker.downloads.plan import Become, plan
from worker.downloads.shelf import existing

log = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
Note = Callable[[Progress, Sentence | None], None]


class Store:
    def __init__(self, means: Means, on_change: Callable[[], None]) -> None:
        self._means = means
        self._on_change = on_change
        self._jobs: dict[int, Job] = {}
        self._changing: dict[int, asyncio.Task[None]] = {}

    @property
    def main_folder(self) -> Path:
        """Whose free space is told; the one above it until there is one."""
        return existing(self._means.root_of("huggingface"))

    def would_be_at(self, source: Source) -> Path:
        """The directory of a repository that is not fetched."""
        return self._means.root_of(source.kind) / folder_of(source.kind, source.value)

    def apply(self, wanted: Sequence[AssignedFiles]) -> None:
        """Everything that is listed is in `statuses` when this returns."""
        for action in plan(wanted, {id_: job.files for id_, job in self._jobs.items()}):
            if isinstance(action, Become):
                self._become(action.files)
            else:
                self._later(action.id, self._jobs.pop(action.id).rest())

    def _become(self, files: AssignedFiles) -> None:
        job = self._jobs.get(files.id)
        if job is not None:
            job.files, before = files, job
            self._later(files.id, before.begin_anew())
            return
        self._jobs[files.id] = Job(files, self._means, self._on_change)
        self._later(files.id, self._jobs[files.id].begin_anew())

    def _later(self, id_: int, work: Coroutine[Any, Any, None]) -> None:
        """One change after the other for each of them."""
        before = self._changing.get(id_)
        task = asyncio.create_task(_after(before, work))
        self._changing[id_] = task
        task.add_done_callback(lambda done: self._changing.pop(id_) if self._changing.get(id_) is done else None)

    async def path(self, files_id: int, note: Note) -> str:
        """Where they are, once they are whole.

        Raises:
            Refusal: `files_not_assigned`, or why they cannot be had.
        """
        job = self._jobs.get(files_id)
        if job is None:
            raise Refusal("files_not_assigned", id=files_id)
        if job.state == "failed":
            job.try_again()
        with job.signals.listen(TOLD) as listener:
            while True:
                listener.clear()
                if await job.is_whole() and (path := job.path()) is not None:
                    return path
                if job.state in {"failed", "deleting", "gone"}:
                    raise _refusal(job)
                note(job.progress(), _sentence(job))
                await listener.wait(LOOK_SECONDS)

    def statuses(self) -> tuple[FilesStatus, ...]:
        return tuple(job.status() for _, job in sorted(self._jobs.items()))

    async def close(self) -> None:
        """What came stays, and the next start goes on with it."""
        await asyncio.gather(*self._changing.values(), *(each.rest() for each in self._jobs.values()))


async def _after(before: "asyncio.Task[None] | None", work: Coroutine[Any, Any, None]) -> None:
    if before is not None:
        await asyncio.wait({before})
    await work


def _sentence(job: Job) -> Sentence | None:
    if job.said is not None:
        return Sentence(job.said.code, job.said.params)
    return Sentence("files_paused", {"id": job.files.id}) if job.state == "paused" else None


def _refusal(job: Job) -> Refusal:
    if job.state != "failed" or job.said is None:
        return Refusal("files_not_assigned", id=job.files.id)
    refusal = Refusal(job.said.code)
    refusal.params = job.said.params
    return refusal
