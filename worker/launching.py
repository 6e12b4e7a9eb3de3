"""From what was prepared to what is run: the backend's LaunchSpec, or the echo engine's on simulated devices."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from backends import registry, trust
from backends.base import Backend, Mate, Placed, Renames, Team
from backends.echo import stand_in
from gpustack_lite.domain import BackendVersion, Claim, LaunchSpec
from gpustack_lite.wire import AssignedInstance
from worker import engines
from worker.containers import beneath
from worker.preparing import Prepared
from worker.runtimes import confinement, container
from worker.runtimes.confinement import Confinement
from worker.runtimes.container import Container
from worker.runtimes.environment import check_model_env, environment, marker_value
from worker.workshop import RUNNER_DIR, Workshop

IMAGE_ASCEND_ROOT = "/usr/local/Ascend"
"""Where CANN lies in every image of an Ascend engine."""
MASK = "********"


@dataclass(frozen=True, slots=True)
class Launch:
    """`spec` is run with `env`; `shown` is what people may read of the engine's real LaunchSpec."""

    spec: LaunchSpec
    env: dict[str, str]
    shown: dict[str, Any]
    container: Container | None = None


class Taken(NamedTuple):
    """What was taken or told for one attempt: `more` ports are as many as the backend asked for."""

    port: int
    more: tuple[int, ...] = ()
    team: Team | None = None


def launch(workshop: Workshop, assigned: AssignedInstance, prepared: Prepared, taken: Taken) -> Launch:
    """Raises:
    Refusal: what the backend or the worker does not allow.
    """
    check_model_env(assigned.env)
    prepared.backend.check(assigned.options, assigned.env)
    placed = _placed(workshop, assigned, prepared, taken)
    refusal = trust.refuse_pickle(prepared.backend, prepared.facts, assigned.options)
    if refusal is not None and not assigned.allow_pickle:
        raise refusal
    real = trust.launch(prepared.backend, placed)
    runs = _in_place_of(workshop, placed, prepared.backend) if prepared.simulated else real
    marker = marker_value(workshop.worker_uid, assigned.id)
    if prepared.version.source == "image" and not prepared.simulated:
        return _contained(workshop, assigned, prepared, real)
    model_env = {} if prepared.simulated else assigned.env
    own = {**confinement.private(Path(runs.workdir)), **_account(workshop.confinement)}
    env = environment(os.environ, model_env, runs.env, marker, own)
    return Launch(runs, env, shown(real, assigned, prepared.version))


def _account(confined: Confinement) -> dict[str, str]:
    return {} if confined.user is None else {"USER": confined.user.name, "LOGNAME": confined.user.name}


def _contained(workshop: Workshop, assigned: AssignedInstance, prepared: Prepared, real: LaunchSpec) -> Launch:
    marker = marker_value(workshop.worker_uid, assigned.id)
    claim, containers = _claim(assigned), workshop.containers
    made = containers.of(prepared.version, assigned.id, prepared.devices, claim)
    sources = (Path(each) for each in (prepared.source_path, *real.mirrors.values()) if each)
    read = {path for source in sources if source.exists() for path in beneath(source)}
    made = replace(made, mounts=(*made.mounts, *sorted(read)))
    inner = environment(container.passed_on(os.environ), assigned.env, real.env, marker)
    spec = container.wrapped(real, made, inner)
    outer = environment(os.environ, {}, {}, marker) | container.for_cli(os.environ)
    return Launch(spec, outer, shown(spec, assigned, prepared.version), made)


def _placed(workshop: Workshop, assigned: AssignedInstance, prepared: Prepared, taken: Taken) -> Placed:
    return Placed(
        instance_id=assigned.id,
        model_name=assigned.model,
        source_path=prepared.source_path,
        facts=prepared.facts,
        options=assigned.options,
        env=assigned.env,
        devices=container.inside(prepared.devices) if prepared.version.source == "image" else prepared.devices,
        port=taken.port,
        workdir=str(workshop.records.workdir(assigned.id)),
        engine_key=assigned.engine_key,
        context_length=assigned.context_length,
        cpu_count=prepared.cpu_count,
        version=prepared.version,
        runner_dir=str(RUNNER_DIR),
        claim=_claim(assigned),
        device_layers=assigned.device_layers,
        more_ports=taken.more,
        texts=prepared.texts,
        ascend_root=IMAGE_ASCEND_ROOT if prepared.version.source == "image" else str(workshop.settings.ascend_root),
        team=taken.team,
        trust_remote_code=assigned.trust_remote_code,
    )


def team_of(assigned: AssignedInstance, ports: Sequence[int]) -> Team | None:
    """None where one worker carries the instance alone; `ports` are where it meets."""
    if not assigned.members or not ports:
        return None
    mates = tuple([Mate(each.worker, each.address, each.devices) for each in assigned.members])
    return Team(assigned.rank, mates, ports[0])


def _claim(assigned: AssignedInstance) -> Claim:
    told = assigned.claim.model_dump()
    return Claim(**told | {"device_kinds": frozenset(told["device_kinds"]), "chips": frozenset(told["chips"])})


def _in_place_of(workshop: Workshop, placed: Placed, backend: Backend) -> LaunchSpec:
    """The echo engine on the same port, under the name that the real one would take, and with the same key."""
    name = backend.served_name(placed.model_name) if isinstance(backend, Renames) else placed.model_name
    default = registry.find("echo").versions()[0]
    version = engines.installed(default, workshop.data_dir, workshop.ports) or default
    return stand_in(replace(placed, env={}, model_name=name), version)


def shown(spec: LaunchSpec, assigned: AssignedInstance, version: BackendVersion) -> dict[str, Any]:
    """argv with the engine's key masked, and the names only of variables and files."""
    return {
        "argv": [_masked(each, assigned.engine_key) for each in spec.argv],
        "env": sorted({*spec.env, *assigned.env}),
        "files": sorted(spec.files),
        "port": spec.port,
        "workdir": spec.workdir,
        "probe": spec.probe.path,
        "backend": version.backend,
        "backend_version": version.version,
    }


def _masked(text: str, key: str) -> str:
    return text.replace(key, MASK) if key else text
