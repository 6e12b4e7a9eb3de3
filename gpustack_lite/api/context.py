"""What a request handler may reach: one value, made by `server.main`, found again at `request.app.state.context`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request

from gpustack_lite.api.acknowledgements import Acknowledgements
from gpustack_lite.api.exchange import Exchange
from gpustack_lite.api.failures import Failures
from gpustack_lite.api.identity_provider import IdentityProvider
from gpustack_lite.api.log_desk import LogDesk
from gpustack_lite.api.passwords import Passwords
from gpustack_lite.api.throttle import LoginThrottle
from gpustack_lite.api.vault import Vault
from gpustack_lite.api.verdicts import Verdicts
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries.placing import Ask, Snapshot
from gpustack_lite.db.tables import Model, ModelInstance
from gpustack_lite.ports import Disk, Ports
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Heartbeat, RoutesReply

STOPPING_TOPIC = "stopping"
UPLOADS_AT_ONCE = 16
"""Files that may arrive at the same time; who comes later is told to try again."""
STREAMS_READING = 4
"""So many look into the database at once when a change wakes them all; the rest of the server reads there too."""


class Published(Protocol):
    """What the reconciler `publish` keeps in memory for the gateways' long polls."""

    def newer(self, epoch: int, models_revision: int, credentials_revision: int) -> RoutesReply | None:
        """The sections that differ from what the gateway holds, or None when it holds everything."""

    async def catch_up(self, seconds: float) -> None:
        """Until `newer` knows of all that was committed before the call, or the time is over."""


class Heartbeats(Protocol):
    """Kept in memory and written together by `liveness`."""

    def heard(self, worker_id: int, heartbeat: Heartbeat) -> None: ...
    def forget(self, worker_id: int) -> None:
        """The next heartbeat of this worker is news."""


class Judge(Protocol):
    """Answers what a round of placements would decide; pure."""

    def evaluate(
        self, snapshot: Snapshot, model: Model, variants: tuple[str, ...], now: datetime
    ) -> dict[str, Any]: ...
    def decision(self, snapshot: Snapshot, instance: ModelInstance, model: Model, now: datetime) -> dict[str, Any]: ...
    def unasked(self, snapshot: Snapshot, now: datetime) -> Sequence[Ask]: ...
    def moves(self, snapshot: Snapshot, name: str | None, now: datetime) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class MachineTokens:
    """The secrets that the supervisor wrote below `run/`. One that is missing or empty matches nothing."""

    gateway: str | None = None
    join: str | None = None
    cli: str | None = None


def read_machine_tokens(disk: Disk, data_dir: Path) -> MachineTokens:
    def read(name: str) -> str | None:
        content = disk.read(data_dir / "run" / name)
        return None if content is None else content.decode("ascii", "ignore").strip() or None

    return MachineTokens(read("gateway_token"), read("local_join_token"), read("cli_token"))


@dataclass(frozen=True, slots=True)
class Context:
    settings: Settings
    ports: Ports
    db: Database
    signals: Signals
    data_dir: Path
    published: Published
    heartbeats: Heartbeats
    judge: Judge
    tokens: MachineTokens = MachineTokens()
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    gateways: Acknowledgements = field(default_factory=Acknowledgements)
    verdicts: Verdicts = field(default_factory=Verdicts)
    exchange: Exchange = field(default_factory=Exchange)
    logs: LogDesk = field(default_factory=LogDesk)
    throttle: LoginThrottle = field(default_factory=LoginThrottle)
    streams: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(STREAMS_READING))
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))
    passwords: Passwords = field(default_factory=Passwords)
    failures: Failures = field(default_factory=Failures)
    vault: Vault = field(default_factory=Vault)
    provider: IdentityProvider = field(default_factory=IdentityProvider)
    used_tickets: dict[str, None] = field(default_factory=dict)
    """Digests of tickets that came back from the provider, the oldest first; each is good once."""

    def stop(self) -> None:
        """End long polls and streams at once; call it before the server waits for its open connections."""
        self.stopping.set()
        self.signals.touch(STOPPING_TOPIC)


def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


Ctx = Annotated[Context, Depends(context_of)]
