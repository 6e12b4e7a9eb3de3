"""How a device that tells faults stands with us: used, isolated, or held because it flaps; pure."""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

from gpustack_lite.wire import FaultReport

WINDOW = timedelta(hours=1)
FLAPS = 3
"""So many faults that took it from service within the window, and it is held."""
SETTLE = timedelta(minutes=1)
"""A fault that is gone for so long is over."""
QUIET = timedelta(hours=6)
"""A device that flapped has to be without a fault for so long."""

Todo = Literal["nothing", "restart", "isolate", "hold", "release"]


class Standing(msgspec.Struct, frozen=True):
    """`onsets` are the beginnings of faults that take it from service, of the last hour."""

    onsets: tuple[datetime, ...] = ()
    fault: str | None = None
    """The one that is there and was acted on, with its action; None while it tells none."""
    since: datetime | None = None
    """Isolated since then; None: it is used."""
    code: str | None = None
    """For which code it is isolated."""
    is_held: bool = False
    clear_since: datetime | None = None


class Step(NamedTuple):
    standing: Standing
    todo: Todo


def after(standing: Standing, fault: FaultReport | None, now: datetime) -> Step:
    """What becomes of it under what the device tells now. A fault is acted on once, when it begins."""
    grave = fault if fault is not None and fault.action in {"restart", "isolate"} else None
    key = None if grave is None else f"{grave.action}:{grave.code}"
    onsets = tuple(each for each in standing.onsets if now - each < WINDOW)
    is_new = key is not None and key != standing.fault
    onsets = (*onsets, now) if is_new else onsets
    seen = msgspec.structs.replace(standing, onsets=onsets, fault=key, clear_since=_clear(standing, key, now))
    if grave is not None and is_new:
        return _struck(seen, grave, now)
    return _settled(seen, now)


def _clear(standing: Standing, key: str | None, now: datetime) -> datetime | None:
    isolated_and_clear = standing.since is not None and key is None
    return (standing.clear_since or now) if isolated_and_clear else None


def _struck(seen: Standing, grave: FaultReport, now: datetime) -> Step:
    is_held = seen.is_held or len(seen.onsets) >= FLAPS
    if grave.action == "restart" and not is_held and seen.since is None:
        return Step(seen, "restart")
    isolated = msgspec.structs.replace(seen, since=seen.since or now, code=grave.code, is_held=is_held)
    todo: Todo = "hold" if is_held and not seen.is_held else "nothing" if seen.since is not None else "isolate"
    return Step(isolated, todo)


def _settled(seen: Standing, now: datetime) -> Step:
    wait = QUIET if seen.is_held else SETTLE
    if seen.clear_since is None or now - seen.clear_since < wait:
        return Step(seen, "nothing")
    return Step(Standing(onsets=() if seen.is_held else seen.onsets), "release")


def released(standing: Standing) -> Standing:
    """By a person, who answers for it: the fault that is there now is not acted on again."""
    return Standing(fault=standing.fault)


def read(content: object) -> Standing:
    return Standing() if content is None else msgspec.convert(content, Standing)


def document(standing: Standing) -> dict[str, object] | None:
    """As the row keeps it; None where there is nothing to remember."""
    if standing == Standing():
        return None
    plain: dict[str, object] = msgspec.to_builtins(standing)
    return plain
