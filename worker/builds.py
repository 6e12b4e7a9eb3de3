"""The builds of engines that the Assignment asks for: made, kept side by side, and removed when it no longer does."""

import asyncio
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from gpustack_lite.domain import BackendVersion, Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.wire import AssignedEngine, Progress, Said
from worker import engines
from worker.containers import Containers
from worker.devices.detect import Inventory

log = logging.getLogger(__name__)
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 30.0, 1800.0
TELL_SECONDS = 2.0
State = Literal["waiting", "installing", "ready", "failed"]
Check = Callable[[BackendVersion], None]
"""Raises a Refusal where this host cannot run the build."""


@dataclass
class Build:
    version: BackendVersion
    state: State = "waiting"
    said: Said | None = None
    progress: Progress = field(default_factory=lambda: Progress(phase="engine"))
    task: asyncio.Task[None] | None = None


Key = tuple[str, str, str]


class Builds:
    """`ensure` makes one for an instance at once; `apply` makes all that are wanted, without being asked again."""

    def __init__(
        self,
        containers: Containers,
        wheels: Path | None,
        look: Callable[[], Inventory],
        check: Check,
    ) -> None:
        self._data_dir = containers.data_dir
        self._ports = containers.ports
        self._containers = containers
        self._wheels = wheels
        self._look = look
        self._check = check
        self._all: dict[Key, Build] = {}
        self._told_at = float("-inf")
        self.on_change: Callable[[], None] = lambda: None

    # --- what is wanted

    def apply(self, wanted: Sequence[AssignedEngine]) -> None:
        """Of one that is wanted no more nothing is made further; its files go in `clean`."""
        found = {_key(each): version_of(each) for each in wanted}
        for key in self._all.keys() - found.keys():
            self._forget(self._all.pop(key))
        for key, version in found.items():
            known = self._all.get(key)
            if known is None or known.version.recipe != version.recipe:
                self._begin(key, version)
            else:
                known.version = replace(known.version, is_default=version.is_default)
        self.on_change()

    def _begin(self, key: Key, version: BackendVersion) -> None:
        if (before := self._all.get(key)) is not None:
            self._forget(before)
        build = self._all[key] = Build(version)
        build.task = asyncio.create_task(self._keep(build))

    def _forget(self, build: Build) -> None:
        if build.task is not None:
            build.task.cancel()

    async def _keep(self, build: Build) -> None:
        """Until it is there; what failed is tried again, later and later."""
        pause = FIRST_RETRY_SECONDS
        while not await self._is_made(build):
            await self._ports.clock.sleep(pause)
            pause = min(pause * 2, LAST_RETRY_SECONDS)

    async def _is_made(self, build: Build) -> bool:
        inventory = await asyncio.to_thread(self._look)
        if not stands(build.version, inventory):
            return False
        if is_played(build.version, inventory):
            self._tell(build, "ready")
            return True
        try:
            await self._made(build, lambda _: None)
        except Refusal as refusal:
            log.warning("engine_build_failed", extra={"engine": build.version.backend, "code": refusal.code})
            return False
        return True

    async def _made(self, build: Build, on_progress: engines.OnProgress) -> BackendVersion:
        def note(progress: Progress) -> None:
            on_progress(progress)
            self._note(build, progress)

        try:
            await asyncio.to_thread(self._check, build.version)
            self._tell(build, "installing")
            made = await self._ensured(build.version, note)
        except Refusal as refusal:
            self._tell(build, "failed", refusal.sentence)
            raise
        self._tell(build, "ready")
        return made

    async def _ensured(self, version: BackendVersion, note: engines.OnProgress) -> BackendVersion:
        if version.source == "image":
            return await self._containers.ensure(version, note)
        return await engines.ensure(version, self._data_dir, self._ports, note, self._wheels)

    def _tell(self, build: Build, state: State, said: Sentence | None = None) -> None:
        build.state = state
        build.said = None if said is None else Said(code=said.code, params=dict(said.params))
        build.progress = Progress(phase="engine")
        self.on_change()

    def _note(self, build: Build, progress: Progress) -> None:
        build.progress = progress
        now = self._ports.clock.monotonic()
        if now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            self.on_change()

    # --- what there is

    def versions(self) -> tuple[BackendVersion, ...]:
        """Those that can be made on this machine; the default of a kind first."""
        inventory = self._look()
        found = [each.version for each in tuple(self._all.values()) if stands(each.version, inventory)]
        return tuple(sorted(found, key=lambda each: not each.is_default))

    def of(self, version: BackendVersion) -> Build | None:
        return next((each for each in tuple(self._all.values()) if each.version == version), None)

    def is_ready(self, version: BackendVersion) -> bool:
        build = self.of(version)
        return build is not None and build.state == "ready"

    async def ensure(self, version: BackendVersion, on_progress: engines.OnProgress) -> BackendVersion:
        """Raises:
        Refusal: why it cannot be made.
        """
        build = self.of(version) or Build(version)
        return await self._made(build, on_progress)

    # --- what is to go

    async def clean(self, in_use: Iterable[tuple[str, str]]) -> None:
        """Environments by recipe that nobody wants and no instance of ours runs."""
        used = set(in_use)
        wanted = {engines.folder_of(each.version, self._data_dir) for each in self._all.values()}
        await asyncio.to_thread(self._remove_but, wanted, used)

    def _remove_but(self, wanted: set[Path], used: set[tuple[str, str]]) -> None:
        for folder in self._folders():
            made_of = engines.marker(folder, self._ports)
            who = (str(made_of.get("backend")), str(made_of.get("version")))
            if "recipe" in made_of and folder not in wanted and who not in used:
                log.info("engine_removed", extra={"engine": folder.name})
                leaving = folder.with_name(f".{folder.name}.leaving")
                shutil.rmtree(leaving, ignore_errors=True)
                folder.rename(leaving)
                shutil.rmtree(leaving, ignore_errors=True)

    def _folders(self) -> list[Path]:
        try:
            return [each for each in (self._data_dir / "worker" / "engines").iterdir() if each.is_dir()]
        except OSError:
            return []

    async def close(self) -> None:
        tasks = [each.task for each in self._all.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _key(wanted: AssignedEngine) -> Key:
    return wanted.backend, wanted.version, wanted.device_kind


def version_of(wanted: AssignedEngine) -> BackendVersion:
    recipe = wanted.recipe
    executable = _at_path(recipe.program) if recipe.kind == "path" and recipe.program else None
    return BackendVersion(
        backend=wanted.backend,
        version=wanted.version,
        device_kinds=frozenset({wanted.device_kind}),
        source=recipe.kind,
        installed=recipe.kind == "path",
        executable=recipe.program if recipe.kind == "image" else executable,
        recipe=recipe,
        is_default=wanted.is_default,
    )


def _at_path(path: str) -> str:
    """Of a directory the Python below it."""
    return os.path.join(path, "bin", "python") if os.path.isdir(path) else path


def stands(version: BackendVersion, inventory: Inventory) -> bool:
    """Whether this machine has a device of its kind."""
    kinds: frozenset[str] = frozenset(each.kind for each in inventory.devices) | {"cpu"}
    return bool(version.device_kinds & kinds)


def is_played(version: BackendVersion, inventory: Inventory) -> bool:
    """Whether the devices of its kind are simulated: then another engine runs in its place."""
    return any(each.simulated and each.kind in version.device_kinds for each in inventory.devices)
