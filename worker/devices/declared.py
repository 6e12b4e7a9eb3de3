"""Devices that are declared instead of found: a SPEC such as 8x910B3-64G, or a YAML file with RAM and CPUs too."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpustack_lite import yaml_text
from gpustack_lite.chips import Declared, declared_devices, kind_of, parse_spec
from gpustack_lite.domain import Device
from gpustack_lite.errors import Refusal

MOST_DEVICES = 4096
_DEVICE_KEYS = frozenset({"chip", "count", "memory", "memory_bytes"})
_KEYS = frozenset({"name", "devices", "ram_bytes", "ram", "cpu_count"})
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?$", re.IGNORECASE)
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a worker is told to report. None where the real machine counts."""

    declared: tuple[Declared, ...]
    ram_bytes: int | None = None
    cpu_count: int | None = None
    name: str | None = None

    def devices(self, worker: str) -> tuple[Device, ...]:
        return declared_devices(worker, self.declared)


def declaration(simulate: str) -> Declaration:
    """From `--simulate`: a file where there is one of that name or the name ends like YAML, else a SPEC.

    Raises:
        Refusal: `bad_simulate_spec`, `unknown_chip`, `simulate_file_unreadable` or what `parse_document` raises.
    """
    path = Path(simulate)
    if path.suffix in {".yaml", ".yml"} or "/" in simulate or path.is_file():
        return parse_file(path)
    return Declaration(_bounded(parse_spec(simulate), simulate))


def parse_file(path: Path) -> Declaration:
    try:
        content = yaml_text.parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Refusal("simulate_file_unreadable", path=str(path), why=str(error).splitlines()[0]) from error
    return parse_document(content, str(path))


def parse_document(content: object, path: str) -> Declaration:
    """Raises:
    Refusal: `simulate_...` with the place and what is wrong there, or `unknown_chip`.
    """
    top = _mapping(content, "/", _KEYS, path)
    devices = top.get("devices")
    if not isinstance(devices, list) or not devices:
        raise _wrong("simulate_no_devices", path, "devices")
    declared = tuple(_device(each, f"devices[{index}]", path) for index, each in enumerate(devices))
    return Declaration(
        declared=_bounded(declared, path),
        ram_bytes=_size(top, "ram", path, "ram"),
        cpu_count=None if "cpu_count" not in top else _positive(top["cpu_count"], "cpu_count", path),
        name=None if top.get("name") is None else str(top["name"]),
    )


def _device(content: object, where: str, path: str) -> Declared:
    entry = _mapping(content, where, _DEVICE_KEYS, path)
    chip = entry.get("chip")
    if not isinstance(chip, str) or not chip:
        raise _wrong("simulate_no_chip", path, f"{where}.chip")
    memory_bytes = _size(entry, "memory", path, f"{where}.memory")
    if memory_bytes is None:
        raise _wrong("simulate_no_memory", path, f"{where}.memory")
    return Declared(_positive(entry.get("count", 1), f"{where}.count", path), chip, kind_of(chip), memory_bytes)


def _mapping(content: object, where: str, known: frozenset[str], path: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _wrong("simulate_no_mapping", path, where)
    for key in content:
        if key not in known:
            raise _wrong("simulate_unknown_key", path, where, key=str(key), known=", ".join(sorted(known)))
    return content


def _size(entry: dict[str, Any], name: str, path: str, where: str) -> int | None:
    """`<name>_bytes` is a number, `<name>` one with a unit, such as 64G."""
    if f"{name}_bytes" in entry:
        return _positive(entry[f"{name}_bytes"], f"{where}_bytes", path)
    if name not in entry:
        return None
    match = _SIZE.match(str(entry[name]).strip()[:40])
    if match is None:
        raise _wrong("simulate_bad_size", path, where)
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _positive(value: object, where: str, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong("simulate_not_positive", path, where)
    return value


def _bounded(declared: tuple[Declared, ...], path: str) -> tuple[Declared, ...]:
    if sum(each.count for each in declared) > MOST_DEVICES:
        raise _wrong("simulate_too_many", path, "devices", most=MOST_DEVICES)
    return declared


def _wrong(code: str, path: str, where: str, *, key: str = "", known: str = "", most: int = 0) -> Refusal:
    return Refusal(code, path=path, where=where, key=key, known=known, most=most)
