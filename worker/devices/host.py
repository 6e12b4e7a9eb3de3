"""What the machine says of itself without running anything: versions from files, device nodes, NUMA, containers."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_lite.wire import HostReport
from worker.devices.ascend_fields import parse_versions
from worker.devices.links import cpu_set
from worker.devices.text import filled, first

HUAWEI, NVIDIA = "0x19e5", "0x10de"
"""PCI vendors (pci.ids)."""
ASCEND_CHIPS = frozenset({"0xd100", "0xd500", "0xd801", "0xd802", "0xd803", "0xd806"})
"""PCI devices of Huawei's that are NPUs: 0xd802 910B, 0xd803 910C, 0xd806 950; the older ones from pci.ids."""
_DAVINCI = re.compile(r"^davinci(\d{1,6})$")
_NODE = re.compile(r"^node(\d{1,4})$")
_CONTAINERS = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`nodes` are the N of /dev/davinciN; `bus_numa` goes by PCI address in small letters."""

    nodes: tuple[int, ...] = ()
    has_nvidia: bool = False
    has_ascend: bool = False
    in_container: bool = False
    cpus: Mapping[int, frozenset[int]] = field(default_factory=dict)
    bus_numa: Mapping[str, int] = field(default_factory=dict)


def surroundings(root: Path = Path("/")) -> Surroundings:
    nodes = tuple(sorted(int(match[1]) for name in _names(root / "dev") if (match := _DAVINCI.match(name))))
    pci = {name: root / "sys/bus/pci/devices" / name for name in _names(root / "sys/bus/pci/devices")}
    ids = {name: (_line(folder / "vendor"), _line(folder / "device")) for name, folder in pci.items()}
    numa = {
        name.lower(): _line(folder / "numa_node") for name, folder in pci.items() if ids[name][0] in {HUAWEI, NVIDIA}
    }
    return Surroundings(
        nodes=nodes,
        has_nvidia=(root / "dev/nvidiactl").exists(),
        has_ascend=bool(nodes) or any(vendor == HUAWEI and chip in ASCEND_CHIPS for vendor, chip in ids.values()),
        in_container=container(root) is not None,
        cpus=_cpus(root / "sys/devices/system/node"),
        bus_numa={name: int(node) for name, node in numa.items() if node.isdecimal()},
    )


def _cpus(folder: Path) -> dict[int, frozenset[int]]:
    matches = (_NODE.match(name) for name in _names(folder))
    return {int(match[1]): cpu_set(_line(folder / match[0] / "cpulist")) for match in matches if match}


def container(root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> str | None:
    """docker, podman, kubernetes or lxc; None outside of all that is known."""
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "kubernetes"
    if (root / "run/.containerenv").exists():
        return "podman"
    told = filled(environ.get("container"))
    groups = _text(root / "proc/1/cgroup") + _text(root / "proc/self/cgroup")
    by_group = first(name for mark, name in _CONTAINERS if mark in groups)
    return by_group or ("docker" if (root / ".dockerenv").exists() else told)


def report(root: Path = Path("/"), ascend_root: Path = Path("/usr/local/Ascend")) -> HostReport:
    release = parse_versions(_text(root / "etc/os-release"))
    return HostReport(
        os=filled(release.get("pretty_name", "").strip('"')) or platform.system() or None,
        arch=platform.machine() or None,
        libc=_libc(),
        container=container(root),
        driver=version_in(_driver_folder(root, ascend_root) / "driver/version.info"),
        firmware=version_in(_driver_folder(root, ascend_root) / "firmware/version.info"),
        cann=cann(root, ascend_root),
        nvidia_driver=_nvidia_module(root),
    )


def _libc() -> str | None:
    try:
        return filled(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError, AttributeError):
        return None


def _driver_folder(root: Path, ascend_root: Path) -> Path:
    """Where the driver's installer says that it put it."""
    told = parse_versions(_text(root / "etc/ascend_install.info")).get("driver_install_path_param")
    return root / (told or str(ascend_root)).lstrip("/")


def is_driver_incomplete(root: Path = Path("/")) -> bool:
    """The installer's own record; no record, as in most containers, says nothing."""
    text = _text(root / "etc/ascend_install.info")
    return bool(text) and parse_versions(text).get("driver_install_status", "complete") != "complete"


def cann(root: Path, ascend_root: Path, environ: Mapping[str, str] = os.environ) -> str | None:
    """Of the toolkit that engines here would source: by the environment, else what `latest` or `cann` names."""
    below = root / str(ascend_root).lstrip("/")
    told = [Path(path) for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH") if (path := environ.get(name))]
    folders = [*told, below / "ascend-toolkit/latest", below / "cann", below / "nnrt/latest"]
    infos = [info for folder in folders for info in sorted(folder.glob("*-linux/ascend_*_install.info"))]
    return first(version_in(info) for info in infos)


def version_texts(root: Path, ascend_root: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Every field of the driver's version.info and of the toolkit's install.info: each names what it goes with."""
    driver = parse_versions(_text(_driver_folder(root, ascend_root) / "driver/version.info"))
    below = root / str(ascend_root).lstrip("/")
    folders = [below / "ascend-toolkit/latest", below / "cann"]
    infos = [info for folder in folders for info in sorted(folder.glob("*-linux/ascend_toolkit_install.info"))]
    return driver, next((parse_versions(_text(info)) for info in infos), {})


def version_in(path: Path) -> str | None:
    """`Version=` or `version=` of a version.info."""
    return filled(parse_versions(_text(path)).get("version", ""))


def _nvidia_module(root: Path) -> str | None:
    """The loaded kernel module's, also where nvidia-smi is missing."""
    match = re.search(r"Kernel Module.*?\s(\d+\.\d[\d.]*)", _text(root / "proc/driver/nvidia/version"))
    return match[1] if match else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(1 << 16).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _line(path: Path) -> str:
    return next(iter(_text(path).splitlines()), "").strip()


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
