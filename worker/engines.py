"""Makes the environments that engines run in, one venv per version below the data dir; never touches our own."""

import asyncio
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import backends
from gpustack_lite.domain import BackendVersion, DeviceKind
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import uv
from gpustack_lite.ports import Ports
from gpustack_lite.recipes import Recipe, document, plain
from gpustack_lite.wire import Progress
from worker.locks import only_one
from worker.recipe_steps import Calling

log = logging.getLogger(__name__)
OnProgress = Callable[[Progress], None]
MARKER = "gpustack-lite.json"
_DECIDED_BY_LOCK = frozenset({"UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXCLUDE", "UV_PRERELEASE", "UV_RESOLUTION"})
LOCKS = Path(backends.__file__).parent / "locks"
BUILD_MARK = "GPUSTACK_LITE_ENGINE_BUILD"
_PROGRESS_SECONDS = 0.5
_VERSION_TIMEOUT_SECONDS = 10.0
_SIZE = re.compile(
    r"^Downloading (?P<name>\S+) \((?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>[KMGT]?i?B)\)$", re.MULTILINE
)
_ARRIVED = re.compile(r"^ *Downloaded (?P<name>\S+)$", re.MULTILINE)
_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
_LISTED = re.compile(r"^ +(?P<name>[A-Za-z]+)\d+: ", re.MULTILINE)
_LISTED_KINDS: Mapping[str, DeviceKind] = {"CUDA": "cuda", "ROCm": "rocm", "CANN": "ascend"}
_LLAMA_VERSION = re.compile(r"^version: *(?P<version>\S+)", re.MULTILINE)
_MESSAGE_SIGNS = ("error:", "×", "╰─▶")
_OFFLINE_SIGNS = ("error sending request", "dns error", "Failed to fetch", "Connection refused", "timed out", "offline")


def folder_of(version: BackendVersion, data_dir: Path) -> Path:
    """One version for several kinds of device may be several builds."""
    kinds = "" if version.recipe is None else "-" + "-".join(sorted(version.device_kinds))
    return data_dir / "worker" / "engines" / f"{version.backend}-{version.version}{kinds}"


def installed(version: BackendVersion, data_dir: Path, ports: Ports) -> BackendVersion | None:
    """The version with its executable when it is usable here now, else None."""
    if version.source == "builtin":
        return replace(version, installed=True, executable=sys.executable)
    if version.source == "path":
        return version if version.executable and os.access(version.executable, os.X_OK) else None
    folder = folder_of(version, data_dir)
    python = folder / "bin" / "python"
    if marker(folder, ports) != _mark(version) or not os.access(python, os.X_OK):
        return None
    return replace(version, installed=True, executable=str(python))


async def ensure(
    version: BackendVersion,
    data_dir: Path,
    ports: Ports,
    on_progress: OnProgress = lambda _: None,
    wheels: Path | None = None,
) -> BackendVersion:
    """The installed version, made now unless it is there. Two callers, in any processes, make it once.

    Raises:
        Refusal: `engine_install_failed`, `engine_install_offline`, `engine_not_on_path` or `uv_missing`.
    """
    if found := installed(version, data_dir, ports):
        return found
    if recipe_of(version) is None:
        raise Refusal("engine_not_on_path", backend=version.backend, path=version.executable)
    folder = folder_of(version, data_dir)
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with only_one(folder.parent / f".{folder.name}.lock", ports.clock):
        if found := installed(version, data_dir, ports):
            return found
        await _make(version, folder, ports, on_progress, wheels)
    made = installed(version, data_dir, ports)
    if made is None:
        raise _failure(version, "bin/python")
    return made


