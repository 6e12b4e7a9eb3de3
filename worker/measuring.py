"""What a running engine really took: from the lines it printed, and from readings of its devices and processes."""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from backends.measured import measured
from gpustack_lite.domain import Device
from gpustack_lite.ports import Identity
from gpustack_lite.wire import Measured
from worker import readings

LOG_LINES = 5000
"""From the end: an engine that is just ready has rarely printed more."""
NEWS = 0.01
"""Growth by less than this is not told: an engine's memory moves a little with every request."""


def said(backend: str, log_lines: Sequence[str]) -> Measured:
    """`ram_bytes` is what was read, never what was printed: an engine names its buffers, not itself."""
    found = asdict(measured(backend, log_lines))
    return Measured(**found | {"ram_bytes": None, "ready_ram_bytes": None})


def first(known: Measured, held: Measured) -> Measured:
    """The reading of an engine that has just become ready, beside what it printed until then."""
    return merged(known, held).model_copy(update={"ready_ram_bytes": held.ram_bytes})


def held(identities: Collection[Identity], devices: Sequence[Device]) -> Measured:
    pids = {each.pid for each in identities}
    return Measured(ram_bytes=readings.held_bytes(identities) or None, bytes_per_device=on_devices(devices, pids))


def on_devices(devices: Sequence[Device], pids: Collection[int]) -> int | None:
    """What the devices' own tool says that these processes hold, on the fullest of them; None where it tells none."""
    return max((size for each in devices if (size := _of(each, pids))), default=None)


def _of(device: Device, pids: Collection[int]) -> int:
    return sum(each.memory_bytes or 0 for each in device.processes if each.pid in pids)


def merged(known: Measured, new: Measured) -> Measured:
    """The most of each: what was held once may be needed again."""
    pairs = {name: (getattr(known, name), getattr(new, name)) for name in Measured.model_fields}
    return Measured(**{name: _most(*pair) for name, pair in pairs.items()})


def _most(first: int | None, second: int | None) -> int | None:
    return max((each for each in (first, second) if each is not None), default=None)


def is_news(known: Measured | None, found: Measured) -> bool:
    if known is None:
        return found != Measured()
    return any(_has_grown(getattr(known, name), getattr(found, name)) for name in Measured.model_fields)


def _has_grown(known: int | None, found: int | None) -> bool:
    return found is not None and found > (known or 0) * (1 + NEWS)
