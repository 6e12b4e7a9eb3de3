"""Engines as plain processes: started in a session of their own, and ended with everything that belongs to them."""

import asyncio
import errno
import logging
import os
import shutil
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from gpustack_lite.domain import LaunchSpec
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.roots import Roots
from gpustack_lite.ports import Identity, Ports, Processes
from worker.runtimes import control_group, engine_user
from worker.runtimes.confinement import UMASK, Confinement, make_private
from worker.runtimes.environment import MARKER

log = logging.getLogger(__name__)
FIRST_LOOK_SECONDS = 0.02
LAST_LOOK_SECONDS = 0.5
STUBBORN_SECONDS = 30.0
COPIED_BYTES = 64 * 1024**2
"""Configurations and tokenizers are smaller, weights larger: engines that take links take them for weights only."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The processes of one instance. `members` are those seen while `root` lived, however they are marked.

    `group` is the control group of the instance, where it has one: nobody gets out of that by forking.
    """

    marker: str
    root: Identity | None = None
    members: frozenset[Identity] = frozenset()
    group: Path | None = None


class Within(NamedTuple):
    confinement: Confinement
    group: Path | None = None


def start(
    ports: Ports,
    spec: LaunchSpec,
    env: Mapping[str, str],
    output: Path,
    within: Within | None = None,
) -> Identity:
    """`within` is None for what is no engine itself, such as the command of a container.

    Raises:
        Refusal: `engine_cannot_start` or `engine_file_escapes`.
    """
    workdir = Path(spec.workdir)
    try:
        make_private(workdir)
        output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_files(ports, workdir, spec.files, spec.file_mode)
        if within is None:
            return ports.processes.spawn(spec.argv, env=env, cwd=workdir, output=output, umask=UMASK)
        _must_be_there(spec.argv[0], env)
        if within.confinement.user is not None:
            engine_user.give(workdir, within.confinement.user)
        argv = within.confinement.argv(spec.argv, within.group)
        return ports.processes.spawn(argv, env=env, cwd=workdir, output=output, umask=UMASK)
    except OSError as error:
        why = error.strerror or str(error)
        raise Refusal("engine_cannot_start", program=spec.argv[0], why=why) from error


def _must_be_there(program: str, env: Mapping[str, str]) -> None:
    """Said before anything is started, as the system says it."""
    if shutil.which(program, path=env.get("PATH", os.defpath)) is None:
        code = errno.EACCES if Path(program).is_file() else errno.ENOENT
        raise OSError(code, os.strerror(code))


def mirror(spec: LaunchSpec, roots: Roots, *, anew: bool = False) -> None:
    """What `start` finds in the working directory beside the spec's own files. It may take as long as the disk takes.

    `anew`: of an earlier attempt nothing is left, where other engines have its account: a link that one of them put
    there would lead a worker that is root. Nothing is copied from elsewhere than the roots: the worker may read what an
    engine must not.

    Raises:
        Refusal: `engine_cannot_start`, `engine_file_escapes` or what `Roots` raises.
    """
    try:
        if anew and Path(spec.workdir).exists():
            shutil.rmtree(spec.workdir)
        Path(spec.workdir).mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, source in spec.mirrors.items():
            folder = _emptied(_below(Path(spec.workdir), name))
            for entry in roots.folder(Path(source)).iterdir():
                if entry.exists() and not entry.name.lower().endswith(spec.leaves_out or ("\0",)):
                    _copy_or_link(entry, folder / entry.name, roots)
    except OSError as error:
        why = error.strerror or str(error)
        raise Refusal("engine_cannot_start", program=spec.argv[0], why=why) from error


def _write_files(ports: Ports, workdir: Path, files: Mapping[str, str], mode: int) -> None:
    """A link of that name is replaced, never followed."""
    for name, content in files.items():
        ports.disk.replace(_below(workdir, name), content.encode(), mode)


