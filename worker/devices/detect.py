"""Chooses where a worker's devices come from, a declaration or this machine's tools, and keeps what they said last.

Each tool is asked in a thread of its own: one that hangs, fails or says nonsense costs its own devices their readings,
never the worker its heartbeat.
"""

import os
import signal
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from gpustack_lite.domain import Device
from gpustack_lite.loop import attempt
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings
from gpustack_lite.wire import HostReport, ToolReport
from worker.devices import host
from worker.devices.complaints import incomplete_driver, missing, unread
from worker.devices.cpu import Machine, cpu_device, machine
from worker.devices.declared import Declaration
from worker.devices.tools import INSTEAD_OF, TOOLS, Asking, Found, Tool, environment

MARK = "GPUSTACK_LITE_LOOK"
"""In the environment of every tool that we run, with the worker's uid."""
PATIENCE_SECONDS = 5.0
"""How long a heartbeat waits for a look; the first one waits until every tool had its time."""
SLOW_SECONDS, REST_FACTOR = 2.0, 5
"""A look that took longer than that rests five times as long: a slow tool costs a sixth of the time at most."""
LONGEST_REST_SECONDS = 300.0
FIRST_RETRY_SECONDS = 10.0
FAILURES_UNTIL_UNUSABLE = 2
"""A tool may miss once on a busy machine; its devices are not given to anybody after the second time."""
OTHER_VENDOR = 1000
"""Between the indices of the first vendor's devices and those of the next on one worker."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """One look at the worker's hardware."""

    devices: tuple[Device, ...]
    machine: Machine
    simulated: bool = False
    tools: tuple[ToolReport, ...] = ()
    host: HostReport = field(default_factory=HostReport)

    def chosen(self, indices: tuple[int, ...]) -> tuple[Device, ...]:
        """The devices with these indices, in that order; those that are gone are left out."""
        by_index = {device.index: device for device in self.devices}
        return tuple(by_index[index] for index in indices if index in by_index)


def detect(worker: str, declaration: Declaration | None, settings: Settings | None = None) -> Inventory:
    """One look of now, for those who need no second one."""
    return Detector(settings or Settings(), Ports(), lambda: worker, declaration).look()


class Detector:
    """`look` asks whatever is due, `latest` answers from what was said last; both may be called from any thread."""

    def __init__(
        self,
        settings: Settings,
        ports: Ports,
        worker: Callable[[], str],
        declaration: Declaration | None,
        *,
        root: Path = Path("/"),
        uid: str | None = None,
    ) -> None:
        """`uid` is the worker's: by it, runs that an earlier process of the same worker left hanging are ended."""
        self._settings = settings
        self._ports = ports
        self._worker = worker
        self._declaration = declaration
        self._root = root
        self._uid = uid
        self._watches = [_Watch(tool) for tool in TOOLS]
        self._lock = threading.Lock()
        self._has_looked = False

    def look(self) -> Inventory:
        if self._declaration is None:
            with self._lock:
                self._ask_tools()
        return self._inventory()

    def latest(self) -> Inventory:
        return self._inventory() if self._has_looked or self._declaration is not None else self.look()

    def _ask_tools(self) -> None:
        if not self._has_looked:
            self._end_leftovers()
        around = host.surroundings(self._root)
        env = {**environment(os.environ, self._settings.ascend_root), **self._mark()}
        for watch in self._watches:
            if not self._is_spared(watch):
                watch.start_if_due(self._ports, partial(self._asking, watch, around, env))
        patience = PATIENCE_SECONDS if self._has_looked else self._settings.device_tool_seconds * 3 + 5
        ends_at = self._ports.clock.monotonic() + patience
        for watch in self._watches:
            watch.wait(max(0.0, ends_at - self._ports.clock.monotonic()))
        self._has_looked = True

    def _mark(self) -> dict[str, str]:
        return {} if self._uid is None else {MARK: self._uid}

    def _end_leftovers(self) -> None:
        """Nobody else would: their deadline was kept by a process that is no more."""
        processes = self._ports.processes
        for value in self._mark().values():
            for identity in processes.marked(MARK, value):
                processes.send(identity, signal.SIGKILL)

    def _is_spared(self, watch: "_Watch") -> bool:
        others = INSTEAD_OF.get(watch.tool.program, ())
        return any(each.devices for each in self._watches if each.tool.program in others)

    def _asking(self, watch: "_Watch", around: host.Surroundings, env: Mapping[str, str], program: str) -> Asking:
        seconds = self._settings.device_tool_seconds
        return Asking(program, self._worker(), self._ports, around, seconds, watch.kept, env)

    def _inventory(self) -> Inventory:
        real = machine()
        told = host.report(self._root, self._settings.ascend_root)
        if self._declaration is not None:
            return _declared(self._declaration, self._worker(), real, told)
        seen = [watch for watch in self._watches if watch.found is not None and not self._is_spared(watch)]
        hints = {name: value for watch in seen if watch.found for name, value in watch.found.host.items()}
        devices = with_memory(merged([watch.devices for watch in seen]), real)
        return Inventory(
            devices=devices or (cpu_device(self._worker(), real),),
            machine=real,
            tools=(*(watch.found.report for watch in seen if watch.found), *self._unasked(seen)),
            host=told.model_copy(update={name: value for name, value in hints.items() if getattr(told, name) is None}),
        )

    def _unasked(self, seen: "Sequence[_Watch]") -> Iterable[ToolReport]:
        """What only the machine's files tell."""
        around = host.surroundings(self._root)
        asked = {watch.tool.program for watch in seen}
        if around.has_ascend and "npu-smi" not in asked:
            yield missing("npu-smi", "ascend")
        if around.has_nvidia and "nvidia-smi" not in asked:
            yield missing("nvidia-smi", "nvidia")
        if host.is_driver_incomplete(self._root):
            yield incomplete_driver("/etc/ascend_install.info")


