"""The gateway's parts, put together once."""

import itertools
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple

from uvicorn import Config

from gpustack_lite.gateway import media_urls, proxies, speeds, spending
from gpustack_lite.gateway.app import Surface
from gpustack_lite.gateway.balance import Balancer
from gpustack_lite.gateway.control import CatchUp, CopyKeeper, RoutesPoll, StatusReporter, UsageCourier, UsageWriter
from gpustack_lite.gateway.cors import Cors
from gpustack_lite.gateway.door import KEEP_ALIVE_SECONDS, Door, House
from gpustack_lite.gateway.flight import Flight
from gpustack_lite.gateway.form_uploads import FormUploads
from gpustack_lite.gateway.freshness import Freshness
from gpustack_lite.gateway.gate import Gate
from gpustack_lite.gateway.health import Health
from gpustack_lite.gateway.inference import Inference
from gpustack_lite.gateway.lane import ProtocolLane
from gpustack_lite.gateway.ledger import Ledger
from gpustack_lite.gateway.limits import Limiter, has_budgets
from gpustack_lite.gateway.listing import Listing
from gpustack_lite.gateway.metrics import Gauge, Metrics
from gpustack_lite.gateway.probing import Prober, Schedule
from gpustack_lite.gateway.relaying import Relaying
from gpustack_lite.gateway.revoking import Revoker
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.gateway.salvage import Salvage
from gpustack_lite.gateway.server_client import ServerClient
from gpustack_lite.gateway.spool import Spool
from gpustack_lite.gateway.turns import Bounds, Turns
from gpustack_lite.gateway.uploads import Uploads
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.relay.connection import Patience
from gpustack_lite.relay.pool import Pool
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals

Step = Callable[[], Awaitable[float | None]]


class Chore(NamedTuple):
    """A step that is kept running beside the requests."""

    name: str
    step: Step
    topics: tuple[str, ...]
    every_seconds: float


def numbered(prefix: str) -> Callable[[], str]:
    """Ids that nobody else makes: randomness is asked once, not for every request."""
    count = itertools.count(1)
    return lambda: f"{prefix}-{next(count):x}"


