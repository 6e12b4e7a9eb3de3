"""cluster.yaml and workload.yaml: workers and models that are only described. What is wrong is told with its line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import yaml

from gpustack_lite import yaml_text
from gpustack_lite.chips import parse_spec
from gpustack_lite.cli.scenery import node_of, subject_of, wish_of
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.config_facts import facts_of_config
from gpustack_lite.planning.capacity import Traffic, Wanted
from scheduler import Node
from worker.devices.declared import Declaration, parse_document

_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?$", re.IGNORECASE)
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SAID = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<where>[^`]*)`)?$")
_FIELD = re.compile(r"^Object (?P<kind>contains unknown|missing required) field `(?P<field>[^`]*)`$")
T = TypeVar("T")
MOST_REPLICAS = 1000
"""Of one model, as the API has it."""
Name = Annotated[str, msgspec.Meta(min_length=1)]
Address = Annotated[str, msgspec.Meta(pattern=r"^.+:[0-9]+$")]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class WorkerSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`count` alike are named NAME-1 and so on. `devices` is a SPEC, or a list of chip, count and memory."""

    devices: str | list[Any]
    name: Name = "w"
    count: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    ram: str | None = None
    disk: str | None = None
    labels: dict[str, str] = {}
    backends: list[str] = []


class ClusterSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    workers: list[WorkerSpec]


class MeasuredSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Tokens per second of one replica, over all its requests."""

    prompt_tokens_per_second: Positive | None = None
    output_tokens_per_second: Positive | None = None


class TrafficSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    requests_per_second: Amount
    prompt_tokens: Amount = 0
    output_tokens: Amount = 0
    ttft_seconds: Positive | None = None
    measured: MeasuredSpec = MeasuredSpec()


class PlacementSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    strategy: Literal["spread", "binpack"] = "spread"
    worker_labels: dict[str, str] = {}
    devices: list[Address] = []
    workers: list[str] = []
    chips: list[str] = []
    apart: bool = False
    share_chips: bool = False
    priority: Annotated[int, msgspec.Meta(ge=-1000, le=1000)] = 0


class ModelSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`config` are the fields of a config.json, in place of a `source`."""

    name: Name
    source: str | None = None
    config: dict[str, Any] | None = None
    backend: str | None = None
    replicas: Annotated[int, msgspec.Meta(ge=0, le=MOST_REPLICAS)] | None = None
    options: dict[str, Any] = {}
    placement: PlacementSpec = PlacementSpec()
    traffic: TrafficSpec | None = None


class WorkloadSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    models: list[ModelSpec]


