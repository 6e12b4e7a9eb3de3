"""Containers of this worker: images fetched, containers ended, found again and attached to, leftovers removed."""

import asyncio
import logging
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpustack_lite.domain import BackendVersion, Claim, Device
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.wire import Progress
from worker import engines
from worker.runtimes import container
from worker.runtimes.container import Container

log = logging.getLogger(__name__)
CLIS = ("docker", "podman")
ASK_SECONDS = 20.0
READ_BYTES = 10 * 1024**2
LEAST_MEMORY_BYTES = 8 * 1024**3


@dataclass(frozen=True, slots=True)
class Containers:
    ports: Ports
    worker_uid: str
    cli_wanted: str | None
    shared_memory_bytes: int
    ascend_root: Path
    data_dir: Path

    # --- the program

    def cli(self) -> str:
        """Raises:
        Refusal: `engine_no_container_cli`.
        """
        names = CLIS if self.cli_wanted is None else (self.cli_wanted,)
        found = next(filter(None, map(shutil.which, names)), None)
        if found is None:
            raise Refusal("engine_no_container_cli", names=", ".join(names))
        return found

    def _asked(self, argv: list[str], seconds: float = ASK_SECONDS, most_bytes: int = 1 << 20) -> tuple[bool, str]:
        said = self.ports.processes.ask(argv, env=self._env(), deadline_seconds=seconds, most_bytes=most_bytes)
        if said.returncode == 0:
            return True, said.stdout
        return False, engines.last_words(said.text) or said.why or said.ended_by

    def _env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {**kept, **container.passed_on(os.environ), **container.for_cli(os.environ)}

    # --- images

    async def ensure(self, version: BackendVersion, on_progress: engines.OnProgress) -> BackendVersion:
        """Raises:
        Refusal: `engine_no_container_cli` or `engine_image_pull_failed`.
        """
        cli, image = self.cli(), _image(version)
        has, _ = await asyncio.to_thread(self._asked, container.has_image(cli, image))
        if not has:
            await self._pull(cli, image, on_progress)
        return version

    async def _pull(self, cli: str, image: str, on_progress: engines.OnProgress) -> None:
        output = self.data_dir / "worker" / "engines" / f".{self.ports.randomness.unique_id()}.pull.log"
        output.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        on_progress(Progress(phase="engine"))
        try:
            code = await engines.run_noting(container.pull(cli, image), self._env(), output, self.ports, on_progress)
            if code != 0:
                why = engines.last_words(output.read_text(encoding="utf-8", errors="replace")) or str(code)
                raise Refusal("engine_image_pull_failed", status=502, image=image, why=why)
        finally:
            output.unlink(missing_ok=True)

    def text(self, version: BackendVersion, path: str) -> str | None:
        """A file of the image, None where it has none."""
        has, said = self._asked(container.read(self.cli(), _image(version), path), 60.0, READ_BYTES)
        return said if has else None

    # --- one container

    def of(self, version: BackendVersion, instance_id: int, devices: tuple[Device, ...], claim: Claim) -> Container:
        """Raises:
        Refusal: `engine_container_devices` or `engine_no_container_cli`.
        """
        nodes = container.nodes_of(devices, os.path.exists)
        uid = os.getuid()
        limit = max(2 * claim.ram_bytes, LEAST_MEMORY_BYTES) if claim.device_count == 0 and claim.ram_bytes else None
        return Container(
            cli=self.cli(),
            image=_image(version),
            name=container.name_of(self.worker_uid, instance_id),
            worker=self.worker_uid,
            instance=instance_id,
            shared_memory_bytes=self.shared_memory_bytes,
            devices=nodes,
            gpus=container.gpus_of(devices),
            mounts=container.driver_of(devices, str(self.ascend_root), os.path.exists),
            user=None if uid == 0 else (uid, os.getgid()),
            groups=_groups(nodes),
            memory_bytes=limit,
        )

    def end(self, cli: str, name: str, grace_seconds: float) -> None:
        """Nothing of that name is there when this returns. Blocks for the grace and a little.

        Raises:
            OSError: the program does not say so; nothing may be freed then.
        """
        if not self._is_there(cli, name):
            return
        self._asked(container.stop(cli, name, grace_seconds), grace_seconds + ASK_SECONDS)
        self._asked(container.remove(cli, name))
        if self._is_there(cli, name):
            raise OSError(f"container {name} does not end")

    def _is_there(self, cli: str, name: str) -> bool:
        return name in self._names(cli, running=False)

    def _names(self, cli: str, *, running: bool) -> list[str]:
        known, said = self._asked(container.ours(cli, self.worker_uid, running=running))
        if not known:
            raise OSError(f"{cli}: {said}")
        return said.split()

    def running(self, cli: str) -> list[str]:
        """Empty also where the program does not answer: then nothing is adopted, and ending says why."""
        try:
            return self._names(cli, running=True)
        except OSError as error:
            log.warning("containers_not_listed", extra={"why": str(error)})
            return []

    def attach(self, cli: str, name: str, env: Mapping[str, str], output: Path) -> Identity:
        """Raises:
        OSError: the program cannot be started.
        """
        log.info("container_adopted", extra={"container": name})
        argv = container.attach(cli, name)
        return self.ports.processes.spawn(argv, env={**self._env(), **env}, cwd=Path("/"), output=output, umask=0o077)

    # --- leftovers

    @property
    def _note(self) -> Path:
        return self.data_dir / "worker" / "container_cli"

    def remember(self, cli: str) -> None:
        """That this worker runs containers, and by what: else a start would have to ask docker for nothing."""
        self.ports.disk.replace(self._note, cli.encode())

    def remembered(self) -> str | None:
        return (self.ports.disk.read(self._note) or b"").decode() or None

    def end_others(self, known: Collection[int], grace_seconds: float) -> None:
        """Of ours, those of which there is no record."""
        cli = self.remembered()
        kept = {container.name_of(self.worker_uid, id) for id in known}
        for name in self._names(cli, running=False) if cli else ():
            if name not in kept:
                log.warning("stray_container_ended", extra={"container": name})
                self.end(str(cli), name, grace_seconds)


def _image(version: BackendVersion) -> str:
    return str(version.recipe.image if version.recipe is not None else "")


def _groups(nodes: Collection[str]) -> tuple[int, ...]:
    return tuple(sorted({Path(node).stat().st_gid for node in nodes if Path(node).exists()} - {0}))


def beneath(path: Path) -> tuple[str, ...]:
    """What must be there for `path` to be read: itself, and wherever links in it lead."""
    folder = path if path.is_dir() else path.parent
    found = {str(folder), str(folder.resolve())}
    for entry in folder.iterdir():
        if entry.is_symlink() and entry.exists():
            found.add(str(entry.resolve().parent))
    return tuple(sorted(found))
