"""The account that engines run as where the worker is root: who that is, and what it must be able to read."""

import grp
import os
import pwd
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from gpustack_lite.errors import Refusal

DEVICE_NODES = ("/dev/davinci*", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/nvidia*", "/dev/kfd", "/dev/dri/render*")
_ROOTS_GROUP = 0


@dataclass(frozen=True, slots=True)
class EngineUser:
    name: str
    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    """Its own, and those that may open the nodes of accelerators."""


def named(name: str, nodes: Sequence[str] = DEVICE_NODES) -> EngineUser:
    """
    Raises:
        Refusal: `engine_user_unknown`, `engine_user_is_root` or `engine_user_needs_root`.
    """
    try:
        account = pwd.getpwnam(name)
    except KeyError as error:
        raise Refusal("engine_user_unknown", name=name) from error
    if account.pw_uid == 0:
        raise Refusal("engine_user_is_root", name=name)
    if os.geteuid() not in {0, account.pw_uid}:
        raise Refusal("engine_user_needs_root", name=name)
    own = {each.gr_gid for each in grp.getgrall() if name in each.gr_mem} | {account.pw_gid}
    return EngineUser(name, account.pw_uid, account.pw_gid, tuple(sorted(own | set(_of_nodes(nodes)))))


def _of_nodes(patterns: Iterable[str]) -> Iterator[int]:
    """Never root's: what belongs to that is not for engines."""
    for path in (path for pattern in patterns for path in glob(pattern)):
        try:
            said = os.stat(path)
        except OSError:
            continue
        if stat.S_ISCHR(said.st_mode) and said.st_mode & stat.S_IRGRP and said.st_gid != _ROOTS_GROUP:
            yield said.st_gid


def open_for(user: EngineUser, data_dir: Path, kept: Iterable[Path]) -> None:
    """What engines must reach of ours: their environments, the models that were fetched, and the way there.

    `kept` is where models are fetched to; of directories that are not ours nothing is changed.
    """
    worker = data_dir / "worker"
    read = (worker / "engines", *kept)
    for folder in (*read, worker / "instances"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    above = {each for folder in read for each in folder.parents if each.is_relative_to(data_dir)}
    let_through((*above, worker / "instances"), user)
    for folder in read:
        let_read(folder, user)


def let_through(folders: Iterable[Path], user: EngineUser) -> None:
    """Directories of ours that lie above what an engine needs: it may pass, and list nothing."""
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink() and not folder.stat().st_mode & stat.S_IXOTH:
            os.chown(folder, -1, user.gid, follow_symlinks=False)
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IXGRP)


def let_read(folder: Path, user: EngineUser) -> None:
    """All that lies there, and, by the set-group-id bit, all that will be made there; nothing of it may be written."""
    if not folder.is_dir() or folder.stat().st_gid == user.gid:
        return
    for path, folders, names in os.walk(folder, topdown=False):
        for each in (*(os.path.join(path, name) for name in (*names, *folders)), path):
            _let_read(each, user)


def _let_read(path: str, user: EngineUser) -> None:
    said = os.lstat(path)
    if stat.S_ISLNK(said.st_mode):
        return
    is_folder = stat.S_ISDIR(said.st_mode)
    if not (is_folder or stat.S_ISREG(said.st_mode)):
        return
    more = stat.S_ISGID | stat.S_IXGRP if is_folder else stat.S_IXGRP if said.st_mode & stat.S_IXUSR else 0
    os.chown(path, -1, user.gid, follow_symlinks=False)
    os.chmod(path, stat.S_IMODE(said.st_mode) & ~stat.S_IWGRP | stat.S_IRGRP | more)


def give(folder: Path, user: EngineUser) -> None:
    """A working directory, with all in it; where a link leads to is left alone.

    The outermost last: until then nobody but us can reach what lies in it.
    """
    for path, folders, names in os.walk(folder, topdown=False):
        for each in (*(os.path.join(path, name) for name in (*folders, *names)), path):
            os.chown(each, user.uid, user.gid, follow_symlinks=False)
