"""The machine itself: CPUs and RAM within the limits of its control groups, and the CPU as a device."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

from gpustack_lite.domain import Device
from worker.devices import cgroup


@dataclass(frozen=True, slots=True)
class Machine:
    cpu_count: int
    ram_total_bytes: int
    ram_used_bytes: int


def machine(root: Path = Path("/")) -> Machine:
    memory = psutil.virtual_memory()
    used_bytes = memory.total - memory.available
    return within(_usable_cpus(), memory.total, used_bytes, cgroup.limits(root))


def within(cpu_count: int, total_bytes: int, used_bytes: int, limits: cgroup.Limits) -> Machine:
    """A limit above what the machine has is none. Both readings of use count: the group may be full, or the machine."""
    cpus = cgroup.whole_cpus(cpu_count, limits.cpu_count)
    if limits.memory_bytes is None or limits.memory_bytes >= total_bytes:
        return Machine(cpus, total_bytes, used_bytes)
    machine_free_bytes = total_bytes - used_bytes
    group_used_bytes = limits.memory_used_bytes or 0
    free_bytes = min(machine_free_bytes, max(0, limits.memory_bytes - group_used_bytes))
    return Machine(cpus, limits.memory_bytes, limits.memory_bytes - free_bytes)


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_device(worker: str, machine: Machine, chip: str | None = None) -> Device:
    return Device(
        worker=worker,
        index=0,
        kind="cpu",
        chip=chip or chip_name(),
        memory_total_bytes=machine.ram_total_bytes,
        memory_used_bytes=machine.ram_used_bytes,
        health="ok",
    )


def chip_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The model name where the kernel tells it (x86), else the architecture, such as aarch64."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next((name for name in names if name), platform.machine())
