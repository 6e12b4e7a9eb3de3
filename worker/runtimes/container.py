"""A LaunchSpec as a command line of docker or podman; values in, values out.

The command stays in the foreground: its output, its exit code and the signals sent to it are the engine's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from gpustack_lite.domain import Device, LaunchSpec
from gpustack_lite.errors import Refusal

WORKER_LABEL, INSTANCE_LABEL = "gpustack-lite.worker", "gpustack-lite.instance"
ENV_FILE = ".container.env"
ASCEND_NODES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/uburma", "/dev/ummu")
"""Beside the chips' own; those that the host has (an Ascend 950 has the last two in place of devmm_svm)."""
_DRIVER = ("driver/lib64", "driver/version.info", "driver/tools/hccn_tool")
"""Below the CANN root; lib64 with its `common`. Never the root itself, which would hide the CANN of the image."""
_HOST = ("/usr/local/dcmi", "/usr/local/bin/npu-smi", "/etc/ascend_install.info", "/etc/hccn.conf")
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "TZ"})
_OF_CLI = ("HOME", "DOCKER_", "CONTAINER_", "CONTAINERS_", "XDG_RUNTIME_DIR", "BUILDAH_")
"""What tells docker or podman where its daemon, its store and its registries' credentials are."""


@dataclass(frozen=True, slots=True)
class Container:
    """`mounts` are read only and have the same path inside; `groups` are those of the device nodes."""

    cli: str
    image: str
    name: str
    worker: str
    instance: int
    shared_memory_bytes: int
    devices: tuple[str, ...] = ()
    gpus: str | None = None
    mounts: tuple[str, ...] = ()
    user: tuple[int, int] | None = None
    """Of the worker where that is not root, so that what the engine writes can be removed; None: the image's own."""
    groups: tuple[int, ...] = ()
    memory_bytes: int | None = None

    @property
    def is_podman(self) -> bool:
        return PurePath(self.cli).name.startswith("podman")


def name_of(worker_uid: str, instance_id: int) -> str:
    return f"gpl-{worker_uid}-{instance_id}"


def wrapped(spec: LaunchSpec, container: Container, env: Mapping[str, str]) -> LaunchSpec:
    """The engine's variables lie in a file for its container alone: a command line can be read by everybody, and a
    variable such as DOCKER_HOST would speak to the command instead.

    Raises:
        Refusal: `engine_env_not_one_line`.
    """
    files = {**spec.files, ENV_FILE: env_file(env)}
    return replace(spec, argv=argv(spec, container), env={}, files=files, shared_memory=())


def env_file(env: Mapping[str, str]) -> str:
    for name, value in env.items():
        if "\n" in value or "\r" in value:
            raise Refusal("engine_env_not_one_line", param="env", name=name)
    return "".join(f"{name}={value}\n" for name, value in sorted(env.items()))


def argv(spec: LaunchSpec, container: Container) -> tuple[str, ...]:
    program, *arguments = spec.argv
    return (
        *(container.cli, "run", "--rm", "--init", "--pull", "never", "--name", container.name),
        *("--label", f"{WORKER_LABEL}={container.worker}", "--label", f"{INSTANCE_LABEL}={container.instance}"),
        *("--network", "host", "--log-driver", "none", "--security-opt", "no-new-privileges"),
        *("--shm-size", str(container.shared_memory_bytes)),
        *(() if container.memory_bytes is None else ("--memory", str(container.memory_bytes))),
        *_user(container, spec.workdir),
        *_devices(container),
        *(part for path in container.mounts for part in ("--volume", f"{path}:{path}:ro")),
        *("--volume", f"{spec.workdir}:{spec.workdir}", "--workdir", spec.workdir),
        *("--env-file", str(PurePath(spec.workdir) / ENV_FILE)),
        *("--entrypoint", program, container.image, *arguments),
    )


def _user(container: Container, workdir: str) -> tuple[str, ...]:
    if container.user is None:
        return ()
    groups = (part for group in container.groups for part in ("--group-add", str(group)))
    return ("--user", f"{container.user[0]}:{container.user[1]}", *groups, "--env", f"HOME={workdir}")


def _devices(container: Container) -> tuple[str, ...]:
    """docker reads --gpus as a line of CSV, so that a list needs quotes of its own; podman takes CDI's names."""
    nodes = tuple(part for node in container.devices for part in ("--device", node))
    if container.gpus is None:
        return nodes
    if container.is_podman:
        named = (part for gpu in container.gpus.split(",") for part in ("--device", f"nvidia.com/gpu={gpu}"))
        return (*nodes, *named)
    return (*nodes, "--gpus", f'"device={container.gpus}"')


def nodes_of(devices: Sequence[Device], exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Only the chosen chips, and what every user of any chip needs.

    Raises:
        Refusal: `engine_container_devices`, of a chip whose node nobody knows, or of a vendor for whom nothing is.
    """
    ascend = [each for each in devices if each.kind == "ascend"]
    if strange := [each for each in devices if each.kind not in {"ascend", "cuda", "cpu"}]:
        raise Refusal("engine_container_devices", device=strange[0].address, kind=strange[0].kind)
    if unknown := [each for each in ascend if each.physical_id is None]:
        raise Refusal("engine_container_devices", device=unknown[0].address, kind="ascend")
    chips = tuple(f"/dev/davinci{each.physical_id}" for each in ascend)
    return (*chips, *filter(exists, ASCEND_NODES)) if chips else ()


def gpus_of(devices: Sequence[Device]) -> str | None:
    return ",".join(each.visible_name for each in devices if each.kind == "cuda") or None


def driver_of(devices: Sequence[Device], ascend_root: str, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """What an image does not have of the driver: it belongs to the host's kernel."""
    if not any(each.kind == "ascend" for each in devices):
        return ()
    return tuple(filter(exists, (*(str(PurePath(ascend_root) / each) for each in _DRIVER), *_HOST)))


def inside(devices: Sequence[Device]) -> tuple[Device, ...]:
    """As they are numbered in a container that has no others: from 0, in this order."""
    return tuple(replace(each, visible_as=str(place)) for place, each in enumerate(devices))


def passed_on(ours: Mapping[str, str]) -> dict[str, str]:
    """Of our own environment, for the engine: the image has PATH, HOME and libraries of its own."""
    return {name: value for name, value in ours.items() if name.upper() in _PROXIES}


def for_cli(ours: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in ours.items() if name.startswith(_OF_CLI)}


# --- other calls


def stop(cli: str, name: str, grace_seconds: float) -> list[str]:
    return [cli, "stop", "--time", str(max(round(grace_seconds), 1)), name]


def remove(cli: str, name: str) -> list[str]:
    return [cli, "rm", "--force", name]


def attach(cli: str, name: str) -> list[str]:
    return [cli, "attach", "--no-stdin", name]


def ours(cli: str, worker_uid: str, *, running: bool) -> list[str]:
    """One name per line."""
    label = ("--filter", f"label={WORKER_LABEL}={worker_uid}", "--format", "{{.Names}}")
    return [cli, "ps", *(() if running else ("--all",)), *label]


def has_image(cli: str, image: str) -> list[str]:
    return [cli, "image", "inspect", "--format", "{{.Id}}", image]


def pull(cli: str, image: str) -> list[str]:
    return [cli, "pull", image]


def read(cli: str, image: str, path: str) -> list[str]:
    """A file of an image."""
    return [cli, "run", "--rm", "--pull", "never", "--network", "none", "--entrypoint", "cat", image, path]
