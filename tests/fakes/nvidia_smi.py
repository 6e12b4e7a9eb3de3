"""A program that plays nvidia-smi for a described machine: `--query-gpu`, `--query-compute-apps`, `-L`, `topo -m`.

Spellings are those of NVIDIA's own page of the program and of outputs that users posted. Standard library only.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

NA = "[N/A]"
MISMATCH = ("Failed to initialize NVML: Driver/library version mismatch", 18)
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
    "NVIDIA driver is installed and running.",
    9,
)
NO_DEVICES = ("No devices were found", 6)
FAULTS = {"mismatch": MISMATCH, "no_driver": NO_DRIVER, "no_devices": NO_DEVICES}
UNITS = {
    "memory.total": " MiB",
    "memory.used": " MiB",
    "memory.free": " MiB",
    "utilization.gpu": " %",
    "power.draw": " W",
}


def install(folder: Path, machine: dict) -> Path:
    """See `playing.put`; imported here because the program itself runs without our packages."""
    from tests.fakes.playing import put

    return put(folder, "nvidia-smi", Path(__file__), machine)


def gpu(index: int, name: str = "NVIDIA A100-SXM4-40GB", **more: object) -> dict:
    """`fields` are those of `--query-gpu`; None prints as [N/A]. `mig` are slices, as {profile, uuid}."""
    fields = {
        "index": index,
        "name": name,
        "uuid": f"GPU-00000000-0000-0000-0000-{index:012d}",
        "serial": f"13250000{index:05d}",
        "pci.bus_id": f"00000000:{0x10 + index:02X}:00.0",
        "memory.total": 40960,
        "memory.used": 4,
        "memory.free": 40956,
        "utilization.gpu": 0,
        "temperature.gpu": 35,
        "power.draw": "70.50",
        "driver_version": "550.54.15",
        "compute_cap": "8.0",
        "mig.mode.current": "Disabled",
    }
    return {"fields": fields | more.pop("fields", {}), "mig": more.pop("mig", [])} | more


def machine(*gpus: dict, **more: object) -> dict:
    return {"gpus": list(gpus), "processes": [], "topology": None, "cuda": "12.4"} | more


def said(told: dict, *arguments: str) -> tuple[str, int]:
    """What the program would print and answer with, without running it."""
    return _answer(told, list(arguments))


def play(state: Path, arguments: list[str]) -> int:
    told = json.loads(state.read_text())
    with state.with_suffix(".calls").open("a") as log:
        log.write(" ".join(arguments) + "\n")
    if told.get("hangs"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _hang()
    time.sleep(told.get("latency_seconds", 0))
    if fault := told.get("fault"):
        text, code = FAULTS[fault] if isinstance(fault, str) else (fault["text"], fault.get("exit", 1))
        print(text)
        return code
    text, code = _answer(told, arguments)
    print(text)
    return code


def _answer(told: dict, arguments: list[str]) -> tuple[str, int]:
    options = dict(each.partition("=")[::2] for each in arguments)
    if arguments == ["-L"]:
        return _list(told), 0
    if arguments == ["topo", "-m"]:
        return told["topology"] or "", 0
    if not arguments:
        return _summary(told), 0
    style = options.get("--format", "").split(",")
    if "--query-gpu" in options:
        return _query([each["fields"] for each in told["gpus"]], options["--query-gpu"], style, told)
    if "--query-compute-apps" in options:
        return _query(told["processes"], options["--query-compute-apps"], style, told)
    return f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n{arguments}", 2


def _query(rows: list[dict], names: str, style: list[str], told: dict) -> tuple[str, int]:
    wanted = names.split(",")
    for name in wanted:
        if name in told.get("unknown_fields", []):
            return f'Field "{name}" is not a valid field to query.\n', 2
    units = {} if "nounits" in style else UNITS
    lines = [] if "noheader" in style else [", ".join(wanted)]
    for row in rows:
        cells = [(NA if row.get(name) is None else f"{row[name]}{units.get(name, '')}") for name in wanted]
        lines.append(", ".join(cells))
    return "\n".join(lines), 0


def _list(told: dict) -> str:
    lines = []
    for each in told["gpus"]:
        fields = each["fields"]
        lines.append(f"GPU {fields['index']}: {fields['name']} (UUID: {fields['uuid']})")
        for number, part in enumerate(each["mig"]):
            lines.append(f"  MIG {part['profile']:<11} Device {number:>2}: (UUID: {part['uuid']})")
    return "\n".join(lines)


def _summary(told: dict) -> str:
    driver = told["gpus"][0]["fields"]["driver_version"] if told["gpus"] else "N/A"
    return f"| NVIDIA-SMI {driver:<15} Driver Version: {driver:<14} CUDA Version: {told['cuda']:<8} |"


def _hang() -> None:
    """For as long as whoever asked is there, so that no test leaves one behind."""
    asker = os.getppid()
    while os.getppid() == asker:
        time.sleep(0.2)
    raise SystemExit(1)


if __name__ == "__main__":
    raise SystemExit(play(Path(sys.argv[1]), sys.argv[2:]))
