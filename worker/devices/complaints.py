"""What a tool said instead of a list of devices, as one sentence and what to do; pure.

Sources: the error numbers of dcmi_interface_api.h, issues of vllm-ascend, HAMi and cann-container-image for what
brings them about, NVIDIA's page of nvidia-smi for its two sentences.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gpustack_lite.wire import Said, ToolReport
from worker.devices.text import lines_of

_DCMI = re.compile(r"ret is -(\d{4})")
_LIBRARY = re.compile(r"error while loading shared libraries: ([\w.+-]{1,80}):")


class Known(NamedTuple):
    """`mark` is looked for in the text; codes of messages/devices.py."""

    mark: str
    code: str
    remedy: str


_DCMI_CODES: Mapping[str, tuple[str, str]] = {
    "8002": ("tool_not_permitted", "remedy_tool_not_permitted"),
    "8005": ("tool_driver_unreachable", "remedy_ascend_driver"),
    "8006": ("tool_driver_slow", "remedy_ascend_driver"),
    "8008": ("tool_no_devices", "remedy_tool_no_devices"),
    "8012": ("tool_driver_not_ready", "remedy_tool_wait"),
    "8013": ("tool_not_in_container", "remedy_tool_not_in_container"),
    "8017": ("tool_driver_upgrading", "remedy_tool_wait"),
    "8020": ("tool_device_held", "remedy_device_held"),
}
_KNOWN = (
    Known("because the device is used", "tool_device_held", "remedy_device_held"),
    Known("Operation not permitted", "tool_not_permitted", "remedy_tool_not_permitted"),
    Known("There is no NPU card", "tool_no_devices", "remedy_tool_no_devices"),
    Known("No devices were found", "tool_no_devices", "remedy_tool_no_devices"),
    Known("Driver/library version mismatch", "tool_driver_mismatch", "remedy_driver_mismatch"),
    Known("couldn't communicate with the NVIDIA driver", "tool_driver_unreachable", "remedy_nvidia_driver_unreachable"),
)
_ENDINGS: Mapping[str, tuple[str, str]] = {
    "deadline": ("tool_hangs", "remedy_tool_hangs"),
    "still_hanging": ("tool_still_hangs", "remedy_tool_hangs"),
    "bound": ("tool_talks_without_end", "remedy_tool_broken"),
    "not_started": ("tool_not_started", "remedy_tool_broken"),
}


def complaint(command: str, text: str, ended_by: str, *, deadline_seconds: float = 0, why: str = "") -> ToolReport:
    """For a program that gave no devices."""
    if ended_by in _ENDINGS:
        code, remedy = _ENDINGS[ended_by]
        params: dict[str, str | float] = {"command": command, "seconds": round(deadline_seconds, 1), "why": why}
        return _report(command, code, remedy, params)
    if library := _LIBRARY.search(text):
        is_drivers = library[1].startswith(("libc_sec", "libascend", "libdrv", "libdcmi", "libmmpa"))
        remedy = "remedy_ascend_library" if is_drivers else "remedy_tool_library"
        return _report(command, "tool_library_missing", remedy, {"command": command, "library": library[1]})
    code, remedy = _by_number(text) or _by_words(text) or ("tool_no_list", "remedy_tool_broken")
    return _report(command, code, remedy, {"command": command, "words": excerpt(text)})


def _by_number(text: str) -> tuple[str, str] | None:
    return next((_DCMI_CODES[number] for number in _DCMI.findall(text) if number in _DCMI_CODES), None)


def _by_words(text: str) -> tuple[str, str] | None:
    return next(((known.code, known.remedy) for known in _KNOWN if known.mark in text), None)


def _report(command: str, code: str, remedy: str, params: Mapping[str, str | float]) -> ToolReport:
    return ToolReport(
        command=command,
        status="warn" if code == "tool_no_devices" else "fail",
        said=Said(code=code, params=dict(params)),
        remedy=Said(code=remedy, params=dict(params)),
    )


def missing(program: str, what: str) -> ToolReport:
    """The devices are there, and nothing to ask about them."""
    params = {"command": program, "what": what}
    return _report(program, "tool_missing", f"remedy_tool_missing_{what}", params)


def unread(program: str) -> ToolReport:
    """Our own fault; the log has the traceback."""
    return _report(program, "tool_answer_unread", "remedy_tool_answer_unread", {"command": program})


def incomplete_driver(command: str) -> ToolReport:
    return ToolReport(
        command=command,
        status="warn",
        said=Said(code="ascend_driver_incomplete", params={"command": command}),
        remedy=Said(code="remedy_ascend_driver_incomplete"),
    )


def excerpt(text: str) -> str:
    """The last line that says something: earlier ones are often warnings of the driver's log."""
    lines = [line.strip() for line in lines_of(text) if line.strip()]
    return lines[-1][:200] if lines else "-"
