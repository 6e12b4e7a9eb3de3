"""A backend that an operator describes: a command template, a claim and a probe."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from backends.base import Backend, Estimate, Option, Placed, Team, Want
from backends.failures import COMMON, first_known
from backends.options import LONGEST_VALUE, check_env
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    Claim,
    Device,
    DeviceKind,
    HttpProbe,
    LaunchSpec,
    ModelFacts,
    Options,
    Sentence,
    Spelling,
)
from gpustack_lite.errors import Refusal

PLACEHOLDERS = frozenset(
    {
        *("port", "model_path", "model_name", "devices", "tensor_parallel_size", "context_length", "options"),
        *("rank", "ranks", "leader_address", "leader_port", "members"),
    }
)
"""The last row is for a replica that several workers carry."""
VISIBLE_DEVICES: Mapping[DeviceKind, tuple[str, ...]] = {
    "ascend": ("ASCEND_RT_VISIBLE_DEVICES",),
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("HIP_VISIBLE_DEVICES",),
    "dcu": ("HIP_VISIBLE_DEVICES",),
    "mlu": ("MLU_VISIBLE_DEVICES",),
    "musa": ("CUDA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES"),
    "corex": ("CUDA_VISIBLE_DEVICES",),
    "maca": ("CUDA_VISIBLE_DEVICES",),
    "metal": (),
    "cpu": (),
}
"""What each vendor's runtime reads: documentation of CANN, CUDA and ROCm; gpustack-runtime's table for the others.

