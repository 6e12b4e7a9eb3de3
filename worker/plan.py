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


@dataclass(frozen=True, slots=True)
class Condemn:
    """End the engine of this attempt and begin the next one, as after a crash."""

    id: int
    attempt: int


def plan(desired: Mapping[int, AssignedInstance], running: Collection[int]) -> list[Action]:
    """Stops come first, so that a replaced instance frees its memory before its successor asks.

    Only ids are compared: an instance never changes what it is to run, so an upgrade of ours restarts nothing.
    """
    stops: list[Action] = [Stop(id) for id in sorted(running) if id not in desired]
    starts: list[Action] = [Start(instance) for id, instance in sorted(desired.items()) if id not in running]
    return stops + starts


def condemned(desired: Mapping[int, AssignedInstance], attempts: Mapping[int, int]) -> list[Condemn]:
    """Whose engine gateways found stuck; `attempts` are those that run. A later attempt is another engine."""
    ids = sorted(attempts.keys() & desired.keys())
    return [Condemn(id, attempts[id]) for id in ids if 0 < attempts[id] <= desired[id].stuck_attempt]


def overtaken(desired: Mapping[int, AssignedInstance], attempts: Mapping[int, int]) -> list[Condemn]:
    """Those of which another worker's share failed: all shares end together, and begin together as a later attempt."""
    shared = [id for id in sorted(attempts.keys() & desired.keys()) if desired[id].members]
    return [Condemn(id, attempts[id]) for id in shared if 0 < attempts[id] < desired[id].round]
