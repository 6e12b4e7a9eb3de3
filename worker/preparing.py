"""Everything that must be at hand before an engine can be launched: backend, version, facts, devices."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath

from backends import registry
from backends.base import Backend, HasNeeds, Needs, Opens
from backends.compatibility import Host, verdict
from gpustack_lite.domain import BackendVersion, Device, ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import sources
from gpustack_lite.wire import AssignedInstance, Progress
from worker import engines
from worker.devices.detect import Inventory
from worker.downloads.store import Note
from worker.simulated import simulated_versions
from worker.workshop import Workshop

LONGEST_TEXT = 10 * 1024**2


@dataclass(frozen=True, slots=True)
class Prepared:
    """`version.executable` is the engine's even where simulated devices make the echo engine run in its place."""

    backend: Backend
    version: BackendVersion
    facts: ModelFacts | None
    source_path: str | None
    devices: tuple[Device, ...]
    cpu_count: int
    needs: Needs = field(default_factory=Needs)
    texts: Mapping[str, str] = field(default_factory=dict)
    real_path: str | None = None
    """Where `source_path` leads, links resolved; None where no engine opens it."""

    @property
    def simulated(self) -> bool:
        return any(device.simulated for device in self.devices)


def backend_of(assigned: AssignedInstance) -> Backend:
    """Raises:
    Refusal: the backend is not known here, or its description does not hold.
    """
    if assigned.backend_spec is not None:
        return registry.with_custom(assigned.backend_spec)
    return registry.find(assigned.backend)


async def prepare(
    workshop: Workshop, assigned: AssignedInstance, on_progress: Callable[[Progress], None], on_weights: Note
) -> Prepared:
    """Files that come from a hub are on their way already: the engine is installed meanwhile.

    Raises:
    Refusal: what is missing.
    """
    backend = backend_of(assigned)
    inventory = await asyncio.to_thread(workshop.inventory)
    devices = inventory.chosen(assigned.devices)
    if len(devices) < len(assigned.devices):
        raise Refusal("devices_gone", wanted=_listed(assigned.devices), found=_listed([each.index for each in devices]))
    if isinstance(backend, Opens):
        await workshop.files.check_directories(backend.directories(assigned.options))
    source = assigned.source
    facts = None if assigned.files_id is not None else await workshop.files.for_backend(source, backend)
    version = await _version(workshop, assigned, backend, on_progress, devices)
    check_host(inventory, devices, backend.name, version)
    if assigned.files_id is not None:
        source = await workshop.store.path(assigned.files_id, on_weights)
        facts = await workshop.files.for_backend(source, backend)
    path = facts.path if facts is not None and facts.path else _path_of(workshop, source)
    needs = backend.needs(version, path) if isinstance(backend, HasNeeds) else Needs()
    texts = await asyncio.to_thread(_texts, workshop, version, needs, path)
    is_here = not sources.is_remote(source) and backend.name != "echo"
    is_opened = is_here and not any(each.simulated for each in devices)
    real = await workshop.files.real(path) if path is not None and is_opened else None
    return Prepared(backend, version, facts, path, devices, inventory.machine.cpu_count, needs, texts, real)


def check_host(inventory: Inventory, devices: Sequence[Device], backend: str, version: BackendVersion) -> None:
    """The server asked the same before it chose this worker; meanwhile the host, or what is installed, may differ.

    Raises:
        Refusal: driver, CANN or chip are documented not to go with this build.
    """
    for device in devices:
        host = Host.of(inventory.host.model_dump(), device.worker)
        in_image, compute = str(version.source) == "image", device.compute_capability
        found = verdict(host, device.chip, backend, version.version, brings_cann=in_image, compute=compute)
        if found.status == "wrong":
            raise Refusal(found.said.code, **found.said.params)  # type: ignore[arg-type]  # no param is named so


def check_build(inventory: Inventory, version: BackendVersion) -> None:
    """Before anything is fetched: refused where no device of its kind is one that the build can run on.

    Raises:
        Refusal: as `check_host`, of the first device.
    """
    devices = [each for each in inventory.devices if each.kind in version.device_kinds and not each.simulated]
    refusals = [refusal for each in devices if (refusal := _refused(inventory, each, version)) is not None]
    if refusals and len(refusals) == len(devices):
        raise refusals[0]


def _refused(inventory: Inventory, device: Device, version: BackendVersion) -> Refusal | None:
    try:
        check_host(inventory, [device], version.backend, version)
    except Refusal as refusal:
        return refusal
    return None


