"""What `doctor` reads of a machine before it judges: files, limits, and programs that are run with a deadline."""

import contextlib
import json
import os
import re
import resource
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from pathlib import Path

from backends import registry
from backends.mindie_install import SERVER
from gpustack_lite.domain import BackendVersion, Device, DeviceKind
from gpustack_lite.httpx_alone import httpx
from gpustack_lite.ports import Answer, Ports
from gpustack_lite.settings import Settings
from gpustack_lite.wire import HostReport, ToolReport
from worker import engines, found_engines
from worker.devices import cgroup
from worker.devices.detect import Inventory
from worker.devices.host import version_texts

REACH_SECONDS = 4.0
ENGINE_SECONDS = 60.0
ON_ACCELERATORS = frozenset({"vllm", "vllm_ascend", "sglang", "mindie"})
"""Engines that use the accelerators through torch or CANN."""
_ASK_TORCH = """
import importlib, importlib.metadata as metadata, json
told = {}
for name in ("torch", "torch_npu", "vllm", "vllm_ascend"):
    try:
        told[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        told[name] = None
torch = importlib.import_module("torch")
if told["torch_npu"]:
    importlib.import_module("torch_npu")
    told["count"] = torch.npu.device_count()
else:
    told["count"] = torch.cuda.device_count()
print(json.dumps(told))
"""
"""Importing torch_npu is the test: it fails without CANN's libraries."""
_SOURCED = 'for file in "$@"; do [ -f "$file" ] && . "$file"; done; exec "$PYTHON" -c "$ASKED"'