class Written:
    """A YAML file, its content and where in it each part stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = path.read_text(encoding="utf-8")
            self.content = yaml_text.parsed(self._text)
            self._tree = yaml.compose(self._text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise Refusal("scenario_no_yaml", path=str(path), line=line, why=error.problem) from error
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise Refusal("scenario_unreadable", path=str(path), why=str(error)) from error

    def as_(self, kind: type[T]) -> T:
        """Raises:
        Refusal: `scenario_unknown_field`, `scenario_missing_field` or `scenario_wrong_kind`, with line and place.
        """
        try:
            return msgspec.convert(self.content, kind)
        except msgspec.ValidationError as error:
            raise self._refusal(str(error)) from error

    def wrong(self, code: str, where: str, **params: Any) -> Refusal:
        return Refusal(code, path=str(self.path), line=self.line(where), where=where.lstrip(".") or "/", **params)

    def line(self, where: str) -> int:
        """Of the part at ".models[0].replicas"; of the nearest around it that is there."""
        node = self._tree
        line = 1 if node is None else node.start_mark.line + 1
        for step in re.findall(r"[^.\[\]]+", where):
            node = _child(node, step)
            if node is None:
                break
            line = node.start_mark.line + 1
        return line

    def _refusal(self, said: str) -> Refusal:
        match = _SAID.match(said)
        what, where = (match["what"], match["where"] or "") if match else (said, "")
        field = _FIELD.match(what)
        if field is None:
            return self.wrong("scenario_wrong_kind", where, why=what)
        if field["kind"].startswith("missing"):
            return self.wrong("scenario_missing_field", where, field=field["field"])
        known = ", ".join(sorted(_known_at(where)))
        return self.wrong("scenario_unknown_field", f"{where}.{field['field']}", field=field["field"], known=known)


def _child(node: Any, step: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        return node.value[int(step)]
    return None


_KINDS: Mapping[str, type[msgspec.Struct]] = {
    ".workers": WorkerSpec,
    ".models": ModelSpec,
    ".models.placement": PlacementSpec,
    ".models.traffic": TrafficSpec,
    ".models.traffic.measured": MeasuredSpec,
}


def _known_at(where: str) -> tuple[str, ...]:
    kind = _KINDS.get(re.sub(r"\[[^\]]*\]", "", where))
    return ("models", "workers") if kind is None else kind.__struct_fields__


def cluster(path: Path) -> tuple[Node, ...]:
    written = Written(path)
    found = [node for at, each in enumerate(written.as_(ClusterSpec).workers) for node in _nodes(written, each, at)]
    _must_differ(written, [node.name for node in found], "workers")
    return tuple(found)


def _nodes(written: Written, spec: WorkerSpec, at: int) -> Iterator[Node]:
    where = f".workers[{at}]"
    ram, disk = _bytes(written, spec.ram, f"{where}.ram"), _bytes(written, spec.disk, f"{where}.disk")
    if isinstance(spec.devices, str):
        declared = Declaration(parse_spec(spec.devices), ram_bytes=ram)
    else:
        parsed = parse_document({"devices": spec.devices}, f"{written.path}, line {written.line(where)}")
        declared = Declaration(parsed.declared, ram_bytes=ram)
    for number in range(1, spec.count + 1):
        name = spec.name if spec.count == 1 else f"{spec.name}-{number}"
        yield node_of(declared, name, spec.labels, disk, frozenset(spec.backends))


def _bytes(written: Written, text: str | None, where: str) -> int | None:
    if text is None:
        return None
    match = _SIZE.match(text.strip()[:40])
    if match is None:
        raise written.wrong("scenario_wrong_size", where)
    return int(float(match[1]) * _UNITS[match[2].upper()])


def workload(path: Path, nodes: Sequence[Node]) -> tuple[Wanted, ...]:
    written = Written(path)
    specs = written.as_(WorkloadSpec).models
    _must_differ(written, [each.name for each in specs], "models")
    return tuple(_wanted(written, each, at, nodes) for at, each in enumerate(specs))


def _wanted(written: Written, spec: ModelSpec, at: int, nodes: Sequence[Node]) -> Wanted:
    """A source is looked for beside the file that names it."""
    if spec.source is None and spec.config is None:
        raise written.wrong("scenario_no_source", f".models[{at}]")
    placement = msgspec.structs.asdict(spec.placement)
    source = spec.name if spec.source is None else _beside(written.path, spec.source)
    known = None if spec.config is None else facts_of_config(spec.config, spec.name)
    body = {"source": source, "backend": spec.backend, "options": spec.options, "placement": placement}
    subject = subject_of(body, nodes, known)
    wanted = Wanted(spec.name, subject, spec.replicas, wish_of(placement), _traffic(spec.traffic))
    if wanted.count > MOST_REPLICAS:
        where = f".models[{at}].traffic"
        raise written.wrong("scenario_too_many_replicas", where, replica_count=wanted.count, most=MOST_REPLICAS)
    return wanted


def _beside(path: Path, source: str) -> str:
    return source if source.endswith(":") else str(path.parent / source)


def _traffic(spec: TrafficSpec | None) -> Traffic | None:
    if spec is None:
        return None
    return Traffic(
        spec.requests_per_second,
        spec.prompt_tokens,
        spec.output_tokens,
        spec.ttft_seconds,
        spec.measured.prompt_tokens_per_second,
        spec.measured.output_tokens_per_second,
    )


def _must_differ(written: Written, names: Sequence[str], field: str) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise written.wrong("scenario_two_names", f".{field}[{at}]", name=name)
