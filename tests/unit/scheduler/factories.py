"""Short ways to say a worker, a claim and a wish."""

from typing import Any

from gpustack_lite.chips import GIB, kind_of
from gpustack_lite.domain import Claim, Device, DeviceKind, PlacementWish
from scheduler import Node

SPREAD = PlacementWish()
BINPACK = PlacementWish(strategy="binpack")


def device(index: int, chip: str = "H100", total_gib: int | None = 24, used_gib: int | None = 0, **more: Any) -> Device:
    return Device(
        worker=more.pop("worker", "w1"),
        index=index,
        kind=kind_of(chip),
        chip=chip,
        memory_total_bytes=None if total_gib is None else total_gib * GIB,
        memory_used_bytes=None if used_gib is None else used_gib * GIB,
        health=more.pop("health", "ok"),
        **more,
    )


def node(name: str = "w1", *devices: Device, ram_gib: int | None = 64, **more: Any) -> Node:
    """Nothing is kept in reserve unless said, so that the numbers of a test are whole."""
    more.setdefault("device_reserve_bytes", 0)
    return Node(name, devices=devices, ram_total_bytes=None if ram_gib is None else ram_gib * GIB, **more)


def cards(name: str, *used_gib: int, total_gib: int = 24, chip: str = "H100", **more: Any) -> Node:
    return node(name, *(device(i, chip, total_gib, used) for i, used in enumerate(used_gib)), **more)


def claim(gib: int, count: int = 1, kind: DeviceKind = "cuda", ram_gib: int = 0) -> Claim:
    return Claim(count, gib * GIB, ram_gib * GIB, frozenset({kind}))


def cpu_claim(ram_gib: int) -> Claim:
    return Claim(ram_bytes=ram_gib * GIB)
