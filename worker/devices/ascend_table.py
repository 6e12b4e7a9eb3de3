"""The table of `npu-smi info` in all its layouts: 910 and 910B, A3 with two dies, 310P with two chips, 950.

Rows come in pairs, one about the NPU and one about the chip. Nothing is taken by column: widths differ between
releases, and a used value of five digits is glued to its slash. Sources: npu_info_print*.c of hicann/driver, outputs
that users of vllm-ascend, gpustack and nputop posted; the 950 from one posted output of 25.7.rc1.6.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from worker.devices.text import lines_of, natural, number

_NUMBERS = re.compile(r"^(\d{1,9})(?:\s+(\d{1,9}))?$")
_NAMED = re.compile(r"^(\d{1,9})\s+(\S.*)$")
_BUS = re.compile(r"^(?:NA|[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]+)$")
_PAIR = re.compile(r"(\d{1,12})\s*/\s*(\d{1,12})")
_TITLE = re.compile(r"npu-smi\s+(\S+)\s+Version:\s*(\S+)")
_HEALTH = re.compile(r"^[A-Za-z]{2,20}$")


@dataclass(frozen=True, slots=True)
class Process:
    npu: int
    chip: int
    pid: int
    name: str
    memory_mb: int | None


@dataclass(frozen=True, slots=True)
class Chip:
    """One chip or die. `beside` is what stands beside its number: the physical id on an A3, the logic id on a 310P.

    `memory` is (used, total) in MB of the last pair: HBM where there is any, else DDR; None where the row is missing.
    """

    npu: int
    name: str
    health: str
    chip: int | None = None
    beside: int | None = None
    bus: str | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    aicore: float | None = None
    memory: tuple[int, int] | None = None
    has_ddr: bool = False
    """Beside HBM: only the first 910 has both."""


@dataclass(frozen=True, slots=True)
class Table:
    """`beside` names the column of `Chip.beside`: "Phy-ID", "Device", or None."""

    version: str | None = None
    beside: str | None = None
    is_950: bool = False
    chips: tuple[Chip, ...] = ()
    processes: tuple[Process, ...] = ()
    is_incomplete: bool = False
    """The tool itself doubts that the driver is wholly installed."""


def parse(text: str) -> Table:
    """Whatever is no table gives a table without chips."""
    lines = lines_of(text)
    rows = [_cells(line) for line in lines if line.lstrip().startswith("|")]
    ends = next((place for place, row in enumerate(rows) if "Process id" in row), len(rows))
    chips = _numbered(_chips(rows[:ends]))
    return Table(
        version=next((match[2] for line in lines if (match := _TITLE.search(line))), None),
        beside=_beside(rows[:ends]),
        is_950=any(row[:1] == ["NPU ID"] for row in rows[:ends]),
        chips=chips,
        processes=tuple(_processes(rows[ends:])),
        is_incomplete=any("may not be completely installed" in line for line in lines),
    )


def _cells(line: str) -> list[str]:
    """Four cells are the 950's, where number and name stand apart: they are put together as in the other layouts."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if len(cells) == 4 and cells[0] != "NPU ID" and not cells[1].isdigit() and "Process id" not in cells:
        return [f"{cells[0]} {cells[1]}".strip(), *cells[2:]]
    return cells


def _beside(rows: Iterable[list[str]]) -> str | None:
    heads = (row[0].split() for row in rows if row[0].startswith("Chip"))
    return next((head[1] for head in heads if len(head) > 1), None)


def _chips(rows: Iterable[list[str]]) -> list[Chip]:
    found: list[Chip] = []
    waiting: Chip | None = None
    for row in rows:
        if len(row) < 3:
            continue
        if waiting is not None and _BUS.match(row[1]):
            found.append(_second(waiting, row))
            waiting = None
        elif (first := _first(row)) is not None:
            found += [waiting] if waiting else []
            waiting = first
    return [*found, waiting] if waiting else found


def _first(row: list[str]) -> Chip | None:
    named = _NAMED.match(row[0])
    readings = row[2].split()
    if named is None or not _HEALTH.match(row[1]) or len(readings) < 2:
        return None
    power = number(readings[0])
    return Chip(int(named[1]), named[2][:64], row[1], power_w=power, temperature_c=number(readings[1]))


def _second(chip: Chip, row: list[str]) -> Chip:
    numbers = _NUMBERS.match(row[0])
    pairs = [(int(used), int(total)) for used, total in _PAIR.findall(row[2])]
    use = row[2].split()
    return replace(
        chip,
        chip=int(numbers[1]) if numbers else None,
        beside=int(numbers[2]) if numbers and numbers[2] else None,
        bus=None if row[1] == "NA" else row[1],
        aicore=number(use[0]) if use and "/" not in use[0] else None,
        memory=pairs[-1] if pairs else None,
        has_ddr=len(pairs) > 1 and pairs[0][1] > 0,
    )


def _numbered(chips: list[Chip]) -> tuple[Chip, ...]:
    """The 950 does not number its chips: they count from 0 within their NPU."""
    seen: dict[int, int] = {}
    made: list[Chip] = []
    for each in chips:
        own = seen.get(each.npu, 0) if each.chip is None else each.chip
        seen[each.npu] = own + 1
        made.append(replace(each, chip=own))
    return tuple(made)


def _processes(rows: Iterable[list[str]]) -> Iterable[Process]:
    """`NPU CHIP | pid | name | MB`, and from 26 on the pid within a container; the name may be empty."""
    for row in rows:
        place = _NUMBERS.match(row[0]) if len(row) >= 4 else None
        pid = natural(row[1]) if place and row[1].isdigit() else None
        if place and pid is not None:
            yield Process(int(place[1]), int(place[2] or 0), pid, row[2][:64], natural(row[3]))