def _emptied(folder: Path) -> Path:
    """A directory of ours, made anew for each attempt: copies of small files, links to the rest."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o750, parents=True)
    folder.chmod(0o750)
    return folder


def _copy_or_link(entry: Path, ours: Path, roots: Roots) -> None:
    real = roots.real(entry)
    if not real.is_file() or real.stat().st_size > COPIED_BYTES:
        ours.symlink_to(real)
        return
    with roots.opened(entry) as theirs, ours.open("xb") as copy:
        shutil.copyfileobj(theirs, copy)
    ours.chmod(0o640)


def _below(workdir: Path, name: str) -> Path:
    path = workdir / name
    if not path.parent.resolve().is_relative_to(workdir.resolve()) or path.name in {"", ".."}:
        raise Refusal("engine_file_escapes", file=name)
    return path


def grown(processes: Processes, tree: Tree) -> Tree:
    """The tree with those that belong to it now; asked while its root lives."""
    if tree.root is None or not processes.is_alive(tree.root):
        return tree
    seen = {*processes.descendants(tree.root), *processes.session(tree.root)}
    kept = {each for each in tree.members if processes.is_alive(each)}
    return replace(tree, members=frozenset(seen | kept))


def everyone(tree: Tree) -> frozenset[Identity]:
    """Those of it that were seen, its root among them."""
    return tree.members if tree.root is None else tree.members | {tree.root}


def living(processes: Processes, tree: Tree) -> frozenset[Identity]:
    """Everything of the tree that lives: by identity, session, marker and group, and the children of all these."""
    found = set(tree.members) | set(processes.marked(MARKER, tree.marker)) | _in_group(processes, tree)
    if tree.root is not None:
        found |= {tree.root, *processes.session(tree.root)}
    found |= {child for each in tuple(found) for child in processes.descendants(each)}
    return frozenset(each for each in found if processes.is_alive(each))


def _in_group(processes: Processes, tree: Tree) -> set[Identity]:
    """However they forked, and whatever they wrote over their environment."""
    pids = () if tree.group is None else control_group.pids(tree.group)
    return {each for pid in pids if (each := processes.identify(pid)) is not None}


async def end(ports: Ports, tree: Tree, grace_seconds: float) -> None:
    """TERM to all, KILL to all that stay; returns only when a last look found nothing alive.

    A process is signalled by identity only: a recycled pid is somebody else's and is left alone.
    """
    ending = _Ending(ports, tree, grace_seconds)
    while not await ending.look():
        await ports.clock.sleep(ending.pause_seconds())
    if tree.group is not None:
        control_group.remove(tree.group)


class _Ending:
    def __init__(self, ports: Ports, tree: Tree, grace_seconds: float) -> None:
        self._ports = ports
        self._tree = tree
        self._began = ports.clock.monotonic()
        self._grace_seconds = grace_seconds
        self._known: frozenset[Identity] = frozenset()
        self._asked: set[Identity] = set()
        self._pause_seconds = FIRST_LOOK_SECONDS
        self._said_stubborn = False

    def pause_seconds(self) -> float:
        self._pause_seconds = min(self._pause_seconds * 1.5, LAST_LOOK_SECONDS)
        return self._pause_seconds

    async def look(self) -> bool:
        """One look at those we know, a whole one whenever none of them is left or the grace is over."""
        processes = self._ports.processes
        self._known = frozenset(each for each in self._known if processes.is_alive(each))
        past_grace = self._ports.clock.monotonic() - self._began >= self._grace_seconds
        if not self._known or past_grace:
            self._known = await asyncio.to_thread(living, processes, self._tree)
        if past_grace:
            self._kill()
        else:
            self._ask_to_end()
        return not self._known

    def _ask_to_end(self) -> None:
        new = self._known - self._asked
        _send_all(self._ports.processes, new, signal.SIGTERM)
        self._asked |= new

    def _kill(self) -> None:
        if self._tree.group is not None:
            control_group.kill(self._tree.group)
        _send_all(self._ports.processes, self._known, signal.SIGKILL)
        if self._known and not self._said_stubborn and self._overdue():
            self._said_stubborn = True
            log.error("processes_do_not_end", extra={"pids": sorted(each.pid for each in self._known)})

    def _overdue(self) -> bool:
        return self._ports.clock.monotonic() - self._began > self._grace_seconds + STUBBORN_SECONDS


def _send_all(processes: Processes, identities: Iterable[Identity], signum: int) -> None:
    for each in sorted(identities, key=lambda identity: identity.pid):
        processes.send(each, signum)
