"""From nvidia-smi's answers to devices: plain cards, MIG slices, parts whose memory is the machine's.

Sources: NVIDIA's page of nvidia-smi for the fields of --query-gpu; recorded outputs in issues of gpustack,
nvidia-container-toolkit (MIG) and of users of a GB10; the XML of `-q -x` from memory of NVIDIA's schema.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpustack_lite.domain import Device, DeviceProcess
from worker.devices.links import Links
from worker.devices.text import LONGEST_TEXT, filled, lines_of, mib, natural, number, size

FIELDS = (
    *("index", "name", "uuid", "serial", "pci.bus_id", "memory.total", "memory.used", "utilization.gpu"),
    *("temperature.gpu", "power.draw", "driver_version", "compute_cap", "mig.mode.current"),
)
APP_FIELDS = ("gpu_uuid", "pid", "process_name", "used_memory")
GIB = 1024**3
SLICES_PER_GPU = 100
"""The index of slice s of GPU g is (g + 1) * 100 + s, so that no slice shares a number with a GPU."""
SLICE_SHARE = 0.95
"""Of the GB in the name of a profile, what a slice has at the least: 4.75 GiB of 1g.5gb, 9.5 of 1g.10gb."""
_BROKEN = re.compile(r"unknown error|gpu is lost|requires reset|ERR!", re.IGNORECASE)
_UNKNOWN_FIELD = re.compile(r'Field "([^"]{1,64})" is not a valid field')
_GPU = re.compile(r"^GPU (\d{1,5}): (.{1,200}) \(UUID: (GPU-[^)]{1,64})\)")
_SLICE = re.compile(r"^\s+MIG (\S{1,40})\s+Device\s+(\d{1,3}): \(UUID: (MIG-[^)]{1,100})\)")
_PROFILE_GB = re.compile(r"\.(\d{1,4})gb")
_CUDA = re.compile(r"CUDA Version:\s*(\d+\.\d+)")
_XML_GPU = re.compile(r"<gpu id=.*?</gpu>", re.DOTALL)
_XML_SLICE = re.compile(r"<mig_device>.*?</mig_device>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Slice:
    gpu: int
    number: int
    profile: str
    uuid: str


@dataclass(frozen=True, slots=True)
class Said:
    """`slice_memory` are (total, used) in bytes by (GPU's UUID, number of the slice)."""

    rows: tuple[Mapping[str, str], ...]
    slices: tuple[Slice, ...] = ()
    slice_memory: Mapping[tuple[str, int], tuple[int | None, int | None]] = field(default_factory=dict)
    processes: Mapping[str, tuple[DeviceProcess, ...]] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    bus_numa: Mapping[str, int] = field(default_factory=dict)


def parse_rows(text: str, names: Sequence[str] = FIELDS) -> tuple[Mapping[str, str], ...]:
    """The lines of `--format=csv,noheader` that have as many cells as were asked for and begin with an index."""
    cells = ([cell.strip() for cell in line.split(",")] for line in lines_of(text))
    rows = (dict(zip(names, row, strict=True)) for row in cells if len(row) == len(names))
    return tuple(row for row in rows if row.get("index", "0").isdecimal() and len(row.get("index", "0")) < 6)


def unknown_field(text: str) -> str | None:
    """Which field an older program does not know: it answers nothing at all then."""
    match = _UNKNOWN_FIELD.search(text)
    return match[1] if match else None


def parse_list(text: str) -> tuple[Slice, ...]:
    """The MIG slices of `-L`, which stand below their GPU."""
    found: list[Slice] = []
    gpu: int | None = None
    for line in lines_of(text):
        if match := _GPU.match(line):
            gpu = int(match[1])
        elif gpu is not None and (match := _SLICE.match(line)):
            found.append(Slice(gpu, int(match[2]), match[1], match[3]))
    return tuple(found)


def parse_slice_memory(text: str) -> dict[tuple[str, int], tuple[int | None, int | None]]:
    """From the XML of `-q -x`."""
    found: dict[tuple[str, int], tuple[int | None, int | None]] = {}
    for gpu in _XML_GPU.findall(text[:LONGEST_TEXT]):
        uuid = _element(gpu, "uuid")
        for each in _XML_SLICE.findall(gpu):
            place, memory = natural(_element(each, "index")), _element(each, "fb_memory_usage") or ""
            if uuid is not None and place is not None:
                found[uuid, place] = (size(_element(memory, "total")), size(_element(memory, "used")))
    return found


def _element(xml: str, name: str) -> str | None:
    _, opening, rest = xml.partition(f"<{name}>")
    content, closing, _ = rest.partition(f"</{name}>")
    return content.strip() if opening and closing else None


def parse_processes(text: str) -> dict[str, tuple[DeviceProcess, ...]]:
    """By the UUID of the GPU or the slice."""
    found: dict[str, list[DeviceProcess]] = defaultdict(list)
    for row in parse_rows(text, APP_FIELDS):
        if (pid := natural(row["pid"])) is not None:
            name = row["process_name"].rpartition("/")[2][:64]
            found[row["gpu_uuid"]].append(DeviceProcess(pid, name, mib(row["used_memory"])))
    return {uuid: tuple(processes) for uuid, processes in found.items()}


def cuda_version(text: str) -> str | None:
    """The newest CUDA that the driver runs, from the head of the plain table."""
    match = _CUDA.search(text[:LONGEST_TEXT])
    return match[1] if match else None


def devices(worker: str, said: Said) -> tuple[Device, ...]:
    """A card that is cut into slices stays in the list, for people, but takes nothing itself."""
    cut = {each.gpu for each in said.slices}
    whole = [_card(worker, said, row, is_cut=int(row["index"]) in cut) for row in said.rows]
    by_index = {device.index: device for device in whole}
    parts = [_slice(worker, said, each, by_index[each.gpu]) for each in said.slices if each.gpu in by_index]
    return tuple(sorted((*whole, *parts), key=lambda device: device.index))


def _card(worker: str, said: Said, row: Mapping[str, str], *, is_cut: bool) -> Device:
    index = int(row["index"])
    total = mib(row.get("memory.total"))
    is_broken = any(_BROKEN.search(cell) for cell in row.values())
    is_cut = is_cut or row.get("mig.mode.current", "").lower() == "enabled"
    return Device(
        worker=worker,
        index=index,
        kind="cuda",
        chip=chip_name(row.get("name", "")),
        memory_total_bytes=total or None,
        memory_used_bytes=mib(row.get("memory.used")) if total else None,
        physical_id=index,
        serial=filled(row.get("serial")) or filled(row.get("uuid")),
        health="critical" if is_broken else "ok",
        schedulable=not is_broken and not is_cut,
        utilization=number(row.get("utilization.gpu")),
        temperature_c=number(row.get("temperature.gpu")),
        power_w=number(row.get("power.draw")),
        group=_group(said.links, index),
        numa=_numa(said, index, row.get("pci.bus_id", "")),
        unified_memory=total is None and not is_broken and not is_cut,
        compute_capability=filled(row.get("compute_cap")),
        processes=said.processes.get(row.get("uuid", ""), ()),
    )


def _slice(worker: str, said: Said, part: Slice, card: Device) -> Device:
    uuid = next((row.get("uuid", "") for row in said.rows if int(row["index"]) == part.gpu), "")
    total, used = said.slice_memory.get((uuid, part.number), (None, None))
    return Device(
        worker=worker,
        index=(part.gpu + 1) * SLICES_PER_GPU + part.number,
        kind="cuda",
        chip=f"{card.chip} MIG {part.profile}",
        memory_total_bytes=total or _nominal(part.profile),
        memory_used_bytes=used,
        physical_id=part.gpu,
        serial=part.uuid,
        health=card.health,
        schedulable=card.health == "ok",
        numa=card.numa,
        visible_as=part.uuid,
        compute_capability=card.compute_capability,
        processes=said.processes.get(part.uuid, ()),
    )


def _nominal(profile: str) -> int | None:
    match = _PROFILE_GB.search(profile)
    return int(int(match[1]) * GIB * SLICE_SHARE) if match else None


def chip_name(name: str) -> str:
    """ "NVIDIA A100-SXM4-40GB" -> "A100-SXM4-40GB"."""
    return re.sub(r"^(NVIDIA|Tesla)\s+(?=\S)", "", name.strip())[:64] or "GPU"


def _group(links: Links, index: int) -> str | None:
    island = links.groups().get(index)
    return None if island is None else f"nvlink-{island}"


def _numa(said: Said, index: int, bus: str) -> int | None:
    """nvidia-smi writes eight digits for the domain where the kernel writes four."""
    told = said.bus_numa.get(bus.lower()[-12:])
    return said.links.numa.get(index) if told is None else told


def drivers(rows: Iterable[Mapping[str, str]]) -> str | None:
    return next((driver for row in rows if (driver := filled(row.get("driver_version")))), None)
