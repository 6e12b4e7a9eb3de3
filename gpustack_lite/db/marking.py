"""Cordons and faults go with the card, not with its number: what the server holds against a device, by its serial."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpustack_lite.db.tables import WorkerDevice

Marks = dict[str, Any]
_NOTHING: Marks = {"cordoned": False, "cordoned_by": None, "cordon_note": None, "standing": None}


def of_rows(rows: Iterable[WorkerDevice]) -> dict[str, Marks]:
    """Of the devices that have any, as they were before a report was written over them."""
    marks = {_key(row): {name: getattr(row, name) for name in _NOTHING} for row in rows}
    return {key: each for key, each in marks.items() if each != _NOTHING}


def put_on(rows: Iterable[WorkerDevice], marks: Mapping[str, Marks]) -> dict[str, Marks]:
    """Each device that is there gets its own; the answer is what belongs to devices that are away."""
    left = dict(marks)
    for row in rows:
        for name, value in left.pop(_key(row), _NOTHING).items():
            setattr(row, name, value)
    return left


def _key(row: WorkerDevice) -> str:
    """A device without a serial is known by its number alone."""
    return row.serial or f"#{row.index}"
