"""Which program is asked for which vendor's devices, and how: a look at each costs as few runs as will do."""

import os
import shutil
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from gpustack_lite.domain import Device
from gpustack_lite.ports import Answer, Ports
from gpustack_lite.wire import ToolReport
from worker.devices import amd, ascend, ascend_fields, ascend_table, links, nvidia, others
from worker.devices.complaints import complaint, incomplete_driver
from worker.devices.host import Surroundings
from worker.runtimes.environment import inherited

T = TypeVar("T")
LOOK_DEADLINES = 3
"""All runs of one look together take no more than so many deadlines of one."""
MOST_TRIES = 3
MOST_QUERIED = 64
"""Chips or boards that are asked for one by one."""
Hints = Mapping[str, str]
"""Fields of HostReport that a tool told."""


@dataclass(frozen=True, slots=True)
class Found:
    """One look by one tool; without devices the report says why."""

    devices: tuple[Device, ...]
    report: ToolReport
    host: Hints = field(default_factory=dict)


@dataclass
class Asking:
    """Runs one program for one look. `kept` outlives the look: what does not change is asked once."""

    program: str
    worker: str
    ports: Ports
    surroundings: Surroundings
    deadline_seconds: float
    kept: MutableMapping[Hashable, object]
    env: Mapping[str, str]
    spent_seconds: float = 0.0
    once_seconds: float = 0.0
    """Of `spent_seconds`, what the next look will not ask again."""

    @property
    def recurring_seconds(self) -> float:
        return self.spent_seconds - self.once_seconds

    def ask(self, *arguments: str) -> Answer:
        rest = self.deadline_seconds * LOOK_DEADLINES - self.spent_seconds
        if rest <= 0:
            return Answer(ended_by="deadline")
        began = self.ports.clock.monotonic()
        wanted = min(rest, self.deadline_seconds)
        answer = self.ports.processes.ask([self.program, *arguments], env=self.env, deadline_seconds=wanted)
        self.spent_seconds += self.ports.clock.monotonic() - began
        return answer

    def once(self, key: Hashable, make: Callable[[], Answer]) -> str:
        """The output that was kept under `key`, else that of `make`; a failure is asked again a few times."""
        if key in self.kept:
            return str(self.kept[key])
        before = self.spent_seconds
        answer = make()
        self.once_seconds += self.spent_seconds - before
        tries = self._tries(key)
        if answer.returncode == 0 or tries >= MOST_TRIES:
            self.kept[key] = answer.stdout
        return answer.stdout

    def _tries(self, key: Hashable) -> int:
        """A driver that is busy may answer later; what a release does not know it never will."""
        seen = self.kept.get(("tries", key), 0)
        tries = seen + 1 if isinstance(seen, int) else 1
        self.kept["tries", key] = tries
        return tries

    def found(self, devices: tuple[Device, ...], answer: Answer, *arguments: str, host: Hints | None = None) -> Found:
        command = self.command(*arguments)
        if devices:
            return Found(devices, ToolReport(command=command, status="pass"), host or {})
        seconds = self.deadline_seconds
        told = complaint(command, answer.text, answer.ended_by, deadline_seconds=seconds, why=answer.why)
        return Found((), told, host or {})

    def command(self, *arguments: str) -> str:
        return " ".join([Path(self.program).name, *arguments])


@dataclass(frozen=True, slots=True)
class Tool:
    """`places` are looked at where PATH has no such program."""

    program: str
    look: Callable[[Asking], Found]
    places: tuple[str, ...] = ()

    def path(self, search: str | None) -> str | None:
        found = shutil.which(self.program, path=search)
        return found or next((each for each in self.places if os.access(each, os.X_OK)), None)


# --- Ascend


def look_by_npu_smi(asking: Asking) -> Found:
    """One run in the ordinary case; ids, boards and links once; health one by one for chips that are not well."""
    answer = asking.ask("info")
    table = ascend_table.parse(answer.stdout)
    if not table.chips:
        return asking.found((), answer, "info")
    said = _said(asking, table)
    driver = {"driver": table.version} if table.version else {}
    firmware = next(({"firmware": each.firmware} for each in said.boards.values() if each.firmware), {})
    found = asking.found(ascend.devices(asking.worker, said), answer, "info", host={**driver, **firmware})
    if table.is_incomplete:
        return Found(found.devices, incomplete_driver(asking.command("info")), found.host)
    return found


def _said(asking: Asking, table: ascend_table.Table) -> ascend.Said:
    keys = tuple((chip.npu, chip.chip) for chip in table.chips)
    ill = [chip for chip in table.chips if chip.health.upper() != "OK"][:MOST_QUERIED]
    return ascend.Said(
        table=table,
        mapping=ascend_fields.parse_mapping(asking.once(("-m", keys), lambda: asking.ask("info", "-m"))),
        boards={npu: _board(asking, npu) for npu in list(dict.fromkeys(npu for npu, _ in keys))[:MOST_QUERIED]},
        faults={(chip.npu, chip.chip): _faults(asking, chip) for chip in ill},
        links=links.parse(asking.once(("topo", keys), lambda: asking.ask("info", "-t", "topo"))),
        nodes=asking.surroundings.nodes,
        in_container=asking.surroundings.in_container,
        cpus=asking.surroundings.cpus,
        bus_numa=asking.surroundings.bus_numa,
    )


