"""Chooses where a worker's devices come from: a declaration, or this machine."""

from dataclasses import dataclass

from gpustack_lite.domain import Device
from worker.devices.cpu import Machine, cpu_device, machine
from worker.devices.declared import Declaration


@dataclass(frozen=True, slots=True)
class Inventory:
    """One look at the worker's hardware."""

    devices: tuple[Device, ...]
    machine: Machine
    simulated: bool = False

    def chosen(self, indices: tuple[int, ...]) -> tuple[Device, ...]:
        """The devices with these indices, in that order; those that are gone are left out."""
        by_index = {device.index: device for device in self.devices}
        return tuple(by_index[index] for index in indices if index in by_index)


def detect(worker: str, declaration: Declaration | None) -> Inventory:
    """A look of now. The CPU is a device where there is no accelerator, so that every worker has one to show."""
    real = machine()
    if declaration is None:
        return Inventory((cpu_device(worker, real),), real)
    told = Machine(
        cpu_count=declaration.cpu_count or real.cpu_count,
        ram_total_bytes=declaration.ram_bytes or real.ram_total_bytes,
        ram_used_bytes=0 if declaration.ram_bytes else real.ram_used_bytes,  # nobody else uses what is not there
    )
    return Inventory(declaration.devices(worker), told, simulated=True)
