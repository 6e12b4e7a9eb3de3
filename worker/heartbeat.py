"""Says every few seconds that this worker lives and what it has; in a thread of its own, however busy the rest is."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import gpustack_lite
from backends import registry
from gpustack_lite.domain import BackendVersion, Device
from gpustack_lite.httpx_alone import httpx
from gpustack_lite.loop import attempt
from gpustack_lite.ports import Identity
from gpustack_lite.wire import BackendVersionReport, DeviceProcessReport, DeviceReport, Heartbeat, Said, ToolReport
from worker import readings
from worker.devices import faults
from worker.devices.detect import Inventory
from worker.link import PREFIX, ServerAddress
from worker.runtimes import confinement
from worker.simulated import simulated_versions
from worker.workshop import Workshop

log = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
"""Between two looks at the accelerators: how long a fault may stay unseen, beside what their tool takes."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """What the thread is handed. `credential` is asked anew each time, because joining again changes it."""

    workshop: Workshop
    credential: Callable[[], str | None]
    engines: Callable[[], list[Identity]]


class HeartbeatThread:
    def __init__(self, address: ServerAddress, pulse: Pulse, every_seconds: float) -> None:
        self._address = address
        self._pulse = pulse
        self._every_seconds = every_seconds
        self._wake = threading.Event()
        self._is_over = False
        self._told: tuple[object, ...] = ()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def beat_now(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        self._is_over = True
        self._wake.set()

    def _run(self) -> None:
        with self._address.blocking_client() as client:
            while not self._is_over:
                self._wake.clear()
                attempt("heartbeat", partial(self._beat, client))
                attempt("device_look", self._rest)

    def _rest(self) -> None:
        """Until the next beat is due, or a device tells what cannot wait: a fault ends the rest early."""
        clock = self._pulse.workshop.ports.clock
        due_at = clock.monotonic() + self._every_seconds
        while (left := due_at - clock.monotonic()) > 0:
            if self._wake.wait(min(left, LOOK_SECONDS)):
                return
            if left > LOOK_SECONDS and self._told and alarming(self._pulse.workshop.look().devices) != self._told:
                return

    def _beat(self, client: httpx.Client) -> None:
        """A beat that fails is followed by the next one; a credential that is unknown is renewed by the agent."""
        heartbeat = look(self._pulse.workshop, self._pulse.engines())
        self._told = alarming(heartbeat.devices)
        credential = self._pulse.credential()
        if credential is None or self._is_over:
            return
        headers = {"authorization": f"Bearer {credential}", "content-type": "application/json"}
        try:
            answer = client.post(f"{PREFIX}/heartbeat", content=heartbeat.model_dump_json(), headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            log.warning("heartbeat_failed", extra={"why": str(error) or type(error).__name__})
            return
        if not answer.is_success:
            log.warning("heartbeat_refused", extra={"status": answer.status_code})


def alarming(devices: Sequence[Device | DeviceReport]) -> tuple[object, ...]:
    """What of accelerators cannot wait for the next beat: empty where there are none."""
    cards = [each for each in devices if each.kind != "cpu"]
    return tuple((each.index, each.serial, each.health, each.error_codes) for each in cards)


def look(workshop: Workshop, engines: list[Identity]) -> Heartbeat:
    """The machine as it is now."""
    inventory: Inventory = workshop.look()
    own_bytes = readings.own_bytes(engines)
    return Heartbeat(
        version=gpustack_lite.__version__,
        cpu_count=inventory.machine.cpu_count,
        ram_total_bytes=inventory.machine.ram_total_bytes,
        ram_used_bytes=inventory.machine.ram_used_bytes,
        ram_own_bytes=min(own_bytes, inventory.machine.ram_used_bytes),
        ram_reserve_bytes=workshop.settings.ram_reserve_bytes,
        device_reserve_bytes=workshop.settings.device_reserve_bytes,
        disk_free_bytes=readings.disk_free_bytes(workshop.store.main_folder),
        simulated=inventory.simulated,
        devices=tuple(_reported(device) for device in inventory.devices),
        backend_versions=tuple(_version(each, workshop) for each in known_versions(workshop)),
        host=inventory.host,
        tools=(*inventory.tools, *_less_confined(workshop)),
    )


def _less_confined(workshop: Workshop) -> tuple[ToolReport, ...]:
    """Shown beside what was asked for devices: what this machine does not give to keep engines apart."""
    remedy = Said(code="confinement_how")
    return tuple(
        ToolReport(command="cgroup", status="warn", said=Said(code=each.code, params=dict(each.params)), remedy=remedy)
        for each in confinement.missing(workshop.confinement)
    )


def known_versions(workshop: Workshop) -> list[BackendVersion]:
    """What can run here: what an administrator asked for, what our installer can make, what was found on PATH, and
    what simulated devices stand for."""
    made = [version for name in registry.names() for version in registry.find(name).versions()]
    return [
        *workshop.builds.versions(),
        *made,
        *workshop.engines_on_path(),
        *simulated_versions(workshop.inventory().devices),
    ]


def _version(version: BackendVersion, workshop: Workshop) -> BackendVersionReport:
    build = workshop.builds.of(version) if version.recipe is not None else None
    return BackendVersionReport(
        backend=version.backend,
        version=version.version,
        device_kinds=tuple(sorted(version.device_kinds)),
        source=version.source,
        installed=workshop.is_installed(version),
        is_default=version.is_default,
        state=None if build is None else build.state,
        said=None if build is None else build.said,
        line=None if build is None else build.progress.line,
        fraction=None if build is None else build.progress.fraction,
    )


def _reported(device: Device) -> DeviceReport:
    return DeviceReport(
        index=device.index,
        kind=device.kind,
        chip=device.chip,
        memory_total_bytes=device.memory_total_bytes,
        memory_used_bytes=device.memory_used_bytes,
        physical_id=device.physical_id,
        serial=device.serial,
        health=device.health,
        schedulable=device.schedulable,
        utilization=device.utilization,
        temperature_c=device.temperature_c,
        power_w=device.power_w,
        simulated=device.simulated,
        group=device.group,
        numa=device.numa,
        unified_memory=device.unified_memory,
        compute_capability=device.compute_capability,
        error_codes=device.error_codes,
        fault=faults.fault_of(device),
        processes=tuple(DeviceProcessReport(**asdict(each)) for each in device.processes),
    )
