"""How the tools of all vendors write numbers, sizes and fields; what cannot be read is None, never zero."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

MIB = 1024**2
LONGEST_TEXT = 1 << 20
"""Parsers read no further: no tool has this much to say of one machine."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([KMGT]?i?B)?$", re.IGNORECASE)
_UNITS = {"": MIB, "B": 1, "K": 1024, "M": MIB, "G": 1024**3, "T": 1024**4}
_FIELD = re.compile(r"^\s*(\S[^:]*?)\s*:\s*(.*?)\s*$")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MOST = 1 << 62


def lines_of(text: str) -> list[str]:
    """Without the colours that some tools write even into a pipe."""
    return _ESCAPE.sub("", text[:LONGEST_TEXT]).splitlines()


def number(cell: object) -> float | None:
    """ "38", "38 C", "130.4W", 38 -> 38.0 ...; "-", "NA", "[N/A]" and what else holds no number -> None."""
    if isinstance(cell, bool) or cell is None:
        return None
    match = _NUMBER.search(str(cell)[:64])
    value = float(match[0]) if match else None
    return value if value is not None and math.isfinite(value) and abs(value) < _MOST else None


def whole(cell: object) -> int | None:
    value = number(cell)
    return None if value is None or value != int(value) else int(value)


def natural(cell: object) -> int | None:
    value = whole(cell)
    return value if value is not None and value >= 0 else None


def mib(cell: object) -> int | None:
    """A number of MiB as bytes."""
    value = number(cell)
    return None if value is None or value < 0 else int(value * MIB)


def size(cell: object) -> int | None:
    """ "81920MiB", "16384 MiB", "48GiB", {"value": 65520, "unit": "MB"} in bytes; a bare number is MiB.

    Vendors write MB and mean MiB.
    """
    if isinstance(cell, Mapping):
        cell = f"{cell.get('value')} {cell.get('unit') or ''}"
    match = _SIZE.match(str(cell).strip()[:64])
    if match is None:
        return None
    found = float(match[1]) * _UNITS[(match[2] or "")[:1].upper()]
    return int(found) if found < _MOST else None


def filled(cell: object) -> str | None:
    """The text of a cell that says something."""
    text = str(cell).strip()[:200] if isinstance(cell, str | int | float) and not isinstance(cell, bool) else ""
    return None if text.upper().strip("[]") in {"", "-", "NA", "N/A", "NONE", "UNKNOWN", "NOT SUPPORTED"} else text


def fields(text: str) -> list[tuple[str, str]]:
    """The `name : value` lines in their order."""
    matches = (_FIELD.match(line[:500]) for line in lines_of(text))
    return [(match[1], match[2]) for match in matches if match]


def document(text: str) -> Any:
    """The JSON in an output, None where there is none; warnings may stand before it."""
    begins = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    if not begins or len(text) > LONGEST_TEXT:
        return None
    try:
        return json.JSONDecoder().raw_decode(text[min(begins) :])[0]
    except (ValueError, RecursionError):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def first(values: Iterable[str | None]) -> str | None:
    return next((each for each in values if each), None)