ROCR_VISIBLE_DEVICES stays unset: ROCm renumbers after it, so that the same numbers in HIP_VISIBLE_DEVICES would name
devices that are no longer there.
"""

_NAME = re.compile(r"^[a-z][a-z0-9_.-]{0,62}$")
_OPTION_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_API_PATH = re.compile(r"^/v[12](/[a-z_]+)+$")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_MOST_ARGUMENTS = 256
_LONGEST_DEADLINE_SECONDS = 24 * 3600.0
_LARGEST_BYTES = 2**50
_MOST_PATHS = 100
_MOST_WORKERS = 64
_KEYS = frozenset({"name", "command", "env", "device_kinds", "probe", "claim", "description", "paths", "reasoning"})


@dataclass(frozen=True, slots=True)
class CustomBackend:
    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    device_kinds: frozenset[DeviceKind] = frozenset({"cpu"})
    probe: HttpProbe = field(default_factory=HttpProbe)
    claim: Claim = field(default_factory=Claim)
    paths: frozenset[str] = frozenset()
    reasoning: Spelling | None = None
    needs_facts: bool = False
    known_options: tuple[Option, ...] = ()

    @property
    def needs_files(self) -> bool:
        return any("{model_path}" in part for part in self.command)

    def versions(self) -> tuple[BackendVersion, ...]:
        return (BackendVersion(self.name, "custom", self.device_kinds, source="builtin", installed=True),)

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        """Raises:
        Refusal: `custom_needs_definition`, `option_*` or `env_*`.
        """
        if not self.command:
            raise Refusal("custom_needs_definition", param="backend")
        if options and not any("{options}" in part for part in self.command):
            raise Refusal("option_unknown_here", param="options", option=next(iter(options)))
        _arguments(options)
        check_env(env)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        self.check(want.options, {})
        return (Estimate(self.claim, None, _context_of(want.options)),)

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        return Abilities(paths=self.paths, spelling=self.reasoning)

    def launch(self, placed: Placed) -> LaunchSpec:
        self.check(placed.options, placed.env)
        values = _values(placed)
        argv = tuple(each for part in self.command for each in _filled(part, values, placed.options))
        return LaunchSpec(
            argv=argv,
            env={"PORT": str(placed.port), **self.env, **placed.env, **visible_devices(placed.devices)},
            port=placed.port,
            workdir=placed.workdir,
            probe=replace(self.probe, path="") if placed.team is not None and placed.team.rank else self.probe,
        )

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(COMMON, log_lines)


def visible_devices(devices: Sequence[Device]) -> dict[str, str]:
    """The variables that confine an engine to its devices."""
    indices = ",".join(device.visible_name for device in devices)
    return {variable: indices for device in devices for variable in VISIBLE_DEVICES[device.kind]}


def from_spec(spec: Mapping[str, object]) -> Backend:
    """Raises:
    Refusal: `custom_*`, with `param` naming the place.
    """
    for key in spec:
        if key not in _KEYS:
            raise _unknown_key(str(key), _KEYS)
    return CustomBackend(
        name=_name(spec.get("name")),
        command=_command(spec.get("command")),
        env=_env(spec.get("env")),
        device_kinds=_kinds(spec.get("device_kinds", ["cpu"])),
        probe=_probe(spec.get("probe")),
        claim=_claim(spec),
        paths=_paths(spec.get("paths")),
        reasoning=_reasoning(spec.get("reasoning")),
    )


def _name(value: object) -> str:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    raise Refusal("custom_name_invalid", param="name", name=str(value))


def _command(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(part, str) for part in value):
        raise Refusal("custom_command_invalid", param="command")
    if len(value) > _MOST_ARGUMENTS or any(len(part) > LONGEST_VALUE or _UNPRINTABLE.search(part) for part in value):
        raise Refusal("custom_command_invalid", param="command")
    if not value[0].strip() or "{" in value[0]:
        raise Refusal("custom_program_invalid", param="command", program=value[0])
    for part in value:
        _check_placeholders(part)
    return tuple(value)


def _check_placeholders(part: str) -> None:
    for match in _PLACEHOLDER.finditer(part):
        text, name = match[0], match[1]
        if text in {"{{", "}}"} or name in PLACEHOLDERS - {"options"}:
            continue
        if name == "options" and part == "{options}":
            continue
        known = ", ".join(f"{{{each}}}" for each in sorted(PLACEHOLDERS))
        raise Refusal("custom_unknown_placeholder", param="command", placeholder=text, argument=part, known=known)


def _env(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for pair in value.items() for each in pair):
        raise Refusal("custom_env_invalid", param="env")
    check_env(value)
    return dict(value)


def _kinds(value: object) -> frozenset[DeviceKind]:
    known = get_args(DeviceKind)
    if not isinstance(value, list | tuple | set | frozenset) or not value or not all(each in known for each in value):
        raise Refusal("custom_kinds_invalid", param="device_kinds", known=", ".join(known))
    return frozenset(value)


def _paths(value: object) -> frozenset[str]:
    """What the engine serves; without it every path that clients may ask for is passed on, and the engine decides."""
    if value is None:
        return frozenset()
    is_list = isinstance(value, list | tuple) and 0 < len(value) <= _MOST_PATHS
    if not is_list or not all(isinstance(each, str) and _API_PATH.fullmatch(each) for each in value):  # type: ignore[attr-defined]
        raise Refusal("custom_paths_invalid", param="paths")
    return frozenset(value)  # type: ignore[call-overload,no-any-return]


def _reasoning(value: object) -> Spelling | None:
    if value is None or value in get_args(Spelling):
        return value  # type: ignore[return-value]
    raise Refusal("custom_reasoning_invalid", param="reasoning", known=", ".join(get_args(Spelling)))


def _probe(value: object) -> HttpProbe:
    made = _mapping(value, "probe", {"path", "deadline_seconds"})
    path = made.get("path", "/health")
    deadline = made.get("deadline_seconds", 60.0)
    if not isinstance(path, str) or not path.startswith("/") or _UNPRINTABLE.search(path) or " " in path:
        raise Refusal("custom_probe_path_invalid", param="probe.path", path=str(path))
    if isinstance(deadline, bool) or not isinstance(deadline, int | float):
        raise _bad_number("probe.deadline_seconds", deadline, least=1, most=_LONGEST_DEADLINE_SECONDS)
    if not 1 <= deadline <= _LONGEST_DEADLINE_SECONDS:
        raise _bad_number("probe.deadline_seconds", deadline, least=1, most=_LONGEST_DEADLINE_SECONDS)
    return HttpProbe(path, float(deadline))


def _claim(spec: Mapping[str, object]) -> Claim:
    made = _mapping(spec.get("claim"), "claim", {"device_count", "bytes_per_device", "ram_bytes", "worker_count"})
    device_count = _size(made, "device_count", most=1024)
    kinds = _kinds(spec.get("device_kinds", ["cpu"]))
    if device_count and kinds == {"cpu"}:
        raise Refusal("custom_claim_without_kind", param="device_kinds", count=device_count)
    return Claim(
        device_count=device_count,
        bytes_per_device=_size(made, "bytes_per_device", most=_LARGEST_BYTES),
        ram_bytes=_size(made, "ram_bytes", most=_LARGEST_BYTES),
        device_kinds=kinds - {"cpu"} if device_count else kinds,
        worker_count=_size({"worker_count": 1, **made}, "worker_count", most=_MOST_WORKERS, least=1),
    )


def _size(made: Mapping[str, object], key: str, *, most: int, least: int = 0) -> int:
    value = made.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _bad_number(f"claim.{key}", value, least=least, most=most)
    return value


def _mapping(value: object, where: str, known: set[str]) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Refusal("custom_not_a_mapping", param=where, where=where)
    for key in value:
        if key not in known:
            raise _unknown_key(f"{where}.{key}", known)
    return value


def _unknown_key(where: str, known: Iterable[str]) -> Refusal:
    return Refusal("custom_unknown_key", param=where, where=where, known=", ".join(sorted(known)))


def _bad_number(where: str, value: object, *, least: float, most: float) -> Refusal:
    return Refusal(
        "custom_number_invalid", param=where, where=where, value=str(value)[:80], least=int(least), most=int(most)
    )


def _values(placed: Placed) -> dict[str, str | None]:
    return {
        "port": str(placed.port),
        "model_path": placed.source_path,
        "model_name": placed.model_name,
        "devices": ",".join(str(device.index) for device in placed.devices),
        "tensor_parallel_size": str(max(len(placed.devices), 1)),
        "context_length": None if placed.context_length is None else str(placed.context_length),
        **_of_team(placed.team),
    }


def _of_team(team: Team | None) -> dict[str, str]:
    """Of one worker alone, a team of one."""
    if team is None:
        return {"rank": "0", "ranks": "1", "leader_address": "127.0.0.1", "leader_port": "0", "members": "127.0.0.1"}
    return {
        "rank": str(team.rank),
        "ranks": str(len(team.mates)),
        "leader_address": team.leader.address,
        "leader_port": str(team.port),
        "members": ",".join([each.address for each in team.mates]),
    }


def _filled(part: str, values: Mapping[str, str | None], options: Options) -> tuple[str, ...]:
    """Raises:
    Refusal: `custom_value_missing` where the template needs what this model does not have.
    """
    if part == "{options}":
        return _arguments(options)

    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        value = values[match[1]]
        if value is None:
            raise Refusal("custom_value_missing", param="backend", placeholder=match[0], argument=part)
        return value

    return (_PLACEHOLDER.sub(fill, part),)


def _arguments(options: Options) -> tuple[str, ...]:
    """{"max-len": 5, "fast": true, "slow": false} -> --max-len 5 --fast; a list repeats its flag's values."""
    return tuple(each for name, value in options.items() for each in _argument(name, value))


def _argument(name: str, value: object) -> tuple[str, ...]:
    if not _OPTION_NAME.fullmatch(name):
        raise Refusal("option_unknown_here", param="options", option=name)
    if value is None or value is False:
        return ()
    if value is True:
        return (f"--{name}",)
    values = value if isinstance(value, list | tuple) else (value,)
    for each in values:
        if isinstance(each, bool) or not isinstance(each, str | int | float) or _is_wild(str(each)):
            raise Refusal(
                "option_invalid", param=f"options.{name}", option=name, value=repr(each)[:200], expected="text | number"
            )
    return (f"--{name}", *(str(each) for each in values))


def _is_wild(text: str) -> bool:
    return len(text) > LONGEST_VALUE or "\0" in text


def _context_of(options: Options) -> int | None:
    value = options.get("max-model-len")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


CUSTOM: Backend = CustomBackend(name="custom", command=())
"""The nameless template; what runs is always made by `from_spec`."""
