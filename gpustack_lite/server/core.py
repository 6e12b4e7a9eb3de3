"""What every reconciler is handed: the database, the hints, the machine, and the epoch under which it may write."""

from dataclasses import dataclass

from gpustack_lite.db.engine import Database
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals

MOST_AT_ONCE = 200
"""Instances in one transaction, about a second: while it lasts nobody else writes, not even the leader's lease."""


@dataclass(frozen=True, slots=True)
class Core:
    """`epoch` is that of the lease; a new one makes a new Core."""

    db: Database
    signals: Signals
    ports: Ports
    settings: Settings
    epoch: int
