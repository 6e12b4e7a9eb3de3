"""What the invariants are told: plain values, so that any layer of the simulation can supply them."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack_lite.domain import Claim
from gpustack_lite.lifecycle import State

Address = tuple[int, int]
"""(worker id, device index)."""


@dataclass(frozen=True, slots=True)
class Held:
    """An instance that has a process, or whose end nobody confirmed, on devices of one worker."""

    instance_id: int
    worker_id: int
    devices: tuple[int, ...]
    bytes_per_device: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement as it was written; `foreign_bytes` is what others used by the reading it was decided on."""

    instance_id: int
    worker_id: int
    devices: tuple[int, ...]
    claim: Claim
    foreign_bytes: Mapping[int, int]
    followers: tuple["Placed", ...] = ()
    """The shares of other workers."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One row of the diary; `before` is None where the instance begins."""

    at: int
    instance_id: int
    before: State | None
    after: State


@dataclass(frozen=True, slots=True)
class Commit:
    """A write of a reconciler: the epoch it was decided under and the epoch that was."""

    mine: int
    current: int
