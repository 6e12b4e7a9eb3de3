"""What follows from the health and the error codes of a device; pure."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from gpustack_lite.domain import Device, Health
from gpustack_lite.wire import FaultReport, Said
from worker.devices import fault_codes as codes

Action = Literal["ignore", "retry", "restart", "isolate"]
_SEVERITY: tuple[Action, ...] = ("ignore", "retry", "restart", "isolate")
_OF_HEALTH: Mapping[Health, Action] = {"warning": "ignore", "alarm": "isolate", "critical": "isolate"}
"""Of a device that tells no code, or one that no list holds: nothing is placed on an alarm either."""


class Level(NamedTuple):
    """What the vendor calls it, and what we do. We reset no card: what needs a reset is isolated until it had one."""

    name: str
    action: Action


_ASCEND: tuple[tuple[frozenset[str], Level], ...] = (
    (codes.SEPARATE, Level("SeparateNPU", "isolate")),
    (codes.RESET, Level("RestartNPU", "isolate")),
    (codes.RESET_WHEN_FREE, Level("FreeRestartNPU", "isolate")),
    (codes.RESTART_BUSINESS, Level("RestartBusiness", "restart")),
    (codes.RESTART_REQUEST, Level("RestartRequest", "retry")),
    (codes.SUB_HEALTHY, Level("SubHealthFault", "ignore")),
    (codes.NOT_HANDLED, Level("NotHandleFault", "ignore")),
)
"""The highest level first: of a code in several lists that one counts."""
_NVIDIA: tuple[tuple[frozenset[int], Level], ...] = (
    (codes.XIDS_REBOOT, Level("RESTART_BM", "isolate")),
    (codes.XIDS_RESET, Level("RESET_GPU", "isolate")),
    (codes.XIDS_RESTART, Level("RESTART_APP", "restart")),
    (codes.XIDS_OF_PROGRAMS, Level("application", "ignore")),
    (codes.XIDS_IGNORED, Level("IGNORE", "ignore")),
)


class _Found(NamedTuple):
    code: str
    level: Level | None
    action: Action


def fault_of(device: Device) -> FaultReport | None:
    """The gravest of what the device tells; None where it tells nothing."""
    found = [_judged(device, code) for code in device.error_codes]
    if not found:
        return _of_health(device.health)
    action = max([each.action for each in found], key=_SEVERITY.index)
    return _report(device, action, [each for each in found if each.action == action])


def level_of(kind: str, code: str) -> Level | None:
    """None for a code that no list holds."""
    if kind == "ascend":
        return next((level for known, level in _ASCEND if code.upper().removeprefix("0X") in known), None)
    if kind == "cuda" and (number := _xid(code)) is not None:
        return next((level for known, level in _NVIDIA if number in known), None)
    return None


def _xid(code: str) -> int | None:
    digits = code.lower().removeprefix("xid").strip()
    return int(digits) if digits.isdecimal() else None


def _judged(device: Device, code: str) -> _Found:
    level = level_of(device.kind, code)
    return _Found(code, level, _OF_HEALTH.get(device.health, "ignore") if level is None else level.action)


def _report(device: Device, action: Action, found: list[_Found]) -> FaultReport:
    spoken = ", ".join(dict.fromkeys(each.code for each in found))
    levels = ", ".join(dict.fromkeys(_names(found)))
    if not levels:
        return FaultReport(code=spoken, action=action, said=_unlisted(action, spoken, device.health))
    return FaultReport(
        code=spoken, action=action, said=Said(code=f"fault_{action}", params={"fault": spoken, "level": levels})
    )


def _names(found: list[_Found]) -> Iterator[str]:
    for each in found:
        if each.level is not None:
            yield each.level.name


def _unlisted(action: Action, spoken: str, health: Health) -> Said:
    code = "fault_unlisted_isolate" if action == "isolate" else "fault_unlisted"
    return Said(code=code, params={"fault": spoken, "health": health})


def _of_health(health: Health) -> FaultReport | None:
    if (action := _OF_HEALTH.get(health)) is None:
        return None
    code = "fault_health_isolate" if action == "isolate" else "fault_health"
    return FaultReport(code=f"health:{health}", action=action, said=Said(code=code, params={"health": health}))
