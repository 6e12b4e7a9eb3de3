"""One holding: fetched, paused or deleted, and what there is to tell of it."""

import asyncio
import errno
import logging
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.repository import HubFile
from gpustack_lite.loop import keep_reconciling
from gpustack_lite.ports import Ports
from gpustack_lite.signals import Signals
from gpustack_lite.wire import AssignedFiles, FilesStatus, Progress, Said
from worker.downloads import digest
from worker.downloads.adopting import Cache
from worker.downloads.contents import Contents
from worker.downloads.fetching import Stream, fetch
from worker.downloads.manifest import Listed, Manifest, Manifests
from worker.downloads.names import folder_of, key_of, safe_path
from worker.downloads.pace import Pace
from worker.downloads.plan import no_room
from worker.downloads.shelf import existing
from worker.locks import only_one_thread
from worker.threads import in_daemon_thread

log = logging.getLogger(__name__)
State = Literal["waiting", "downloading", "paused", "ready", "failed", "deleting", "gone"]
AGAIN = "again"
TOLD = "told"
TELL_SECONDS = 0.5
ROOM_SECONDS = 10.0
FAILED_SECONDS = 600.0
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
MOST_AT_ONCE = 4
_FOREVER_SECONDS = 86_400.0
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_PASSING = frozenset({"hub_busy", "hub_unreachable", "hub_slow", "hub_cut_short", "files_cut_short"})


class Wanted(NamedTuple):
    """What a hub has of what was asked for. `hub` and `repository` name it on disk."""

    hub: str
    repository: str
    commit: str
    files: tuple[HubFile, ...]


class Hub(Protocol):
    """The way to the hubs, for threads; every refusal of theirs is a sentence for a person."""

    def wanted(self, files: AssignedFiles) -> Wanted: ...
    def open(self, files: AssignedFiles, commit: str, path: str, offset: int) -> AbstractContextManager[Stream]: ...


@dataclass(frozen=True)
class Means:
    """What every job of a worker shares. `root_of` says where the files of a hub are kept."""

    root_of: Callable[[str], Path]
    hub: Hub
    manifests: Manifests
    caches: Sequence[Cache]
    ports: Ports
    reserve_bytes: int
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))


