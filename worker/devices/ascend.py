"""From what npu-smi and the machine say to devices: names of chips, ids, health, memory, islands of fast links."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpustack_lite.chips import family_of
from gpustack_lite.domain import Device, DeviceProcess, Health
from worker.devices.ascend_fields import Board, Faults, Mapped
from worker.devices.ascend_table import Chip, Process, Table
from worker.devices.links import Links, node_of
from worker.devices.text import MIB

HEALTH: Mapping[str, Health] = {
    "OK": "ok",
    "WARNING": "warning",
    "ALARM": "alarm",
    "CRITICAL": "critical",
    "UNKNOWN": "unknown",
}
"""The words of npu_common.c; UNKNOWN is an NPU that is absent or has not started."""
USABLE = frozenset({"OK", "WARNING"})
RINGS = {("910", 8): 4, ("910b", 16): 8}
"""Boxes whose islands are known where `topo` says nothing: the 910A's two rings of four, and the two halves of a Box16.

From memory of Huawei's product pages; an answer of `topo` always counts more.
"""
Key = tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class Said:
    """All that was asked of one machine. Keys of `faults` are (NPU id, chip id), of `boards` NPU ids."""

    table: Table
    mapping: tuple[Mapped, ...] = ()
    boards: Mapping[int, Board] = field(default_factory=dict)
    faults: Mapping[Key, Faults] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    nodes: tuple[int, ...] = ()
    """The N of /dev/davinciN that are here."""
    in_container: bool = False
    cpus: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """The CPUs of each NUMA node."""
    bus_numa: Mapping[str, int] = field(default_factory=dict)


def devices(worker: str, said: Said) -> tuple[Device, ...]:
    chips = said.table.chips
    indices = visible_indices(logic_ids(said), len(said.mapping))
    physical = physical_ids(said, indices)
    groups = _groups(said, physical)
    named = zip(chips, indices, physical, groups, strict=True)
    made = [
        replace(_device(worker, said, chip), index=index, physical_id=number, group=group)
        for chip, index, number, group in named
    ]
    return tuple(sorted(made, key=lambda device: device.index))


# --- ids


def logic_ids(said: Said) -> tuple[int | None, ...]:
    """What CANN calls each chip of the table: by `-m`, else by the table's own column of a 310P or an A3."""
    by_key = {(each.npu, each.chip): each.logic for each in said.mapping}
    return tuple(_logic(by_key, said.table, chip) for chip in said.table.chips)


def _logic(by_key: Mapping[tuple[int, int], int | None], table: Table, chip: Chip) -> int | None:
    """An A3 on its host counts logic and physical ids alike."""
    found = by_key.get((chip.npu, chip.chip if chip.chip is not None else -1))
    return chip.beside if found is None and table.beside in {"Device", "Phy-ID"} else found


def visible_indices(logic: Sequence[int | None], count: int) -> tuple[int, ...]:
    """The numbers that ASCEND_RT_VISIBLE_DEVICES takes, in the order of `logic`; `count` chips are known to the tool.

    CANN counts the chips that its driver gave it from 0, on a host as in a container or a VM, and takes no number
    beyond (`input data rang[0-2)`: gpustack#3352 in a VM, vllm-ascend#13399 and HAMi#1894 in containers). Tools may
    tell the host's ids there; so ids that go beyond are replaced by their rank. Where the tool tells no ids, or the
    same one twice, the order of the table counts. NPU ids are never used: they have gaps.
    """
    known = [each for each in logic if each is not None]
    if len(known) < len(logic) or len(set(known)) < len(known):
        return tuple(range(len(logic)))
    if max(known, default=0) >= max(count, len(known)):
        return tuple(sorted(known).index(each) for each in known)
    return tuple(known)