def find_on_path(ports: Ports) -> tuple[BackendVersion, ...]:
    """Engines that are installed on this machine already: `llama-server` on PATH, if it can be run."""
    path = shutil.which("llama-server")
    if path is None:
        return ()
    try:
        said = ports.processes.run([path, "--version"], timeout=_VERSION_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        log.warning("engine_on_path_broken", extra={"path": path})
        return ()
    match = _LLAMA_VERSION.search(said.stderr + "\n" + said.stdout)
    if said.returncode != 0 or match is None:
        log.warning("engine_on_path_broken", extra={"path": path, "exit_code": said.returncode})
        return ()
    return (
        BackendVersion(
            backend="llama_cpp",
            version=f"path-{match['version']}",
            device_kinds=_kinds_on_path(path, ports),
            source="path",
            installed=True,
            executable=os.path.realpath(path),
        ),
    )


def _kinds_on_path(path: str, ports: Ports) -> frozenset[DeviceKind]:
    """The CPU, and those of which the build sees a device (`--list-devices`)."""
    try:
        said = ports.processes.run([path, "--list-devices"], timeout=_VERSION_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return frozenset({"cpu"})
    return kinds_listed(said.stdout + "\n" + said.stderr) | {"cpu"}


def kinds_listed(said: str) -> frozenset[DeviceKind]:
    """Of lines such as "  CUDA0: NVIDIA A10 (22589 MiB, 22292 MiB free)" (common/arg.cpp); Vulkan names no kind."""
    found = (_LISTED_KINDS.get(match["name"]) for match in _LISTED.finditer(said))
    return frozenset(kind for kind in found if kind is not None)


def progress_of(uv_output: str) -> Progress:
    """From uv's lines "Downloading NAME (37.1MiB)" and " Downloaded NAME" (uv 0.8 to 0.13, without a terminal)."""
    line = _last_line(uv_output)
    sizes = {
        each["name"]: int(float(each["number"]) * _UNITS.get(each["unit"], 1)) for each in _SIZE.finditer(uv_output)
    }
    if not sizes:
        return Progress(phase="engine", line=line)
    done = sum(sizes.get(each["name"], 0) for each in _ARRIVED.finditer(uv_output))
    total = sum(sizes.values())
    fraction = done / total if total else None
    return Progress(phase="engine", bytes_done=done, bytes_total=total, fraction=fraction, line=line)


def _last_line(output: str) -> str | None:
    lines = output.split("\n")[-20:]
    return next((each.strip()[:200] for each in reversed(lines) if each.strip()), None)


@dataclass(frozen=True, slots=True)
class _Making:
    """One environment while it is made."""

    version: BackendVersion
    environ: Mapping[str, str]
    output: Path
    ports: Ports
    on_progress: OnProgress

    async def run(self, argv: list[str] | None) -> None:
        if argv is not None and await run_noting(argv, self.environ, self.output, self.ports, self.on_progress) != 0:
            raise _failure(self.version, _read(self.output))


async def _make(
    version: BackendVersion, folder: Path, ports: Ports, on_progress: OnProgress, wheels: Path | None
) -> None:
    """Build beside, then rename: what stands at `folder` is complete. A venv may move: only its bin/python is used."""
    await asyncio.to_thread(_clear, folder, ports)
    building = folder.with_name(f".{folder.name}.building")
    log.info("engine_install_begins", extra={"engine": folder.name})
    on_progress(Progress(phase="engine"))
    lock, recipe = _lock_of(wheels, folder, version), recipe_of(version) or Recipe()
    environ = _environment(folder, is_locked=lock is not None)
    making = _Making(version, environ, _log_of(building), ports, on_progress)
    calling = Calling(uv.find_uv(), building, environ, wheels, lock)
    await making.run(calling.venv())
    for step in recipe.steps:
        await making.run(await asyncio.to_thread(calling.step, recipe, step))
    ports.disk.replace(building / MARKER, json.dumps(_mark(version)).encode())
    building.rename(folder)
    log.info("engine_installed", extra={"engine": folder.name})


def recipe_of(version: BackendVersion) -> Recipe | None:
    """None for what nobody can make here."""
    if version.recipe is not None:
        return version.recipe if version.recipe.kind == "venv" else None
    return None if version.requirement is None else plain(version.requirement)


def _mark(version: BackendVersion) -> dict[str, Any]:
    """What the environment was made of, as JSON gives it back."""
    if version.recipe is None:
        return {"requirement": version.requirement}
    return {"backend": version.backend, "version": version.version, "recipe": document(version.recipe)}


def _lock_of(wheels: Path | None, folder: Path, version: BackendVersion) -> Path | None:
    """Requirements with hashes: then nothing else is installed. Ours come with us, one for each version that we tried.

    Wheels of an administrator's own may be other builds: for them counts what lies beside them, named like the
    environment.
    """
    ours = LOCKS / f"{version.backend}-{version.version}.lock"
    lock = ours if wheels is None else wheels / f"{folder.name}.lock"
    return lock if lock.is_file() else None


def _clear(folder: Path, ports: Ports) -> None:
    """Whatever a crashed installation left, its living uv included."""
    for identity in ports.processes.marked(BUILD_MARK, str(folder)):
        ports.processes.send(identity, signal.SIGKILL)
    building = folder.with_name(f".{folder.name}.building")
    for leftover in (folder, building):
        shutil.rmtree(leftover, ignore_errors=True)
    _log_of(building).unlink(missing_ok=True)


def _environment(folder: Path, *, is_locked: bool) -> dict[str, str]:
    """A lock has decided what somebody's constraints would decide, and uv takes none beside hashes."""
    made = uv.environment(os.environ, uv.pip_settings(os.environ)) | {BUILD_MARK: str(folder)}
    return {name: value for name, value in made.items() if not (is_locked and name in _DECIDED_BY_LOCK)}


async def run_noting(
    argv: list[str], environ: Mapping[str, str], output: Path, ports: Ports, on_progress: OnProgress
) -> int | None:
    """The exit code. uv stands at / so that it takes no directory above the data dir for a project of its own."""
    child = ports.processes.spawn(argv, env=environ, cwd=Path("/"), output=output)
    waiting = asyncio.ensure_future(ports.processes.wait(child))
    try:
        while not waiting.done():
            await asyncio.wait({waiting}, timeout=_PROGRESS_SECONDS)
            on_progress(progress_of(_read(output)))
    except asyncio.CancelledError:
        ports.processes.send(child, signal.SIGKILL)
        await waiting
        raise
    return waiting.result()


def _log_of(building: Path) -> Path:
    return building.with_name(f"{building.name}.log")


def _failure(version: BackendVersion, output: str) -> Refusal:
    is_offline = any(sign in output for sign in _OFFLINE_SIGNS)
    return Refusal(
        "engine_install_offline" if is_offline else "engine_install_failed",
        status=502,
        requirement=version.requirement or f"{version.backend}=={version.version}",
        why=last_words(output) or "uv",
    )


def last_words(output: str) -> str:
    """uv's last message in one line: it breaks its messages at the width of a terminal that is not there."""
    lines = [line.strip(" │") for line in output.splitlines() if line.strip(" │")]
    begins = [number for number, line in enumerate(lines) if line.startswith(_MESSAGE_SIGNS)]
    return " ".join(lines[begins[-1] :] if begins else lines[-1:]).lstrip("×╰─▶ ")


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


def marker(folder: Path, ports: Ports) -> dict[str, object]:
    try:
        content = json.loads(ports.disk.read(folder / MARKER) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