class Job:
    """`files.wanted` says what for."""

    def __init__(self, files: AssignedFiles, means: Means, on_change: Callable[[], None]) -> None:
        self.files = files
        self.signals = Signals()
        self.state: State = "waiting"
        self.said: Said | None = None
        self._means = means
        self._on_change = on_change
        key = key_of(files.source, files.revision, files.include, files.format)
        self._contents = Contents(means.root_of, means.manifests, key)
        self._pace = Pace()
        self._stop = threading.Event()
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._task: asyncio.Task[None] | None = None

    # --- life

    async def begin_anew(self) -> None:
        """As `files` says by now."""
        await self.rest()
        self._say("waiting")
        step = {"present": self._hold, "paused": self._pause, "absent": self._remove}[self.files.wanted]
        living = keep_reconciling(
            f"files-{self.files.id}",
            step,
            signals=self.signals,
            topics=(AGAIN,),
            every_seconds=_FOREVER_SECONDS,
            clock=self._means.ports.clock,
        )
        self._task = asyncio.create_task(living)

    async def rest(self) -> None:
        """Its threads end at their next piece; until then they hold their locks."""
        self._stop.set()
        self._stop = threading.Event()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    # --- what others ask

    def path(self) -> str | None:
        """Only of what is whole."""
        return str(self._contents.path) if self.state == "ready" else None

    async def is_whole(self) -> bool:
        """Whether what was fetched is there still; where it is not, it is fetched again."""
        if self.state != "ready":
            return False
        if not await in_daemon_thread(self._contents.lacking):
            return True
        self.try_again()
        return False

    def try_again(self) -> None:
        if self.state in {"ready", "failed"}:
            self._say("waiting")
            self.signals.touch(AGAIN)

    def progress(self) -> Progress:
        done, total = self._counts()
        is_known = done is not None and total is not None and total > 0
        return Progress(
            phase="weights",
            bytes_done=done,
            bytes_total=total,
            fraction=done / total if is_known and done is not None and total else None,
            bytes_per_second=self._rate(),
            eta_seconds=None
            if self._rate() is None
            else self._pace.eta_seconds(self._now(), (total or 0) - (done or 0)),
        )

    def status(self) -> FilesStatus:
        done, total = self._counts()
        return FilesStatus(
            id=self.files.id,
            state=self.state,
            said=self.said,
            path=self.path(),
            commit=None if self._contents.manifest is None else self._contents.manifest.commit,
            size_bytes=total,
            done_bytes=done,
            bytes_per_second=self._rate(),
        )

    def _counts(self) -> tuple[int | None, int | None]:
        manifest = self._contents.manifest
        return (None, None) if manifest is None else (self._contents.done_bytes(), manifest.size_bytes)

    def _rate(self) -> float | None:
        return self._pace.per_second(self._now()) if self.state == "downloading" else None

    # --- holding them

    async def _hold(self) -> float:
        """Until they are whole; answers how long to wait before another look."""
        try:
            await self._complete()
        except Refusal as refusal:
            return self._refused(refusal)
        except OSError as error:
            self._say("waiting", self._why(error))
            return ROOM_SECONDS
        return _FOREVER_SECONDS

    def _refused(self, refusal: Refusal) -> float:
        if is_passing(refusal):
            self._say("waiting", refusal.sentence)
            return self._next_wait(refusal)
        log.warning("files_failed", extra={"files_id": self.files.id, "code": refusal.code})
        self._say("failed", refusal.sentence)
        return FAILED_SECONDS

    def _next_wait(self, refusal: Refusal) -> float:
        """What a busy hub asks for, else 1, 2, 4 ... 60 s."""
        wait, self._retry_seconds = self._retry_seconds, min(self._retry_seconds * 2, LAST_RETRY_SECONDS)
        asked = refusal.params.get("seconds") if refusal.code == "hub_busy" else None
        return max(wait, float(asked)) if isinstance(asked, int | float) else wait

    def _why(self, error: OSError) -> Sentence:
        place = str(self._root)
        if isinstance(error, _NoRoom):
            return error.refusal.sentence
        if error.errno in _FULL:
            return Sentence("files_disk_full", {"path": place, "free_bytes": self._free_bytes()})
        return Sentence("files_disk_error", {"path": error.filename or place, "why": error.strerror or str(error)})

    def _free_bytes(self) -> int:
        return shutil.disk_usage(existing(self._root)).free

    @property
    def _root(self) -> Path:
        manifest = self._contents.manifest
        return self._means.root_of("huggingface" if manifest is None else manifest.hub)

    async def _complete(self) -> None:
        await self._listed()
        self._pace = Pace()
        if lacking := await self._lacking():
            self._say("downloading")
            await asyncio.to_thread(self._contents.shelf.make_folders)
            for each in lacking:
                await self._adopt(each)
            await self._fetch_all(await self._lacking())
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._say("ready")
        log.info("files_ready", extra={"files_id": self.files.id, "bytes": self._contents.known.size_bytes})

    async def _listed(self) -> None:
        if await asyncio.to_thread(self._contents.load) is None:
            found = await in_daemon_thread(lambda: self._means.hub.wanted(self.files))
            await asyncio.to_thread(self._contents.take, _manifest(self.files, found))

    async def _lacking(self) -> list[Listed]:
        lacking = await in_daemon_thread(self._contents.lacking)  # it may read for minutes, and must not hold up an end
        await asyncio.to_thread(self._contents.count, lacking)
        return lacking

    async def _adopt(self, listed: Listed) -> None:
        copies = await asyncio.to_thread(self._contents.copies, listed, self._means.caches)
        if copies:
            self._say("downloading", Sentence("files_checking", {"name": listed.path}))
            await in_daemon_thread(lambda: self._contents.adopt(listed, copies))

    async def _fetch_all(self, lacking: Sequence[Listed]) -> None:
        if not lacking:
            return
        self._must_have_room(self._contents.rest_bytes())
        async with self._ticking():
            await _all(self._fetch(each) for each in lacking)
        if self.files.revision is not None:
            await asyncio.to_thread(self._contents.shelf.put_ref, self.files.revision)

    def _must_have_room(self, rest_bytes: int) -> None:
        refusal = no_room(rest_bytes, self._free_bytes(), self._means.reserve_bytes, str(self._root))
        if refusal is not None:
            raise _NoRoom(refusal)

    async def _fetch(self, listed: Listed) -> None:
        """Again and again while the hub may still give it; a definite no is raised."""
        stop, loop = self._stop, asyncio.get_running_loop()

        def tell(sentence: Sentence | None) -> None:
            _unless(stop)
            loop.call_soon_threadsafe(self._say, "downloading", sentence)

        while True:
            try:
                async with self._means.slots:
                    self._say("downloading")
                    await in_daemon_thread(lambda: self._fetch_now(listed, stop, tell))
            except Refusal as refusal:
                if not is_passing(refusal):
                    raise
                self._say("downloading", refusal.sentence)
                await self._means.ports.clock.sleep(self._next_wait(refusal))
            else:
                break
        await asyncio.to_thread(self._contents.arrived, listed, self._contents.spot(listed).blob)

    def _fetch_now(self, listed: Listed, stop: threading.Event, tell: Callable[[Sentence | None], None]) -> None:
        """In a thread, which has the lock until it ends: a job that was ended and begun anew waits for it."""
        spot, expected = self._contents.spot(listed), self._contents.expected(listed)

        def note(done: int) -> None:
            _unless(stop)
            self._contents.done[listed.path] = done

        def wait() -> None:
            """Another process, or another row, is at it: what it has by now is what there is."""
            tell(Sentence("files_fetched_by_another", {"name": listed.path}))
            self._contents.count_one(listed)

        with only_one_thread(spot.lock, self._means.ports.clock, wait):
            tell(None)
            if not digest.is_right(spot.blob, expected):
                fetch(spot, expected, lambda offset: self._open(listed.path, offset), note)

    def _open(self, path: str, offset: int) -> AbstractContextManager[Stream]:
        return self._means.hub.open(self.files, self._contents.known.commit, path, offset)

    # --- resting and removing

    async def _pause(self) -> float:
        """What is whole is ready, paused or not."""
        is_listed = await asyncio.to_thread(self._contents.load) is not None
        self._say("ready" if is_listed and not await self._lacking() else "paused")
        return _FOREVER_SECONDS

    async def _remove(self) -> float:
        self._say("deleting")
        try:
            await asyncio.to_thread(self._contents.remove)
        except OSError as error:
            self._say("deleting", self._why(error))
            return ROOM_SECONDS
        self._say("gone")
        return _FOREVER_SECONDS

    # --- what is told

    def _say(self, state: State, sentence: Sentence | None = None) -> None:
        said = None if sentence is None else Said(code=sentence.code, params=dict(sentence.params))
        if (state, said) != (self.state, self.said):
            self.state, self.said = state, said
            self._tell()

    @asynccontextmanager
    async def _ticking(self) -> AsyncIterator[None]:
        """The threads count, and this tells of it."""
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()

    async def _tick(self) -> None:
        before = None
        while True:
            done = self._contents.done_bytes()
            self._pace.note(self._now(), done)
            if done != before:
                self._retry_seconds = FIRST_RETRY_SECONDS
                self._tell()
            before = done
            await self._means.ports.clock.sleep(TELL_SECONDS)

    def _tell(self) -> None:
        self.signals.touch(TOLD)
        self._on_change()

    def _now(self) -> float:
        return self._means.ports.clock.monotonic()


def _manifest(files: AssignedFiles, found: Wanted) -> Manifest:
    """Raises:
    Refusal: `files_bad_name`.
    """
    return Manifest(
        source=files.source,
        revision=files.revision,
        include=files.include,
        hub=found.hub,
        repository=found.repository,
        folder=folder_of(found.hub, found.repository),
        commit=found.commit,
        files=tuple(Listed(safe_path(each.path), each.size_bytes, each.sha256, each.etag) for each in found.files),
    )


def is_passing(refusal: Refusal) -> bool:
    """Whether the same may be granted later without anybody's doing."""
    if refusal.code == "hub_failed":
        return int(refusal.params.get("answer_status") or 0) >= 500
    return refusal.code in _PASSING


async def _all(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """The first failure ends the others; what they fetched stays."""
    tasks = [asyncio.create_task(each) for each in works]
    try:
        for task in asyncio.as_completed(tasks):
            await task
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _NoRoom(OSError):
    """Known before a byte came; the sentence has the numbers."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(errno.ENOSPC, refusal.code)
        self.refusal = refusal


class _Stopped(OSError):
    """The job was paused, or ended: nobody waits for its threads any more."""


def _unless(stop: threading.Event) -> None:
    if stop.is_set():
        raise _Stopped