def physical_ids(said: Said, indices: Sequence[int]) -> tuple[int | None, ...]:
    """The N of /dev/davinciN of each chip: the nodes here in order, where there is one for each chip."""
    if len(said.nodes) == len(indices):
        ranks = [sorted(indices).index(each) for each in indices]
        return tuple(sorted(said.nodes)[rank] for rank in ranks)
    by_key = {(each.npu, each.chip): each.phy for each in said.mapping}
    told = [by_key.get((chip.npu, chip.chip or 0)) for chip in said.table.chips]
    if said.table.beside == "Phy-ID":
        told = [chip.beside for chip in said.table.chips]
    is_plain = not said.in_container
    return tuple(index if each is None and is_plain else each for each, index in zip(told, indices, strict=True))


def for_container(chosen: Sequence[Device]) -> tuple[tuple[str, ...], str] | None:
    """The nodes to map into an engine's own container, and its ASCEND_RT_VISIBLE_DEVICES: there they count from 0.

    None where a physical id is unknown: a wrong node would be somebody else's chip.
    """
    numbers = [each.physical_id for each in chosen]
    if any(each is None for each in numbers):
        return None
    return tuple(f"/dev/davinci{each}" for each in numbers), ",".join(str(place) for place in range(len(numbers)))


# --- one device


def _device(worker: str, said: Said, chip: Chip) -> Device:
    used, total = chip.memory or (None, None)
    is_usable = chip.health.upper() in USABLE
    return Device(
        worker=worker,
        index=0,
        kind="ascend",
        chip=chip_name(chip, said.table),
        memory_total_bytes=total * MIB if total else None,
        memory_used_bytes=used * MIB if total and used is not None else None,
        serial=_serial(said, chip),
        health=HEALTH.get(chip.health.upper(), "unknown"),
        schedulable=is_usable and bool(total),
        utilization=chip.aicore if total else None,
        temperature_c=chip.temperature_c if total else None,
        power_w=chip.power_w if total else None,
        numa=_numa(said, chip),
        error_codes=said.faults.get((chip.npu, chip.chip), Faults()).codes,
        processes=tuple(
            _process(each) for each in said.table.processes if (each.npu, each.chip) == (chip.npu, chip.chip)
        ),
    )


def chip_name(chip: Chip, table: Table) -> str:
    """One name for one chip: an A3 says only Ascend910, and the first 910 calls itself 910B and has DDR beside HBM."""
    name = chip.name.removeprefix("Ascend").strip() or chip.name
    if name == "910" and table.beside == "Phy-ID":
        return "910C"
    return "910A" if name in {"910", "910B"} and chip.has_ddr else name


def _serial(said: Said, chip: Chip) -> str | None:
    serial = said.boards.get(chip.npu, Board()).serial
    is_shared = sum(each.npu == chip.npu for each in said.table.chips) > 1
    return f"{serial}/{chip.chip}" if serial and is_shared else serial


def _process(process: Process) -> DeviceProcess:
    memory = process.memory_mb
    return DeviceProcess(process.pid, process.name, None if memory is None else memory * MIB)


def _numa(said: Said, chip: Chip) -> int | None:
    if chip.bus is not None and (told := said.bus_numa.get(chip.bus.lower())) is not None:
        return told
    label = chip.beside if said.table.beside == "Phy-ID" else chip.npu
    cpus = said.links.cpus.get(label) if label is not None else None
    return None if cpus is None else node_of(cpus, said.cpus)


# --- islands


def _groups(said: Said, physical: Sequence[int | None]) -> list[str | None]:
    """The island of each chip of the table: by `topo`, else two chips on one card, else by the box."""
    chips, islands = said.table.chips, said.links.groups()
    labels = [chip.beside if said.table.beside == "Phy-ID" else chip.npu for chip in chips]
    if islands:
        return [f"hccs-{islands[label]}" if label in islands else None for label in labels]
    if said.table.beside == "Device":
        return _by_card(chips)
    family = family_of(chip_name(chips[0], said.table)) if chips else None
    size = RINGS.get((family or "", len(chips)))
    if size is None or any(each is None for each in physical):
        return [None] * len(chips)
    return [f"hccs-{(each or 0) // size}" for each in physical]


def _by_card(chips: Iterable[Chip]) -> list[str | None]:
    npus = [chip.npu for chip in chips]
    return [f"duo-{npu}" if npus.count(npu) > 1 else None for npu in npus]
