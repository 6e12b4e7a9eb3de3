"""The holdings of a worker against the hub on loopback, in this process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gpustack_lite.domain import Sentence
from gpustack_lite.hub.hubs import hubs_of
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.ports import Ports
from gpustack_lite.settings import load
from gpustack_lite.wire import AssignedFiles, FilesStatus, Progress
from tests.fakes.hub import Hub
from worker.downloads.adopting import caches
from worker.downloads.hubs import Hubs
from worker.downloads.job import Means
from worker.downloads.manifest import Manifests
from worker.downloads.store import Store

DEADLINE_SECONDS = 30


class Holdings:
    def __init__(self, folder: Path, hub: Hub, repositories: Repositories, **environ: str) -> None:
        self.folder = folder
        self.hub = hub
        self._changed = asyncio.Event()
        self.means = Means(
            root_of=lambda name: folder / "models" / name,
            hub=Hubs(repositories),
            manifests=Manifests(folder, Ports().disk),
            caches=caches({"HF_HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", **environ}, folder / "home"),
            ports=Ports(),
            reserve_bytes=0,
        )
        self.store = Store(self.means, self._changed.set)

    def status(self, id: int = 1) -> FilesStatus:
        return next(each for each in self.store.statuses() if each.id == id)

    async def until(self, is_so: Callable[[FilesStatus], Any], id: int = 1) -> FilesStatus:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not is_so(self.status(id)):
                self._changed.clear()
                await self._changed.wait()
        return self.status(id)

    async def until_state(self, state: str, id: int = 1) -> FilesStatus:
        return await self.until(lambda status: status.state == state, id)

    async def path(self, id: int = 1) -> str:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self.store.path(id, _ignore)


def _ignore(progress: Progress, sentence: Sentence | None) -> None:
    """Nobody looks at the progress here."""


def wish(id: int = 1, source: str = "huggingface:org/name", **more: Any) -> AssignedFiles:
    return AssignedFiles(id=id, source=source, **more)


@asynccontextmanager
async def holdings(folder: Path, hub: Hub, **environ: str) -> AsyncIterator[Holdings]:
    known = {"HF_ENDPOINT": hub.url, "MODELSCOPE_ENDPOINT": hub.url, "HF_HOME": "/nonexistent"}
    repositories = Repositories(hubs_of(load(), known), Ports())
    made = Holdings(folder, hub, repositories, **environ)
    try:
        yield made
    finally:
        await made.store.close()
        repositories.close()