class _Watch:
    """One tool over time: what it said last, how often it has failed since, and when it is asked again."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.found: Found | None = None
        self.kept: dict[Hashable, object] = {}
        self._devices: tuple[Device, ...] = ()
        self._failures = 0
        self._due_at = 0.0
        self._thread: threading.Thread | None = None

    @property
    def devices(self) -> tuple[Device, ...]:
        return aged(self._devices, self._failures)

    def start_if_due(self, ports: Ports, asking: Callable[[str], Asking]) -> None:
        is_running = self._thread is not None and self._thread.is_alive()
        if is_running or ports.clock.monotonic() < self._due_at:
            return
        program = self.tool.path(os.environ.get("PATH"))
        if program is None:
            self.found, self._devices, self._failures = None, (), 0
            return
        step = partial(self._look_or_complain, ports, asking(program))
        self._thread = threading.Thread(target=step, name=f"look-{self.tool.program}", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(seconds)

    def _look_or_complain(self, ports: Ports, asking: Asking) -> None:
        """A fault of ours in reading an answer is one tool's fault to the worker."""
        answers: list[Found] = []
        attempt(f"look by {self.tool.program}", lambda: answers.append(self.tool.look(asking)))
        found = answers[0] if answers else Found((), unread(self.tool.program))
        self._take(found, ports.clock.monotonic(), asking.recurring_seconds)

    def _take(self, found: Found, now: float, took_seconds: float) -> None:
        self._failures = 0 if found.devices else self._failures + 1
        self._devices = found.devices or self._devices
        self.found = found
        self._due_at = now + rest_seconds(took_seconds, self._failures)


def rest_seconds(took_seconds: float, failures: int) -> float:
    """Until the next look: five times what a slow one took, and for one that fails 10, 20, 40 ... 300 s."""
    retry = FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 10) if failures else 0.0
    rest = took_seconds * REST_FACTOR if took_seconds > SLOW_SECONDS else 0.0
    return min(max(retry, rest), LONGEST_REST_SECONDS)


def aged(devices: tuple[Device, ...], failures: int) -> tuple[Device, ...]:
    """What a tool said before it failed: the devices stay, so that what runs on them does; their readings do not."""
    if failures == 0:
        return devices
    is_usable = failures < FAILURES_UNTIL_UNUSABLE
    return tuple(
        replace(
            each,
            memory_used_bytes=None,
            utilization=None,
            temperature_c=None,
            power_w=None,
            processes=(),
            health=each.health if is_usable else "unknown",
            schedulable=each.schedulable and is_usable,
        )
        for each in devices
    )


def merged(found: Iterable[tuple[Device, ...]]) -> tuple[Device, ...]:
    """Devices of several vendors in one worker: the second one's indices are moved, its engines told the old ones."""
    lists = [devices for devices in found if devices]
    return tuple(_moved(device, place) for place, devices in enumerate(lists) for device in devices)


def _moved(device: Device, place: int) -> Device:
    if place == 0:
        return device
    return replace(device, index=place * OTHER_VENDOR + device.index, visible_as=device.visible_name)


def with_memory(devices: tuple[Device, ...], real: Machine) -> tuple[Device, ...]:
    """Unified memory is the machine's RAM, in total and in use."""
    total, used = real.ram_total_bytes, real.ram_used_bytes
    return tuple(
        replace(each, memory_total_bytes=total, memory_used_bytes=used) if each.unified_memory else each
        for each in devices
    )


def _declared(declaration: Declaration, worker: str, real: Machine, told: HostReport) -> Inventory:
    stated = Machine(
        cpu_count=declaration.cpu_count or real.cpu_count,
        ram_total_bytes=declaration.ram_bytes or real.ram_total_bytes,
        ram_used_bytes=0 if declaration.ram_bytes else real.ram_used_bytes,  # nobody else uses what is not there
    )
    return Inventory(declaration.devices(worker), stated, simulated=True, host=_without_drivers(told))


def _without_drivers(told: HostReport) -> HostReport:
    """Drivers of this machine say nothing about devices that are not there."""
    return told.model_copy(update=dict.fromkeys(("driver", "firmware", "cann", "nvidia_driver", "cuda")))
