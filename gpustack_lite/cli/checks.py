"""The checks of `doctor`: each looks at one thing of this machine and says pass, warn or fail, and what to do."""

import importlib.metadata
import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpustack_lite.cli import listening, record
from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Param, Refusal
from gpustack_lite.hub import uv
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings
from worker import ports_range

Status = Literal["pass", "warn", "fail"]
GIB = 1024**3
OUR_NAMES = ("gpustack_lite", "backends", "scheduler", "worker")
OUR_DISTRIBUTION = "gpustack-lite"
LEAST_DESCRIPTORS = 4096
SANE_YEARS = range(2025, 2100)


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    status: Status
    said: Sentence
    remedy: Sentence | None = None


def passed(name: str, code: str, **params: Param) -> Check:
    return Check(name, "pass", Sentence(code, params))


def python(settings: Settings, ports: Ports) -> Check:
    return passed("python", "check_python", version=platform.python_version(), path=sys.executable)


def data_dir(settings: Settings, ports: Ports) -> Check:
    """Writable, or to be made in a folder that is."""
    folder = nearest_folder(settings.data_dir)
    params = {"path": str(settings.data_dir)}
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return passed("data_dir", "check_data_dir", **params)
    return Check("data_dir", "fail", Sentence("check_data_dir_bad", params), Sentence("remedy_data_dir"))


def disk(settings: Settings, ports: Ports) -> Check:
    free_bytes = shutil.disk_usage(nearest_folder(settings.data_dir)).free
    said = Sentence("check_disk", {"path": str(settings.data_dir), "free_bytes": free_bytes})
    if free_bytes >= 10 * GIB:
        return Check("disk", "pass", said)
    return Check("disk", "fail" if free_bytes < GIB else "warn", said, Sentence("remedy_disk"))


def port(settings: Settings, ports: Ports) -> Check:
    found = listening.holders(settings.port)
    if not found:
        return passed("port", "check_port_free", port=settings.port)
    ours = record.read(ports.disk, settings.data_dir / "run" / "supervisor.json")
    our_pids = set() if ours is None else {each.pid for each in (ours.supervisor, *ours.processes)}
    if any(holder.pid in our_pids for holder in found):
        return passed("port", "check_port_ours", port=settings.port)
    params: dict[str, Param] = {"port": settings.port, "pid": found[0].pid, "program": found[0].name}
    return Check("port", "fail", Sentence("check_port_taken", params), Sentence("remedy_port", params))


def descriptors(settings: Settings, ports: Ports) -> Check:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = most if most != resource.RLIM_INFINITY else 2**20
    said = Sentence("check_descriptors", {"count": count})
    if count >= LEAST_DESCRIPTORS:
        return Check("descriptors", "pass", said)
    return Check("descriptors", "warn", said, Sentence("remedy_descriptors", {"least": LEAST_DESCRIPTORS}))


def engine_installer(settings: Settings, ports: Ports) -> Check:
    try:
        return passed("uv", "check_uv", path=uv.find_uv())
    except Refusal as refusal:
        return Check("uv", "fail", refusal.sentence, Sentence("remedy_uv"))


def names(settings: Settings, ports: Ports) -> Check:
    """Our packages have plain names; another distribution that brings one of them would be imported in our stead."""
    strangers = foreign_owners(importlib.metadata.packages_distributions())
    if not strangers:
        return passed("names", "check_names")
    name, owner = strangers[0]
    params = {"name": name, "distribution": owner}
    return Check("names", "fail", Sentence("check_names_taken", params), Sentence("remedy_names", params))


def foreign_owners(owners: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(name, owner) for name in OUR_NAMES for owner in owners.get(name, ()) if owner != OUR_DISTRIBUTION]


def engine_ports(settings: Settings, ports: Ports) -> Check:
    ours = ports_range.parse_range(settings.engine_ports)
    ephemeral = (ports.disk.read(Path("/proc/sys/net/ipv4/ip_local_port_range")) or b"").decode()
    shared = ports_range.overlap(ours, ephemeral) if ephemeral else None
    if shared is None:
        return passed("engine_ports", "check_engine_ports", ports=settings.engine_ports)
    params: dict[str, Param] = {"ports": settings.engine_ports, "low": shared[0], "high": shared[1]}
    return Check("engine_ports", "warn", Sentence("check_engine_ports_shared", params), Sentence("remedy_engine_ports"))


def clock(settings: Settings, ports: Ports) -> Check:
    now = ports.clock.wall()
    said = Sentence("check_clock", {"now": now.isoformat(timespec="seconds")})
    if now.year in SANE_YEARS:
        return Check("clock", "pass", said)
    return Check("clock", "fail", said, Sentence("remedy_clock"))


ALL: tuple[Callable[[Settings, Ports], Check], ...] = (
    python,
    names,
    data_dir,
    disk,
    port,
    descriptors,
    engine_installer,
    engine_ports,
    clock,
)


def nearest_folder(path: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
