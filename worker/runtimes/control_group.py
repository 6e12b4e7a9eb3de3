"""Control groups of engines (cgroup v2): who is in one cannot leave its end, however it forked or hid.

Linux, Documentation/admin-guide/cgroup-v2.rst: `cgroup.kill` (5.14) kills all below at once, forks in flight included.
"""

import contextlib
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)
OF_WORKER = "worker"
"""The subgroup in which systemd starts us (DelegateSubgroup=): then engines lie beside it, and may be limited."""
_LIMITED = {"memory": "memory.max", "pids": "pids.max"}


@dataclass(frozen=True, slots=True)
class Groups:
    """`base` is where groups can be made; None where there is no such place. `controllers` can limit what is in one."""

    base: Path | None = None
    controllers: frozenset[str] = frozenset()

    def named(self, prefix: str) -> list[Path]:
        """Those that are there."""
        return [] if self.base is None else sorted(each for each in self.base.glob(f"{prefix}*") if each.is_dir())

    def make(self, name: str, limits: Mapping[str, int]) -> Path | None:
        """A group for one engine: made, or the one that is there. None where it cannot be.

        `limits`: "memory" in bytes, "pids" as a number; those of a controller that is not here are left out.
        """
        if self.base is None:
            return None
        group = self.base / name
        try:
            group.mkdir(exist_ok=True)
            for controller, most in limits.items():
                if controller in self.controllers:
                    (group / _LIMITED[controller]).write_text(str(most))
        except OSError as error:
            log.warning("control_group_failed", extra={"group": name, "why": error.strerror})
            return None
        return group


def found(proc: Path = Path("/proc/self")) -> Groups:
    """Looks for a place by making a group and removing it again."""
    for base in _candidates(proc):
        probe = base / f"gpustack-lite-probe-{os.getpid()}"
        try:
            probe.mkdir()
            can_kill = (probe / "cgroup.kill").exists()
            probe.rmdir()
        except OSError:
            continue
        if can_kill:
            return Groups(base, _enabled(base))
    return Groups()


def _candidates(proc: Path) -> Iterable[Path]:
    mount, own = _mount(proc), _own(proc)
    if mount is None or own is None:
        return ()
    here = mount / own.lstrip("/")
    return (here.parent, here) if here.name == OF_WORKER else (here,)


def _mount(proc: Path) -> Path | None:
    """mountinfo (proc(5)): the fifth field is where, the type stands behind the dash."""
    for line in _lines(proc / "mountinfo"):
        fields, _, more = line.partition(" - ")
        if more.startswith("cgroup2 "):
            return Path(fields.split()[4].replace("\\040", " "))
    return None


def _own(proc: Path) -> str | None:
    return next((line[3:] for line in _lines(proc / "cgroup") if line.startswith("0::")), None)


def _enabled(base: Path) -> frozenset[str]:
    """A group that holds processes itself passes no controllers down, unless it is the root."""
    for name in _LIMITED:
        with contextlib.suppress(OSError):
            (base / "cgroup.subtree_control").write_text(f"+{name}")
    words = [word for line in _lines(base / "cgroup.subtree_control") for word in line.split()]
    return frozenset(words).intersection(_LIMITED)


def pids(group: Path) -> list[int]:
    """Of it and of what was made below it; nothing where it is no more."""
    return [int(line) for folder in _tree(group) for line in _lines(folder / "cgroup.procs") if line.isdigit()]


def kill(group: Path) -> None:
    with contextlib.suppress(OSError):
        (group / "cgroup.kill").write_text("1")


def remove(group: Path) -> None:
    """The deepest first. One that still has processes stays, and is found by the next who looks."""
    for folder in sorted(_tree(group), key=lambda each: len(each.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _tree(group: Path) -> list[Path]:
    return [Path(folder) for folder, _, _ in os.walk(group)]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
