"""What the gateway and the server tell each other: routes by long poll, status each second, usage when there is any."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpustack_lite.gateway import route_copy
from gpustack_lite.gateway.freshness import Freshness
from gpustack_lite.gateway.ledger import Ledger
from gpustack_lite.gateway.limits import Limiter
from gpustack_lite.gateway.route_copy import Saved
from gpustack_lite.gateway.routes import Revision, RouteTable
from gpustack_lite.gateway.server_client import ServerClient
from gpustack_lite.gateway.spool import Spool
from gpustack_lite.ports import Ports
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.signals import Signals
from gpustack_lite.wire import GatewayOrders, GatewayStatus, RoutesReply

log = logging.getLogger(__name__)
AWAY_SECONDS = 0.25
CATCH_UP_SECONDS = 1.0
REFUSED_SECONDS = 1.0
POLL_PAUSE_SECONDS = 0.05
COALESCE_SECONDS = 0.2
BATCH_ROWS = 500
CONFIRMED_EVERY_SECONDS = 60.0
EVERY_REVISION = 2**31 - 1
SILENT_SECONDS = 2.0


class RoutesPoll:
    """Keeps the table as the server has it, and says when the server went away and came back."""

    def __init__(self, table: RouteTable, freshness: Freshness, server: ServerClient, signals: Signals) -> None:
        self._table = table
        self._freshness = freshness
        self._server = server
        self._signals = signals
        self._trouble: str | None = None

    @property
    def is_connected(self) -> bool:
        return self._trouble is None

    async def look_now(self) -> None:
        """A question of its own beside the long poll; when it fails, the poll says so."""
        with contextlib.suppress(UpstreamFailed):
            status, body = await self._server.ask(b"GET", self._question() + b"&now=true")
            if status == 200:
                self._take(body)

    async def step(self) -> float:
        try:
            status, body = await self._server.ask(b"GET", self._question())
        except UpstreamFailed as failure:
            self._tell(failure.cause)
            return AWAY_SECONDS
        if status == 204:
            self._confirm()
            return POLL_PAUSE_SECONDS
        if status != 200:
            self._tell(f"HTTP {status}")
            return REFUSED_SECONDS
        return self._take(body)

    def _take(self, body: bytes) -> float:
        try:
            reply = RoutesReply.model_validate_json(body)
        except ValidationError as error:  # what we have is better than what nobody can read
            self._tell(f"unreadable: {error.error_count()} faults")
            return REFUSED_SECONDS
        self._table.accept(reply)
        self._confirm()
        return POLL_PAUSE_SECONDS

    def _question(self) -> bytes:
        models, credentials = self._table.models_revision, self._table.credentials_revision
        epoch = min(models.epoch, credentials.epoch)
        text = f"/api/gateway/v1/routes?epoch={epoch}&models={models.number}&credentials={credentials.number}"
        return text.encode()

    def _confirm(self) -> None:
        """The server is there and what we hold is what it has."""
        self._tell(None)
        if self._table.is_filled:
            self._freshness.confirm()
            self._signals.touch("routes_copy")

    def _tell(self, trouble: str | None) -> None:
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble is None:
            log.info("server_reached")
        else:
            log.warning("server_away", extra={"cause": trouble})


class CatchUp:
    """Before the gateway says no: does it hold all that the API has told by now?

    Without it a model that the API calls ready is refused for the tenth of a second until its route arrives.
    """

    def __init__(self, poll: RoutesPoll) -> None:
        self._poll = poll
        self._lock = asyncio.Lock()
        self._asked = 0

    async def __call__(self) -> None:
        """One question serves everybody who came before it was asked."""
        if not self._poll.is_connected:
            return
        seen = self._asked
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_SECONDS), self._lock:
                if self._asked == seen:
                    self._asked += 1
                    await self._poll.look_now()


class CopyKeeper:
    """Writes the table to disk when it changed, and its time of confirmation once a minute."""

    def __init__(
        self, table: RouteTable, freshness: Freshness, path: Path, ports: Ports, boot_id: str, *, limiter: Limiter
    ) -> None:
        self._table = table
        self._freshness = freshness
        self._limiter = limiter
        self._path = path
        self._ports = ports
        self._boot_id = boot_id
        self._written: tuple[Revision, Revision] | None = None
        self._written_at = 0.0

    def load(self) -> bool:
        """Fill the table from disk; whether there was a good copy."""
        found = route_copy.load(self._ports.disk, self._path)
        if found is None:
            return False
        saved, reply = found
        clock = self._ports.clock
        age = route_copy.age_seconds(saved, boot_id=self._boot_id, monotonic=clock.monotonic(), wall=clock.wall())
        self._table.accept(reply)
        self._freshness.confirm(age)
        self._limiter.recall(GatewayOrders(gateways=saved.gateways, spent=saved.spent))
        log.info("routes_loaded", extra={"age_seconds": round(age, 1), "models": len(self._table.models)})
        return True

    async def step(self) -> float | None:
        age = self._freshness.age_seconds
        if age is None or not self._is_due():
            return None
        clock = self._ports.clock
        now, revisions = clock.monotonic(), self._table.revisions
        wall = clock.wall() - timedelta(seconds=age)
        orders = self._limiter.orders
        routes = self._table.document().model_dump_json()
        saved = Saved(self._boot_id, now - age, wall, routes, orders.gateways, orders.spent)
        await asyncio.to_thread(self._ports.disk.replace, self._path, route_copy.encode(saved))
        self._written, self._written_at = revisions, now
        return None

    def _is_due(self) -> bool:
        is_old = self._ports.clock.monotonic() - self._written_at >= CONFIRMED_EVERY_SECONDS
        return is_old or self._table.revisions != self._written


class StatusReporter:
    """A gateway that says nothing for a minute is not counted, so it speaks each second."""

    def __init__(self, gateway_id: str, table: RouteTable, server: ServerClient, now: Callable[[], float]) -> None:
        self._gateway_id = gateway_id
        self._table = table
        self._server = server
        self._now = now
        self._asked_at: float | None = None
        self.tellers: list[Callable[[], Mapping[str, Any]]] = []
        """Each fills fields of the GatewayStatus."""
        self.heeders: list[Callable[[GatewayOrders], None]] = []
        """Each is told what the server answered."""

    @property
    def is_heard(self) -> bool:
        """The socket of a dead server takes questions, for it is the supervisor's: only answers show that one lives."""
        return self._asked_at is None or self._now() - self._asked_at < SILENT_SECONDS

    async def step(self) -> None:
        models, credentials = self._table.models_revision, self._table.credentials_revision
        if self._table.is_filled:
            await self._send(min(models.epoch, credentials.epoch), models.number, credentials.number)

    async def say_goodbye(self) -> None:
        """One that has left has seen every revision there will be: nobody waits a minute for it."""
        await self._send(self._table.models_revision.epoch, EVERY_REVISION, EVERY_REVISION)

    async def _send(self, epoch: int, models: int, credentials: int) -> None:
        said: dict[str, Any] = {}
        for teller in self.tellers:
            said.update(teller())
        status = GatewayStatus(
            gateway_id=self._gateway_id,
            epoch=epoch,
            models_revision=models,
            credentials_revision=credentials,
            leases=self._table.leases(),
            **said,
        )
        self._asked_at = self._now() if self._asked_at is None else self._asked_at
        try:
            answer = await self._server.ask(b"POST", b"/api/gateway/v1/status", status.model_dump_json().encode())
        except UpstreamFailed:
            return  # the poll of routes says it
        self._asked_at = None
        self._heed(*answer)

    def _heed(self, status: int, body: bytes) -> None:
        if status != 200:
            return
        try:
            orders = GatewayOrders.model_validate_json(body)
        except ValidationError as error:
            log.warning("orders_unreadable", extra={"faults": error.error_count()})
            return
        for heeder in self.heeders:
            heeder(orders)