class Parts:
    def __init__(
        self, settings: Settings, ports: Ports, me: Identity, *, server_socket: Path, data_dir: Path, index: int
    ) -> None:
        self.ports = ports
        self.signals = Signals()
        self.inner_socket = data_dir / "run" / f"gateway-{index}.sock"
        self._folder = folder = data_dir / "gateway"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        patience = Patience(settings.connect_seconds, settings.first_byte_seconds, settings.idle_seconds)
        self.pool = Pool(ports.network, ports.clock, patience)
        self.house = House(ports.clock.monotonic, stall_seconds=settings.idle_seconds)
        self.table = RouteTable()
        self.balancer = Balancer(ports.clock.monotonic)
        self.freshness = Freshness(ports.clock.monotonic, settings.stale_keys_max_seconds)
        self.relaying = Relaying(
            self.pool, server_socket, lambda: self.turns.is_server_away, proxies.parsed(settings.trusted_proxies)
        )
        server = ServerClient(self.pool, lambda: self.relaying.target, data_dir / "run" / "gateway_token", ports.disk)
        gateway_id = f"gateway-{index}-{ports.randomness.unique_id()[:8]}"
        self.limiter = Limiter(ports.clock.monotonic, ports.clock.wall)
        self.flight = Flight(folder, ports.disk, me)
        self.ledger = Ledger(ports.clock, on_row=lambda: self.signals.touch("usage"), flight=self.flight)
        self.ledger.note = self.limiter.note
        self.revoker = Revoker(self.ledger, self.table.credential, ports.clock.wall)
        self.spool = Spool(folder, ports.disk, ports.processes, me)
        self.salvage = Salvage(folder, self.spool, ports, self.signals)
        self.poll = RoutesPoll(self.table, self.freshness, server, self.signals)
        self.copy = CopyKeeper(
            self.table, self.freshness, folder / "routes.json", ports, me.boot_id, limiter=self.limiter
        )
        self.status = StatusReporter(gateway_id, self.table, server, ports.clock.monotonic)
        self.turns = Turns(
            self.table,
            self.balancer,
            _bounds(settings),
            is_connected=lambda: self.poll.is_connected and self.status.is_heard,
            on_wake=lambda: self.signals.touch("wake"),
        )
        self.status.tellers.append(self.turns.status)
        self.status.heeders.append(self.turns.heed)
        when = Schedule(settings.probe_seconds, settings.probe_deadline_seconds)
        self.prober = Prober(self.table, self.balancer, self.pool, ports.clock, when)
        self.status.tellers.append(self.prober.tell)
        self.status.heeders.append(self.prober.heed)
        self.status.tellers.append(self.limiter.tell)
        self.status.heeders.append(self.limiter.heed)
        self.writer = UsageWriter(self.ledger, self.spool, ports, self.signals)
        self.courier = UsageCourier(gateway_id, self.spool, server, self.limiter.were_taken)
        self.surface = self._surface(settings, server, data_dir / "run" / "cli_token")
        self.surface.metrics.sections.append(lambda: speeds.lines(self.table.models.values(), self.balancer.replicas))
        self.house.lane = ProtocolLane(self.surface)

    def _surface(self, settings: Settings, server: ServerClient, cli_token_file: Path) -> Surface:
        gate = Gate(self.table, self.freshness, self.ports.clock)
        catch_up = CatchUp(self.poll)
        uploads = Uploads(settings.request_body_bytes)
        form_uploads = FormUploads(settings.upload_bytes, self._folder / "uploads")
        return Surface(
            inference=Inference(
                self.table,
                gate,
                self.pool,
                self.ledger,
                uploads,
                form_uploads=form_uploads,
                catch_up=catch_up,
                limiter=self.limiter,
                turns=self.turns,
                reasoning=settings.reasoning,
                media_hosts=media_urls.hosts(settings.media_hosts),
            ),
            listing=Listing(self.table, gate, catch_up),
            relaying=self.relaying,
            health=Health(self.freshness, server),
            metrics=Metrics(gate, self._gauges(uploads, form_uploads), self.ports.disk, cli_token_file),
            unique_id=numbered(self.ports.randomness.unique_id()),
            cors=Cors(settings.cors_origins),
        )

    def begin(self) -> None:
        """From disk: the routes, and what a predecessor's requests used that the server has not heard of."""
        self.copy.load()
        if has_budgets(self.table.document()):
            for path in self.spool.deliverable():
                self.limiter.spending.inherit(spending.of_rows(self.spool.read(path)))

    def _gauges(self, uploads: Uploads, form_uploads: FormUploads) -> dict[str, Gauge]:
        return {
            "requests_in_flight": lambda: self.ledger.in_flight,
            "connections": lambda: len(self.house.state.connections),
            "leases": lambda: sum(self.table.leases().values()),
            "queue_length": lambda: sum(self.turns.queued.values()),
            "queue_longest_wait_seconds": lambda: self.turns.longest_wait_seconds,
            "queue_waited_seconds": lambda: self.turns.waited_seconds,
            "queue_refused": lambda: self.turns.refused,
            "held_body_bytes": lambda: uploads.held_bytes,
            "upload_bytes": lambda: form_uploads.kept_bytes,
            "routes_age_seconds": lambda: self.freshness.age_seconds or 0.0,
            "spool_rows": lambda: self.spool.waiting_rows,
            "spool_dropped_rows": lambda: self.spool.dropped_rows + self.ledger.dropped_rows,
            "flight_slots": lambda: self.flight.taken,
            "flight_without_slot": lambda: self.flight.without_slot,
            "refusals_unrecorded": lambda: self.ledger.refused_unrecorded,
        }

    def door(self) -> Callable[[], Door]:
        """What makes the protocol of each accepted connection."""
        config = Config(
            self.surface,
            loop="none",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        config.load()
        return lambda: Door(config, self.house)

    def chores(self) -> tuple[Chore, ...]:
        return (
            Chore("routes_poll", self.poll.step, (), 1.0),
            Chore("routes_copy", self.copy.step, ("routes_copy",), 15.0),
            Chore("gateway_status", self.status.step, ("wake",), 1.0),
            Chore("usage_writer", self.writer.step, ("usage",), 5.0),
            Chore("flight_salvage", self.salvage.step, (), 5.0),
            Chore("usage_courier", self.courier.step, ("usage_spooled",), 5.0),
            Chore("liveness", self.prober.step, (), 1.0),
            Chore("sweep", self._sweep, (), 0.25),
        )

    async def _sweep(self) -> None:
        self.pool.sweep()
        self.house.sweep()
        self.turns.sweep()
        self.revoker.look()
        now = formatdate(self.ports.clock.wall().timestamp(), usegmt=True).encode()
        self.house.state.default_headers = [(b"date", now)]


def _bounds(settings: Settings) -> Bounds:
    return Bounds(
        queue_length=settings.queue_length,
        queue_seconds=settings.queue_seconds,
        in_flight_per_replica=settings.in_flight_per_replica,
        held_while_waking=settings.held_while_waking,
        waking_seconds=settings.first_byte_seconds,
    )
