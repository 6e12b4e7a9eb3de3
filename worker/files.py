"""Models on this worker's disk: where they may be, and what their headers say, however slow the disk is."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from backends.base import Backend
from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts, sources
from gpustack_lite.hub.remote_facts import RemoteFacts
from gpustack_lite.hub.roots import Roots
from gpustack_lite.settings import Settings
from gpustack_lite.wire import FactsReport, Said
from worker.downloads.adopting import caches
from worker.downloads.places import root_of
from worker.threads import in_daemon_thread

T = TypeVar("T")
DEADLINE_SECONDS = 15.0
MOST_READS = 8
_USUAL_ROOTS = ("/home", "/data", "/mnt", "/media", "/models", "/opt", "/srv", "/tmp", "/var/lib")  # noqa: S108


def roots_of(settings: Settings, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where models may be read from: the setting, else the usual places, this directory and the data dir.

    What was fetched from a hub always may, also where a copy of another program was taken over.
    """
    kept = tuple(dict.fromkeys(root_of(settings, environ, hub) for hub in ("huggingface", "modelscope", "url")))
    others = tuple(each.root for each in caches(environ, Path.home()))
    if settings.model_roots:
        return (*settings.model_roots, *kept, *others)
    return (settings.data_dir, Path.home(), Path.cwd(), *(Path(root) for root in _USUAL_ROOTS), *kept, *others)


class Files:
    """Reads happen in threads of their own: a file system that hangs costs one of eight, never the worker."""

    def __init__(
        self, roots: Sequence[Path], remote: RemoteFacts | None = None, deadline_seconds: float = DEADLINE_SECONDS
    ) -> None:
        self._roots = tuple(roots)
        self.roots = Roots(roots)
        self._remote = remote
        self._deadline_seconds = deadline_seconds
        self._reads = threading.Semaphore(MOST_READS)

    async def facts(self, source: str) -> ModelFacts | None:
        """None for a source without files; without a path of what lies on a hub.

        Raises:
            Refusal: what `sources.parse` and `facts.read` raise, or `facts_timeout`.
        """
        if sources.is_remote(source):
            return await self._on_hub(source)
        parsed = sources.parse(source)
        if parsed.kind == "none":
            return None
        return await self._in_time(lambda: facts.read(Path(parsed.value), self._roots), source)

    async def for_backend(self, source: str, backend: Backend) -> ModelFacts | None:
        """As `facts`; where the backend can do without them, files that are no model we know are no obstacle.

        The echo engine opens no file at all, so any source will do for it.
        """
        if backend.name == "echo" or (sources.is_remote(source) and not backend.needs_files):
            return None
        try:
            return await self.facts(source)
        except Refusal as refusal:
            if backend.needs_facts or refusal.code in _ALWAYS_REFUSED:
                raise
            return None

    async def check_directories(self, paths: Sequence[str]) -> None:
        """
        Raises:
            Refusal: `path_outside_roots`, `source_missing` or `facts_timeout`.
        """
        for path in paths:
            await self._in_time(partial(facts.within, Path(path), self._roots), path)

    async def real(self, path: str) -> str:
        """Where it really lies, and that this is allowed.

        Raises:
            Refusal: `path_outside_roots`, `source_missing` or `facts_timeout`.
        """
        return str(await self._in_time(partial(self.roots.real, Path(path)), path))

    async def must_still_be(self, path: str, real: str) -> None:
        """Asked again just before a launch: what was read is what the engine is about to open.

        Raises:
            Refusal: as `real`, or `path_changed`.
        """
        await self._in_time(partial(self.roots.must_still_be, Path(path), Path(real)), path)

    async def report(self, source: str) -> FactsReport:
        """The answer to the server's question about a source."""
        try:
            found = await self.facts(source)
        except Refusal as refusal:
            return FactsReport(source=source, refused=Said(code=refusal.code, params=dict(refusal.params)))
        nothing = ModelFacts(format="none", path="", size_bytes=0)
        return FactsReport(source=source, facts=facts.document(found or nothing))

    async def _on_hub(self, source: str) -> ModelFacts:
        """What can be told before anything is here: facts without a path."""
        remote, lying = self._remote, sources.repository(source)
        if remote is None:
            raise Refusal("hub_not_allowed", status=403, param="source", hub=lying.kind, allowed="-")
        return await self._in_time(lambda: remote.read(lying), source)

    async def _in_time(self, read: Callable[[], T], source: str) -> T:
        late = Refusal(
            "facts_timeout", status=504, param="source", source=source, seconds=round(self._deadline_seconds)
        )
        if not self._reads.acquire(blocking=False):
            raise late
        try:
            async with asyncio.timeout(self._deadline_seconds):
                return await in_daemon_thread(read, self._reads.release)
        except TimeoutError as error:
            raise late from error


_ALWAYS_REFUSED = frozenset({"path_outside_roots", "source_missing", "facts_timeout", "source_unprintable"})