class UsageWriter:
    """From memory to the spool, some tenths of a second later."""

    def __init__(self, ledger: Ledger, spool: Spool, ports: Ports, signals: Signals) -> None:
        self._ledger = ledger
        self._spool = spool
        self._clock = ports.clock
        self._signals = signals

    async def step(self) -> None:
        if not self._ledger.waiting():
            return
        await self._clock.sleep(COALESCE_SECONDS)
        await self.write()

    async def write(self) -> None:
        """Rows leave the memory only when they are on disk."""
        texts = self._ledger.waiting()
        if texts:
            await asyncio.to_thread(self._spool.append, texts)
            self._ledger.forget(len(texts))
            self._signals.touch("usage_spooled")


class UsageCourier:
    """From the spool to the server, again and again until it answers that the rows are on its disk."""

    def __init__(
        self,
        gateway_id: str,
        spool: Spool,
        server: ServerClient,
        on_taken: Callable[[Sequence[bytes]], None] = lambda _: None,
    ) -> None:
        self._gateway_id = gateway_id
        self._spool = spool
        self._server = server
        self._on_taken = on_taken

    async def step(self) -> float | None:
        """A file that the server refuses is kept and asked about again; it does not hold back the others."""
        await asyncio.to_thread(self._spool.seal)
        wanted: float | None = None
        for path in await asyncio.to_thread(self._spool.deliverable):
            rows = await asyncio.to_thread(self._spool.read, path)
            if await self._deliver(rows):
                await asyncio.to_thread(self._spool.remove, path, len(rows))
            else:
                wanted = REFUSED_SECONDS
        return wanted

    async def _deliver(self, rows: list[bytes]) -> bool:
        for start in range(0, len(rows), BATCH_ROWS):
            if not await self._post(rows[start : start + BATCH_ROWS]):
                return False
        return True

    async def _post(self, rows: list[bytes]) -> bool:
        """A wire.UsageBatch, made of rows that are JSON already."""
        batch = b'{"gateway_id":"%s","rows":[%s]}' % (self._gateway_id.encode(), b",".join(rows))
        try:
            status, _ = await self._server.ask(b"POST", b"/api/gateway/v1/usage", batch)
        except UpstreamFailed:
            return False
        if status != 204:
            log.warning("usage_refused", extra={"status": status, "rows": len(rows)})
            return False
        self._on_taken(rows)
        return True