def _texts(workshop: Workshop, version: BackendVersion, needs: Needs, model_path: str | None) -> dict[str, str]:
    """What does not belong to the model lies in the image, where there is one."""
    if version.source != "image":
        return read_texts(needs)
    of_model = {name: paths for name, paths in needs.texts.items() if model_path and _is_below(paths, model_path)}
    others = {name: paths for name, paths in needs.texts.items() if name not in of_model}
    read = partial(workshop.containers.text, version)
    found = {name: next(filter(None, map(read, paths)), None) for name, paths in others.items()}
    kept = {name: text for name, text in found.items() if text is not None}
    return kept | read_texts(Needs(texts=of_model))


def _is_below(paths: Sequence[str], folder: str) -> bool:
    return all(PurePath(each).is_relative_to(folder) for each in paths)


def read_texts(needs: Needs) -> dict[str, str]:
    """Of each the first that can be read; the others are left out."""
    found = {name: next(filter(None, map(_text, paths)), None) for name, paths in needs.texts.items()}
    return {name: text for name, text in found.items() if text is not None}


def _text(path: str) -> str | None:
    try:
        with Path(path).open("rb") as file:
            content = file.read(LONGEST_TEXT + 1)
        return content.decode("utf-8") if len(content) <= LONGEST_TEXT else None
    except (OSError, UnicodeDecodeError):
        return None


async def _version(
    workshop: Workshop,
    assigned: AssignedInstance,
    backend: Backend,
    on_progress: Callable[[Progress], None],
    devices: Sequence[Device],
) -> BackendVersion:
    on_path = await asyncio.to_thread(workshop.engines_on_path)
    builds = await asyncio.to_thread(workshop.builds.versions)
    found = (*on_path, *simulated_versions(devices))
    kinds = frozenset(each.kind for each in devices) or frozenset({"cpu"})
    version = choose_version(
        assigned.backend_version, backend, found, workshop.is_installed, builds=builds, kinds=kinds
    )
    if any(each.simulated for each in devices):
        return replace(version, executable=version.executable or str(workshop.would_be_at(version)))
    if version.recipe is not None:
        return await workshop.builds.ensure(version, on_progress)
    wheels = workshop.settings.engine_wheels
    return await engines.ensure(version, workshop.data_dir, workshop.ports, on_progress, wheels)


def choose_version(
    wanted: str | None,
    backend: Backend,
    on_path: Sequence[BackendVersion],
    is_installed: Callable[[BackendVersion], bool],
    *,
    builds: Sequence[BackendVersion] = (),
    kinds: frozenset[str] = frozenset(),
) -> BackendVersion:
    """The default is what an administrator chose for the kind of device, else the backend's first, unless it would
    have to be fetched and another one is here already. `builds` are those that somebody asked for: each for one kind.

    Raises:
        Refusal: `backend_version_unknown` or `engine_build_other_kind`.
    """
    asked_for = [each for each in builds if each.backend == backend.name]
    fitting = [each for each in asked_for if not kinds or each.device_kinds & kinds]
    others = [each for each in on_path if each.backend == backend.name]
    known = [*(each for each in fitting if each.is_default), *backend.versions(), *others, *fitting]
    if wanted is not None:
        known_names = ", ".join(each.version for each in known) or "-"
        match = next((each for each in known if each.version == wanted), None)
        elsewhere = next((each for each in asked_for if each.version == wanted), None)
        if match is None and elsewhere is not None:
            have, kind = ", ".join(sorted(elsewhere.device_kinds)), ", ".join(sorted(kinds))
            raise Refusal("engine_build_other_kind", backend=backend.name, version=wanted, have=have, kind=kind)
        if match is None:
            raise Refusal(
                "backend_version_unknown",
                param="backend_version",
                version=wanted,
                backend=backend.name,
                known=known_names,
            )
        return match
    if not known:
        raise Refusal("backend_version_unknown", version="?", backend=backend.name, known="-")
    if known[0].is_default:
        return known[0]
    return next((each for each in known if is_installed(each)), known[0])


def _path_of(workshop: Workshop, source: str) -> str | None:
    """On simulated devices nothing is fetched: then it is where it would be."""
    try:
        found = sources.repository(source) if sources.is_remote(source) else sources.recognise(source)
    except Refusal:
        return None
    if found.is_remote:
        return str(workshop.store.would_be_at(found))
    return found.value if found.kind == "path" else None


def _listed(indices: Sequence[int]) -> str:
    return ", ".join(str(index) for index in indices) or "-"
