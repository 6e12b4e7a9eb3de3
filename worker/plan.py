"""What a worker must do so that what runs becomes what its Assignment lists: values only, nothing runs here."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpustack_lite.wire import AssignedInstance


@dataclass(frozen=True, slots=True)
class Stop:
    id: int


@dataclass(frozen=True, slots=True)
class Start:
    instance: AssignedInstance


Action = Stop | Start


def plan(desired: Mapping[int, AssignedInstance], running: Collection[int]) -> list[Action]:
    """Stops come first, so that a replaced instance frees its memory before its successor asks.

    Only ids are compared: an instance never changes what it is to run, so an upgrade of ours restarts nothing.
    """
    stops: list[Action] = [Stop(id) for id in sorted(running) if id not in desired]
    starts: list[Action] = [Start(instance) for id, instance in sorted(desired.items()) if id not in running]
    return stops + starts
