"""Cambricon, Moore Threads, Iluvatar, MetaX and Apple: one parser each, of the one answer that is known of their tools.

Nobody tried these on hardware here. Sources: a `cnmon` table in PaddleX's documentation, `mthreads-gmi -q --json` as
the tests of public monitors hold it, `ixsmi --query-gpu` recorded by gpustack, an `mx-smi` table that a user posted,
`system_profiler` of an M4.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from gpustack_lite.domain import Device, DeviceKind
from worker.devices.nvidia import parse_rows
from worker.devices.text import document, filled, lines_of, listed, mapping, mib, natural, number, size

ILUVATAR_FIELDS = ("index", "name", "memory.total", "memory.used", "utilization.gpu", "temperature.gpu")
_CNMON_NAME = re.compile(r"^(\d{1,4})\s+\S+\s+(\S+)(?:\s+\S+)?$")
_CNMON_READINGS = re.compile(r"(?:(\d+)\s*%|N/A)\s+(\d+)\s*C\s+(\d+)\s*W\s*/")
_CNMON_MEMORY = re.compile(r"(\d{1,9})\s*MiB\s*/\s*(\d{1,9})\s*MiB")
_METAX_NAME = re.compile(r"^(\d{1,4})\s+(\S.*?)\s+(?:On|Off)$")
_METAX_READINGS = re.compile(r"^(\d+)C\s+(\d+)W\s*/")
_METAX_MEMORY = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*MiB")


def from_cnmon(worker: str, text: str) -> tuple[Device, ...]:
    """Two rows of three cells for each card, as nvidia-smi draws them."""
    return tuple(_pairs(worker, text, "mlu", _CNMON_NAME, _CNMON_MEMORY))


def from_mx_smi(worker: str, text: str) -> tuple[Device, ...]:
    return tuple(_pairs(worker, text, "maca", _METAX_NAME, _METAX_MEMORY))


def _pairs(
    worker: str, text: str, kind: DeviceKind, name: re.Pattern[str], memory: re.Pattern[str]
) -> Iterable[Device]:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines_of(text)]
    table = [row for row in rows if len(row) == 3]
    for one, other in pairwise(table):
        named, sizes = name.match(one[0]), memory.search(other[1])
        if named and sizes:
            readings = _CNMON_READINGS.search(other[0]) if kind == "mlu" else _METAX_READINGS.search(other[0])
            temperature, power = readings.groups()[-2:] if readings else (None, None)
            yield Device(
                worker=worker,
                index=int(named[1]),
                kind=kind,
                chip=named[2].removeprefix("MetaX ")[:64],
                memory_total_bytes=mib(sizes[2]) or None,
                memory_used_bytes=mib(sizes[1]),
                physical_id=int(named[1]),
                health="ok",
                utilization=number(one[2]) if "%" in one[2] else None,
                temperature_c=number(temperature),
                power_w=number(power),
            )


def from_mthreads_gmi(worker: str, text: str) -> tuple[Device, ...]:
    """A key of its document ends in a blank: "Power Draw "."""
    made = [
        _moore_threads(worker, index, gpu)
        for gpu in listed(mapping(document(text)).get("GPU"))
        if (index := natural(gpu.get("Index"))) is not None
    ]
    return tuple(sorted(made, key=lambda device: device.index))


def _moore_threads(worker: str, index: int, gpu: object) -> Device:
    told = _trimmed(gpu)
    memory, power = _trimmed(told.get("FB Memory Usage")), _trimmed(told.get("Power Readings"))
    total = size(memory.get("Total"))
    return Device(
        worker=worker,
        index=index,
        kind="musa",
        chip=filled(told.get("Product Name")) or "GPU",
        memory_total_bytes=total or None,
        memory_used_bytes=size(memory.get("Used")),
        physical_id=index,
        serial=filled(told.get("GPU UUID")),
        health="ok" if total else "unknown",
        utilization=number(_trimmed(told.get("Utilization")).get("Gpu")),
        temperature_c=number(_trimmed(told.get("Temperature")).get("GPU Current Temp")),
        power_w=number(power.get("Power Draw")),
    )


def _trimmed(value: object) -> dict[str, object]:
    return {name.strip(): each for name, each in mapping(value).items()}


def from_ixsmi(worker: str, text: str) -> tuple[Device, ...]:
    """The cells hold units."""
    return tuple(
        Device(
            worker=worker,
            index=int(row["index"]),
            kind="corex",
            chip=row["name"].removeprefix("Iluvatar ")[:64] or "GPU",
            memory_total_bytes=size(row["memory.total"]) or None,
            memory_used_bytes=size(row["memory.used"]),
            physical_id=int(row["index"]),
            health="ok",
            utilization=number(row["utilization.gpu"]),
            temperature_c=number(row["temperature.gpu"]),
        )
        for row in parse_rows(text, ILUVATAR_FIELDS)
    )


def from_system_profiler(worker: str, text: str) -> tuple[Device, ...]:
    """Apple's own GPU, whose memory is the machine's."""
    displays = listed(mapping(document(text)).get("SPDisplaysDataType"))
    names = [filled(each.get("sppci_model")) for each in displays if _is_apples(each.get("spdisplays_vendor"))]
    return tuple(
        Device(worker, index, "metal", name or "GPU", None, physical_id=index, health="ok", unified_memory=True)
        for index, name in enumerate(names)
    )


def _is_apples(vendor: object) -> bool:
    return "apple" in str(vendor).lower()[:100]
