"""Programs that play a described machine: put on a folder for PATH, told what to play, asked what they were asked."""

import json
import sys
from pathlib import Path


def put(folder: Path, name: str, source: Path, machine: dict) -> Path:
    """Write `machine` and a program that plays it; the answer is the file that holds the machine, to be changed.

    Isolated and without site packages, so that a run costs a few milliseconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / f"{name}.json"
    describe(state, machine)
    program = folder / name
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{source.resolve()}' '{state}' \"$@\"\n")
    program.chmod(0o755)
    return state


def describe(state: Path, machine: dict) -> None:
    """From the next run on it plays this one."""
    beside = state.with_suffix(".new")
    beside.write_text(json.dumps(machine))
    beside.replace(state)


def calls(state: Path) -> list[str]:
    """The arguments of each run so far."""
    log = state.with_suffix(".calls")
    return log.read_text().splitlines() if log.exists() else []