@dataclass(frozen=True, slots=True)
class Reached:
    """`skew_seconds` is how far our clock is ahead of theirs, where they say what time it is."""

    name: str
    url: str
    why_not: str | None = None
    skew_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """What hccn_tool says of one NPU's network interface; None where it says nothing."""

    card: int
    ip: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """An installed build, and what Python in its environment says; `why_not` where it could not say it."""

    version: BackendVersion
    told: Mapping[str, object] = field(default_factory=dict)
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    name: str
    host: HostReport = field(default_factory=HostReport)
    devices: tuple[Device, ...] = ()
    tools: tuple[ToolReport, ...] = ()
    nodes: frozenset[str] = frozenset()
    """Names in /dev."""
    driver_info: Mapping[str, str] = field(default_factory=dict)
    """The driver's version.info, keys in small letters."""
    cann_info: Mapping[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    links_from: str | None = None
    """The command, or the file; None where there is neither."""
    processes_limit: int | None = None
    """Of processes and threads of this user; None: unlimited."""
    pids_limit: int | None = None
    """Of the control group."""
    shm_bytes: int | None = None
    engines: tuple[Engine, ...] = ()
    reached: tuple[Reached, ...] = ()
    prechecker: Answer | None = None
    """What msprechecker said; None where it is not installed."""

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset({each.kind for each in self.devices if each.kind != "cpu" and not each.simulated})


def gather(name: str, seen: Inventory, settings: Settings, ports: Ports, server: str | None) -> Facts:
    """Runs programs and asks other machines; each has a deadline, and what cannot be learned is left out."""
    kinds = {each.kind for each in seen.devices if each.kind != "cpu"}
    is_real = bool(kinds) and not seen.simulated
    is_ascend = is_real and "ascend" in kinds
    driver_info, cann_info = version_texts(Path("/"), settings.ascend_root) if is_ascend else ({}, {})
    links_from, links = _links(ports, seen.devices) if is_ascend else (None, ())
    return Facts(
        name=name,
        host=seen.host,
        devices=seen.devices,
        tools=seen.tools,
        nodes=frozenset(_names(Path("/dev"))),
        driver_info=driver_info,
        cann_info=cann_info,
        links=links,
        links_from=links_from,
        processes_limit=_processes_limit(),
        pids_limit=cgroup.pids(),
        shm_bytes=_shm_bytes(),
        engines=_engines(settings, ports, seen.devices) if is_real else (),
        reached=_reach(ports, server),
        prechecker=_precheck(ports) if is_ascend else None,
    )


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _processes_limit() -> int | None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    return None if soft == resource.RLIM_INFINITY else soft


def _shm_bytes() -> int | None:
    try:
        return shutil.disk_usage("/dev/shm").total  # noqa: S108  # its size is what is asked
    except OSError:
        return None


# --- the cards' own network


def _links(ports: Ports, devices: Sequence[Device]) -> tuple[str | None, tuple[Link, ...]]:
    numbers = [each.index if each.physical_id is None else each.physical_id for each in devices]
    tool = shutil.which("hccn_tool") or _existing("/usr/local/Ascend/driver/tools/hccn_tool")
    if tool is not None:
        found = tuple(_asked(ports, tool, number) for number in numbers)
        if any(each.ip or each.link for each in found):
            return tool, found
    text = (ports.disk.read(Path("/etc/hccn.conf")) or b"").decode(errors="replace")
    return ("/etc/hccn.conf", tuple(links_in(text, numbers))) if text else (tool, ())


def _existing(path: str) -> str | None:
    return path if os.access(path, os.X_OK) else None


def _asked(ports: Ports, tool: str, number: int) -> Link:
    asked = [tool, "-i", str(number)]
    ip = ports.processes.ask([*asked, "-ip", "-g"], deadline_seconds=5).text
    link = ports.processes.ask([*asked, "-link", "-g"], deadline_seconds=5).text
    return Link(number, _after("ipaddr", ip), _after("link status", link))


def _after(key: str, text: str) -> str | None:
    match = re.search(rf"{key}\s*:\s*(\S+)", text)
    return None if match is None else match[1]


def links_in(text: str, numbers: Iterable[int]) -> Iterable[Link]:
    """From hccn.conf: `address_N=`; it does not tell whether a link is up."""
    told = dict(re.findall(r"^address_(\d+)=(\S+)", text, re.MULTILINE))
    return [Link(number, told.get(str(number))) for number in numbers]


# --- engines


def _engines(settings: Settings, ports: Ports, devices: Sequence[Device]) -> tuple[Engine, ...]:
    kinds = {each.kind for each in devices} - {"cpu"}
    made = [version for name in registry.names() for version in registry.find(name).versions()]
    there = [found for each in made if (found := engines.installed(each, settings.data_dir, ports)) is not None]
    mindie = found_engines.mindie(settings.ascend_root, os.environ, shutil.which(SERVER))
    ours = [each for each in (*there, *mindie) if each.backend in ON_ACCELERATORS and each.device_kinds & kinds]
    return (*(_asked_engine(settings, ports, each) for each in ours), *_vllm_on_path(settings, ports, kinds))


def _vllm_on_path(settings: Settings, ports: Ports, kinds: Collection[DeviceKind]) -> tuple[Engine, ...]:
    """As in vLLM-Ascend's images: which of the two it is, and of which version, its own Python says."""
    path = shutil.which("vllm")
    if path is None:
        return ()
    version = BackendVersion("vllm", "path", frozenset(kinds), "path", installed=True, executable=path)
    return (named(_asked_engine(settings, ports, version)),)


def named(engine: Engine) -> Engine:
    for backend in ("vllm_ascend", "vllm"):
        if found := engine.told.get(backend):
            return replace(engine, version=replace(engine.version, backend=backend, version=f"path-{found}"))
    return engine


def _asked_engine(settings: Settings, ports: Ports, version: BackendVersion) -> Engine:
    """Of an engine that is no Python program nothing is asked."""
    python = python_of(version.executable)
    if python is None:
        return Engine(version)
    root = settings.ascend_root
    files = [str(root / "ascend-toolkit/set_env.sh"), str(root / "nnal/atb/set_env.sh")]
    env = {**os.environ, "PYTHON": python, "ASKED": _ASK_TORCH}
    said = ports.processes.ask(
        ["/bin/bash", "-c", _SOURCED, "doctor", *files], env=env, deadline_seconds=ENGINE_SECONDS
    )
    return told_by(version, said)


def python_of(executable: str | None) -> str | None:
    if executable is None:
        return None
    beside = Path(executable).parent / "python"
    name = Path(executable).name
    return executable if name.startswith("python") else str(beside) if beside.exists() else None


def told_by(version: BackendVersion, said: Answer) -> Engine:
    lines = [line for line in said.text.strip().splitlines() if line.strip()]
    with contextlib.suppress(ValueError, IndexError, RecursionError):
        told = json.loads(lines[-1])
        if said.returncode == 0 and isinstance(told, dict):
            return Engine(version, told)
    return Engine(version, why_not=lines[-1][:300] if lines else said.ended_by)


# --- other machines


def _reach(ports: Ports, server: str | None) -> tuple[Reached, ...]:
    asked = [] if server is None else [("server", server.rstrip("/") + "/healthz")]
    if os.environ.get("HF_HUB_OFFLINE", "") not in {"1", "true", "TRUE", "yes", "on"}:
        asked.append(("huggingface", os.environ.get("HF_ENDPOINT") or "https://huggingface.co"))
        asked.append(("modelscope", os.environ.get("MODELSCOPE_ENDPOINT") or "https://www.modelscope.cn"))
    with ThreadPoolExecutor(max_workers=4) as pool:
        return tuple(pool.map(lambda each: reach(ports, *each), asked))


def reach(ports: Ports, name: str, url: str) -> Reached:
    """Any answer will do. Nothing secret is sent, and our own servers have certificates of their own CA."""
    try:
        with httpx.Client(timeout=REACH_SECONDS, verify=name != "server") as client:
            answer = client.head(url)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return Reached(name, url, str(error) or type(error).__name__)
    return Reached(name, url, skew_seconds=_skew(ports, answer.headers.get("date")))


def _skew(ports: Ports, date: str | None) -> float | None:
    try:
        return None if date is None else (ports.clock.wall() - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):
        return None


def _precheck(ports: Ports) -> Answer | None:
    program = shutil.which("msprechecker")
    return None if program is None else ports.processes.ask([program, "precheck"], deadline_seconds=120)
