"""Puts a worker together and runs it until it is told to end (SIGTERM) or to leave its engines behind (SIGHUP)."""

import asyncio
import contextlib
import logging
import os
import platform
import signal
from dataclasses import dataclass
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.hubs import hubs_of
from gpustack_lite.hub.remote_facts import RemoteFacts
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals
from worker import files, identity
from worker.adoption import Records
from worker.agent import STATUS, Agent
from worker.builds import Builds
from worker.containers import Containers
from worker.desired import Desired
from worker.devices.declared import Declaration, declaration
from worker.devices.detect import Detector
from worker.downloads.adopting import caches
from worker.downloads.hubs import Hubs
from worker.downloads.job import Means
from worker.downloads.manifest import Manifests
from worker.downloads.places import root_of
from worker.downloads.store import Store
from worker.heartbeat import HeartbeatThread, Pulse
from worker.hub_tokens import HubTokens, with_tokens
from worker.identity import WorkerIdentity
from worker.instances import Instances
from worker.link import Introduction, Link, ServerAddress, server_address
from worker.logs import Logs
from worker.ports_range import PortRange, parse_range, warn_about_overlap
from worker.preparing import check_build
from worker.probe import EngineClient
from worker.runtimes import confinement, engine_user
from worker.runtimes.confinement import Confinement
from worker.uploads import LogUploads
from worker.workshop import Workshop

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Given:
    """What a worker is started with, checked."""

    settings: Settings
    ports: Ports
    data_dir: Path
    address: ServerAddress
    introduction: Introduction
    declared: Declaration | None
    engine_ports: range
    confinement: Confinement


def run(
    settings: Settings,
    ports: Ports,
    *,
    server_socket: Path | None,
    server_url: str | None,
    join_token: str | None,
    data_dir: Path,
) -> None:
    """Blocks until a signal ends the worker. It listens on no socket at all.

    Raises:
        Refusal: a setting is wrong, or the server does not take this worker.
    """
    os.umask(0o077)  # whatever is made below the data dir is for us only
    address = server_address(server_socket, server_url)
    asyncio.run(_serve(checked(settings, ports, address, join_token, data_dir)))


def checked(settings: Settings, ports: Ports, address: ServerAddress, join_token: str | None, data_dir: Path) -> Given:
    """Raises:
    Refusal: the first setting that is wrong.
    """
    declared = None if settings.simulate is None else declaration(settings.simulate)
    name = settings.name or (declared.name if declared else None) or platform.node() or "worker"
    introduction = Introduction(name, parse_labels(settings.labels), join_token)
    engine_ports = parse_range(settings.engine_ports)
    confined = confinement.of(settings)
    return Given(settings, ports, data_dir, address, introduction, declared, engine_ports, confined)


def parse_labels(text: str) -> dict[str, str]:
    """ "zone=a,rack=7" -> {"zone": "a", "rack": "7"}.

    Raises:
        Refusal: `bad_labels`.
    """
    labels: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        key, sign, value = part.partition("=")
        if not sign or not key.strip():
            raise Refusal("bad_labels", labels=text[:200])
        labels[key.strip()] = value.strip()
    return labels


async def _serve(given: Given) -> None:
    wants_end = asyncio.Event()
    _listen_to_signals(wants_end)
    _confine(given)
    made = Made(given)
    made.heartbeat.start()
    running = asyncio.create_task(made.agent.run())
    ending = asyncio.create_task(wants_end.wait())
    try:
        await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            _raise_refusal(running)
    finally:
        made.heartbeat.stop()
        for task in (running, ending):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Refusal, ExceptionGroup):
                await task
        if wants_end.is_set():
            await made.agent.end()
        await made.close()


def _confine(given: Given) -> None:
    """What engines must reach is opened for their account, and what cannot be had here is told once."""
    for each in confinement.missing(given.confinement):
        log.warning("engines_less_confined", extra={"code": each.code, **each.params})
    if given.confinement.user is not None:
        os.umask(0o027)
        kept = [root_of(given.settings, os.environ, hub) for hub in ("huggingface", "modelscope", "url")]
        ours = [each for each in kept if _is_ours(each, given)]
        engine_user.open_for(given.confinement.user, given.data_dir, ours)


