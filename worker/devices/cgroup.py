"""What the control groups of this process allow: CPUs and memory, version 1 and 2, nested ones included."""

import math
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_UNLIMITED_V1 = 1 << 60
"""Version 1 writes a number near 2^63 where there is no limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """None where nothing limits. `memory_used_bytes` belongs to the tightest memory limit, without page cache."""

    cpu_count: float | None = None
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class _Memory:
    limit_bytes: int
    used_bytes: int | None


def limits(root: Path = Path("/")) -> Limits:
    """`root` stands for / (tests give a made-up one). Sources: proc(5), cgroups(7), the kernel's cgroup-v2.rst."""
    cpus: list[float] = []
    memories: list[_Memory] = []
    for controller, folder in _folders(root):
        if controller in {"", "cpu"} and (cpu := _cpu_of(folder)) is not None:
            cpus.append(cpu)
        if controller in {"", "memory"} and (memory := _memory_of(folder)) is not None:
            memories.append(memory)
    tightest = min(memories, key=lambda each: each.limit_bytes, default=None)
    return Limits(
        cpu_count=min(cpus, default=None),
        memory_bytes=None if tightest is None else tightest.limit_bytes,
        memory_used_bytes=None if tightest is None else tightest.used_bytes,
    )


def pids(root: Path = Path("/")) -> int | None:
    """How many processes and threads our groups allow; None where nothing limits."""
    folders = [folder for controller, folder in _folders(root) if controller in {"", "pids"}]
    limits = [limit for folder in folders if (limit := _number(folder / "pids.max")) is not None]
    return min(limits, default=None)


def whole_cpus(available: int, limit: float | None) -> int:
    """At least one: half a CPU still runs one thread."""
    return available if limit is None else max(1, min(available, math.ceil(limit)))


def _folders(root: Path) -> list[tuple[str, Path]]:
    """(controller, folder) of each of our groups and of those above it; controller "" is version 2."""
    found: list[tuple[str, Path]] = []
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(",") if controllers else [""]:
            mount = root / "sys/fs/cgroup" / controller
            found += [(controller, folder) for folder in _upwards(mount, path)]
    return found


def _upwards(mount: Path, path: str) -> list[Path]:
    """In a container the path is often that of the host and does not exist below the mount: the mount itself counts."""
    parts = [part for part in PurePosixPath(path).parts if part not in {"/", ".."}]
    return [mount.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


def _cpu_of(folder: Path) -> float | None:
    if quota := _first_line(folder / "cpu.max"):
        limit, _, period = quota.partition(" ")
        return None if limit == "max" else _ratio(limit, period or "100000")
    limit = _first_line(folder / "cpu.cfs_quota_us")
    if not limit or limit.startswith("-"):
        return None
    return _ratio(limit, _first_line(folder / "cpu.cfs_period_us") or "100000")


def _ratio(limit: str, period: str) -> float | None:
    try:
        return int(limit) / int(period)
    except (ValueError, ZeroDivisionError):
        return None


def _memory_of(folder: Path) -> _Memory | None:
    if (limit := _number(folder / "memory.max")) is not None:
        return _Memory(limit, _without_cache(folder, "memory.current", "inactive_file"))
    limit = _number(folder / "memory.limit_in_bytes")
    if limit is None or limit >= _UNLIMITED_V1:
        return None
    return _Memory(limit, _without_cache(folder, "memory.usage_in_bytes", "total_inactive_file"))


def _without_cache(folder: Path, usage_name: str, cache_name: str) -> int | None:
    usage = _number(folder / usage_name)
    if usage is None:
        return None
    pairs = (line.split() for line in _lines(folder / "memory.stat"))
    cache = next((int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] == cache_name), 0)
    return max(0, usage - cache)


def _number(path: Path) -> int | None:
    line = _first_line(path)
    return int(line) if line.isdigit() else None


def _first_line(path: Path) -> str:
    return next(iter(_lines(path)), "").strip()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
