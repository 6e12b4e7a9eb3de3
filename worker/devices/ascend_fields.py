"""What `npu-smi info -l`, `-m` and `-t board|health|usages|proc-mem` print: fields, one to a line, and one mapping.

Sources: print_*_info of hicann/driver; recorded outputs in issues of gpustack and vllm-ascend.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from worker.devices.text import fields, filled, lines_of, natural

_GAP = re.compile(r"\t|\s{2,}")
_CODE = re.compile(r"\b[0-9A-Fa-f]{8}\b")
_PROCESS = re.compile(r"Process id:\s*(\d{1,9})\s+Process name:(.*?)\s+Process memory\(MB\):\s*(\d{1,9})")
_COLUMNS = {"NPU ID": "npu", "Chip ID": "chip", "Chip Logic ID": "logic", "Chip Phy-ID": "phy", "Chip Name": "name"}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A row of `-m`; `logic` is what CANN calls the chip, None where the release does not tell it (950)."""

    npu: int
    chip: int
    logic: int | None
    phy: int | None
    name: str


def parse_mapping(text: str) -> tuple[Mapped, ...]:
    """Microcontrollers, whose ids are dashes, are left out."""
    rows = [[cell for cell in _GAP.split(line.strip()) if cell] for line in lines_of(text)]
    head = next((row for row in rows if row[:1] == ["NPU ID"]), [])
    found = []
    for row in rows:
        cells = {_COLUMNS.get(name, name): cell for name, cell in zip(head, row, strict=False)}
        npu, chip = _digits(cells.get("npu")), _digits(cells.get("chip"))
        if npu is None or chip is None or cells.get("name", "").strip().lower() == "mcu":
            continue
        logic, phy = _digits(cells.get("logic")), _digits(cells.get("phy"))
        found.append(Mapped(npu, chip, logic, phy, cells.get("name", "")[:64]))
    return tuple(found)


def _digits(cell: str | None) -> int | None:
    return int(cell) if cell is not None and cell.isdecimal() and len(cell) < 10 else None


def parse_counts(text: str) -> dict[int, int]:
    """`-l`: how many chips each NPU has."""
    counts: dict[int, int] = {}
    npu: int | None = None
    for name, value in fields(text):
        if name == "NPU ID":
            npu = _digits(value)
        elif name == "Chip Count" and npu is not None and (count := natural(value)) is not None:
            counts[npu] = count
    return counts


@dataclass(frozen=True, slots=True)
class Board:
    """`-t board`: what is the same for all chips of an NPU."""

    product: str | None = None
    serial: str | None = None
    driver: str | None = None
    firmware: str | None = None
    bus: str | None = None


def parse_board(text: str) -> Board:
    said = {name: filled(value) for name, value in fields(text)}
    return Board(
        product=said.get("Product Name"),
        serial=said.get("Serial Number"),
        driver=said.get("Software Version"),
        firmware=said.get("Firmware Version"),
        bus=said.get("PCIe Bus Info"),
    )


@dataclass(frozen=True, slots=True)
class Faults:
    """`-t health`: eight hexadecimal digits a code, and what the tool has to say of them."""

    codes: tuple[str, ...] = ()
    information: str | None = None


def parse_health(text: str) -> Faults:
    codes: list[str] = []
    information: list[str] = []
    is_information = False
    for name, value in fields(text):
        if name == "Error Code":
            codes += [code.upper() for code in _CODE.findall(value)]
        is_information = name == "Error Information" or (is_information and not name)
        if is_information and (said := filled(value)):
            information.append(said)
    return Faults(tuple(dict.fromkeys(codes))[:64], "; ".join(information)[:400] or None)


def parse_processes(text: str) -> tuple[tuple[int, str, int], ...]:
    """`-t proc-mem`: (pid, name, MB)."""
    matches = (_PROCESS.search(line) for line in lines_of(text))
    return tuple((int(match[1]), match[2].strip()[:64], int(match[3])) for match in matches if match)


def parse_versions(text: str) -> Mapping[str, str]:
    """`name=value` lines of version.info and *_install.info; the first of a name counts, whatever its case."""
    found: dict[str, str] = {}
    for line in lines_of(text):
        name, sign, value = line.strip().partition("=")
        if sign and len(name) < 64:
            found.setdefault(name.strip().lower(), value.strip()[:200])
    return found
