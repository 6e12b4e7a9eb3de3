"""Reads from /proc what processes have read, hold and listen on; unknown is None or nothing, never a guess."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import psutil

from gpustack_lite.ports import Identity
from worker.probe import Readings

PROC = Path("/proc")


def of_tree(identities: Iterable[Identity], log_file: Path, proc: Path = PROC) -> Readings:
    pids = [each.pid for each in identities]
    return Readings(
        log_bytes=_size_of(log_file),
        read_bytes=sum(read_bytes(pid, proc) for pid in pids),
        rss_bytes=sum(resident_bytes(pid, proc)[0] for pid in pids),
    )


def read_bytes(pid: int, proc: Path = PROC) -> int:
    """rchar (read by system calls) plus read_bytes (fetched from the disk, also by page faults), see proc(5)."""
    numbers = _colon_numbers(proc / str(pid) / "io")
    return max(numbers.get("rchar", 0), numbers.get("read_bytes", 0))


def resident_bytes(pid: int, proc: Path = PROC) -> tuple[int, int]:
    """(all resident memory, that part of it which no file backs): mapped weights are page cache, not use."""
    numbers = _colon_numbers(proc / str(pid) / "status")
    own = numbers.get("RssAnon", numbers.get("VmRSS", 0)) + numbers.get("RssShmem", 0)
    return numbers.get("VmRSS", 0) * 1024, own * 1024


def held_bytes(identities: Iterable[Identity], proc: Path = PROC) -> int:
    """What a tree of processes holds in RAM, mapped weights included; what several of them share counts once.

    Of one process the most that it ever held; of several the proportional shares of now (smaps_rollup, which takes
    milliseconds).
    """
    pids = [each.pid for each in identities]
    if len(pids) == 1:
        return _peak_bytes(pids[0], proc)
    return sum(_proportional_bytes(pid, proc) for pid in pids)


def _peak_bytes(pid: int, proc: Path) -> int:
    numbers = _colon_numbers(proc / str(pid) / "status")
    return numbers.get("VmHWM", numbers.get("VmRSS", 0)) * 1024


def _proportional_bytes(pid: int, proc: Path) -> int:
    kib = _colon_numbers(proc / str(pid) / "smaps_rollup").get("Pss")
    return resident_bytes(pid, proc)[0] if kib is None else kib * 1024


def own_bytes(identities: Iterable[Identity]) -> int:
    """What our engines hold of the memory that the machine counts as used."""
    return sum(resident_bytes(each.pid)[1] for each in identities)


def is_listening(identities: Iterable[Identity], port: int) -> bool | None:
    """Whether one of them listens on `port`; None where we may not see their sockets."""
    for each in identities:
        try:
            connections = psutil.Process(each.pid).net_connections("tcp")
        except psutil.NoSuchProcess:
            continue
        except (psutil.Error, OSError):
            return None
        if any(c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port for c in connections):
            return True
    return False


def _colon_numbers(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.split()[:2] for line in lines)
    return {pair[0].rstrip(":"): int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def disk_free_bytes(path: Path) -> int | None:
    """What a user without privileges may still write where `path` is."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