def _is_ours(folder: Path, given: Given) -> bool:
    roots = (given.data_dir, given.settings.files_dir)
    return any(root is not None and folder.is_relative_to(root) for root in roots)


def _listen_to_signals(wants_end: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, wants_end.set)
    loop.add_signal_handler(signal.SIGHUP, _leave)
    loop.add_signal_handler(signal.SIGINT, lambda: None)


def _leave() -> None:
    """At once: the records are on disk at every moment, and whatever an orderly end would touch must stay."""
    log.info("worker_leaves_engines_to_successor")
    logging.shutdown()
    os._exit(0)


def _raise_refusal(running: asyncio.Task[None]) -> None:
    """What a task group wraps, unwrapped: one sentence for whoever started us."""
    error = running.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None:
        raise error


class Made:
    """The parts of one worker, put together."""

    def __init__(self, given: Given) -> None:
        self._given = given
        known = identity.load_or_make(given.data_dir, given.ports)
        self._name = known.name or given.introduction.name
        signals = Signals()
        tokens = HubTokens(given.address, lambda: self.link.identity.credential, given.ports.clock)
        self.repositories = Repositories(with_tokens(hubs_of(given.settings, os.environ), tokens), given.ports)
        store = Store(self._means(), lambda: signals.touch(STATUS))
        self.workshop = self._workshop(known.uid, store)
        self.instances = Instances(self.workshop, lambda: signals.touch(STATUS))
        self.desired = Desired(given.data_dir, given.ports.disk)
        self.link = Link(given.address, known, given.introduction, given.ports, on_joined=self._joined)
        uploads = LogUploads(self.link, self.workshop.logs, self.instances, given.ports)
        self.agent = Agent(
            self.link,
            desired=self.desired,
            instances=self.instances,
            files=self.workshop.files,
            store=store,
            builds=self.workshop.builds,
            uploads=uploads,
            ports=given.ports,
            signals=signals,
        )
        pulse = Pulse(self.workshop, lambda: self.link.identity.credential, self.instances.engines)
        self.heartbeat = HeartbeatThread(given.address, pulse, given.settings.heartbeat_seconds)
        self.workshop.builds.on_change = self.heartbeat.beat_now

    def _means(self) -> Means:
        given = self._given
        return Means(
            root_of=lambda hub: root_of(given.settings, os.environ, hub),
            hub=Hubs(self.repositories),
            manifests=Manifests(given.data_dir, given.ports.disk),
            caches=caches(os.environ, Path.home()),
            ports=given.ports,
            reserve_bytes=given.settings.disk_reserve_bytes,
        )

    def _workshop(self, uid: str, store: Store) -> Workshop:
        given, settings = self._given, self._given.settings
        remembered = given.data_dir / "cache" / "hub"
        warn_about_overlap(given.engine_ports)
        detector = Detector(settings, given.ports, lambda: self._name, given.declared, uid=uid)
        containers = Containers(
            given.ports,
            uid,
            settings.container_cli,
            settings.container_shm_bytes,
            settings.ascend_root,
            given.data_dir,
        )
        return Workshop(
            settings=settings,
            ports=given.ports,
            data_dir=given.data_dir,
            worker_uid=uid,
            records=Records(given.data_dir, given.ports.disk),
            logs=Logs(
                given.data_dir,
                file_bytes=settings.log_file_bytes,
                files_kept=settings.log_files_kept,
                attempts_kept=settings.attempts_kept,
            ),
            port_range=PortRange(given.engine_ports),
            client=EngineClient(),
            files=files.Files(
                files.roots_of(settings, os.environ), RemoteFacts(self.repositories, given.ports.disk, remembered)
            ),
            store=store,
            containers=containers,
            builds=Builds(
                containers,
                settings.engine_wheels,
                detector.latest,
                lambda version: check_build(detector.latest(), version),
            ),
            inventory=detector.latest,
            look=detector.look,
            confinement=given.confinement,
        )

    def _joined(self, joined: WorkerIdentity, is_new: bool) -> None:
        self._name = joined.name or self._name
        identity.save(self._given.data_dir, joined, self._given.ports)
        if is_new:
            self.desired.begin_anew()
        self.heartbeat.beat_now()

    async def close(self) -> None:
        await self.link.close()
        self.repositories.close()
        await self.workshop.client.close()