def _board(asking: Asking, npu: int) -> ascend_fields.Board:
    text = asking.once(("board", npu), lambda: asking.ask("info", "-t", "board", "-i", str(npu)))
    return ascend_fields.parse_board(text)


def _faults(asking: Asking, chip: ascend_table.Chip) -> ascend_fields.Faults:
    answer = asking.ask("info", "-t", "health", "-i", str(chip.npu), "-c", str(chip.chip or 0))
    return ascend_fields.parse_health(answer.stdout)


# --- NVIDIA


def look_by_nvidia_smi(asking: Asking) -> Found:
    answer, rows = _query(asking)
    if not rows:
        return asking.found((), answer, "--query-gpu")
    uuids = tuple(row.get("uuid") for row in rows)
    has_slices = any(row.get("mig.mode.current", "").lower() == "enabled" for row in rows)
    said = nvidia.Said(
        rows=rows,
        slices=nvidia.parse_list(asking.ask("-L").stdout) if has_slices else (),
        slice_memory=nvidia.parse_slice_memory(asking.ask("-q", "-x").stdout) if has_slices else {},
        processes=nvidia.parse_processes(
            asking.ask(f"--query-compute-apps={','.join(nvidia.APP_FIELDS)}", _CSV).stdout
        ),
        links=links.parse(asking.once(("topo", uuids), lambda: asking.ask("topo", "-m"))),
        bus_numa=asking.surroundings.bus_numa,
    )
    told = {
        "nvidia_driver": nvidia.drivers(rows),
        "cuda": nvidia.cuda_version(asking.once(("table", uuids), asking.ask)),
    }
    host = {name: value for name, value in told.items() if value}
    return asking.found(nvidia.devices(asking.worker, said), answer, "--query-gpu", host=host)


_CSV = "--format=csv,noheader,nounits"


def _query(asking: Asking) -> tuple[Answer, tuple[Mapping[str, str], ...]]:
    """Fields that an older driver does not know are left out, and not asked for again."""
    fields = _fields(asking)
    answer = asking.ask(f"--query-gpu={','.join(fields)}", _CSV)
    while (strange := nvidia.unknown_field(answer.text)) in fields:
        fields = tuple(each for each in fields if each != strange)
        asking.kept["fields"] = fields
        answer = asking.ask(f"--query-gpu={','.join(fields)}", _CSV)
    return answer, nvidia.parse_rows(answer.stdout, fields)


def _fields(asking: Asking) -> tuple[str, ...]:
    kept = asking.kept.get("fields")
    return kept if isinstance(kept, tuple) else nvidia.FIELDS


# --- the others

_ROCM_SMI = (
    *("-i", "--showmeminfo", "vram", "--showpower", "--showserial", "--showuse", "--showtemp", "--showproductname"),
    *("--showuniqueid", "--json"),
)


def look_by_amd_smi(asking: Asking) -> Found:
    static = asking.once("static", lambda: asking.ask("static", "--json"))
    enumeration = asking.once("list", lambda: asking.ask("list", "-e", "--json"))
    answer = asking.ask("metric", "--json")
    devices = amd.from_amd_smi(asking.worker, static, answer.stdout, enumeration)
    return asking.found(devices, answer, "metric", "--json")


def _simple(parse: Callable[[str, str], tuple[Device, ...]], *arguments: str) -> Callable[[Asking], Found]:
    def look(asking: Asking) -> Found:
        answer = asking.ask(*arguments)
        return asking.found(parse(asking.worker, answer.stdout), answer, *arguments)

    return look


_IXSMI = ("--format=csv,noheader", f"--query-gpu={','.join(others.ILUVATAR_FIELDS)}")
TOOLS: tuple[Tool, ...] = (
    Tool("npu-smi", look_by_npu_smi, ("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi")),
    Tool("nvidia-smi", look_by_nvidia_smi, ("/usr/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")),
    Tool("amd-smi", look_by_amd_smi, ("/opt/rocm/bin/amd-smi",)),
    Tool("rocm-smi", _simple(amd.from_rocm_smi, *_ROCM_SMI), ("/opt/rocm/bin/rocm-smi",)),
    Tool("hy-smi", _simple(amd.from_rocm_smi, *_ROCM_SMI), ("/opt/hyhal/bin/hy-smi",)),
    Tool("cnmon", _simple(others.from_cnmon)),
    Tool("mthreads-gmi", _simple(others.from_mthreads_gmi, "-q", "--json")),
    Tool("ixsmi", _simple(others.from_ixsmi, *_IXSMI)),
    Tool("mx-smi", _simple(others.from_mx_smi)),
    Tool("system_profiler", _simple(others.from_system_profiler, "SPDisplaysDataType", "-json")),
)
INSTEAD_OF: Mapping[str, Sequence[str]] = {"rocm-smi": ("amd-smi", "hy-smi")}
"""A tool that is left alone while one of these told devices: it would tell the same ones again."""


def environment(ours: Mapping[str, str], ascend_root: Path) -> dict[str, str]:
    """What engines get too, in English, and the driver's libraries where a container has them but no ldconfig."""
    kept = inherited(ours)
    folders = [ascend_root / "driver/lib64" / part for part in ("common", "driver", "")]
    paths = [kept.pop("LD_LIBRARY_PATH", ""), *(str(folder) for folder in folders if folder.is_dir())]
    libraries = ":".join(path for path in paths if path)
    return {**kept, "LC_ALL": "C", **({"LD_LIBRARY_PATH": libraries} if libraries else {})}
