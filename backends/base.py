"""What an engine's adapter answers: a protocol of values. Nothing runs here, nothing is read from the machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    Claim,
    Device,
    DeviceKind,
    LaunchSpec,
    Memory,
    ModelFacts,
    Options,
    Sentence,
)

OptionKind = Literal["int", "float", "bool", "str", "choice", "json", "text"]
"""A text may be long and have several lines."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option that a backend knows: the engine's own long flag without the dashes."""

    name: str
    kind: OptionKind
    help: str
    choices: tuple[str, ...] = ()


class Extent(NamedTuple):
    """How many workers have accelerators, and the most that one of them has; None where nobody knows."""

    workers: int = 1
    devices: int | None = None


@dataclass(frozen=True, slots=True)
class Want:
    """What the user asked of the engine, as far as it decides how much memory is needed."""

    options: Options = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    """Examples of what there is, one for each kind, chip and size; engines that reserve a share need the total."""
    device_count: int | None = None
    """How many devices the user picked by hand; None where that is left to us."""
    build_kinds: frozenset[DeviceKind] = frozenset()
    """Kinds for which every worker that has such devices has a build of the engine, as far as that is known."""
    extent: Extent = field(default_factory=Extent)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One way to run a model. `memory` is None where the claim was declared rather than computed.

    `context_length` is what a single request may really use; None where the backend has no such notion.
    """

    claim: Claim
    memory: Memory | None
    context_length: int | None
    parallel: Mapping[str, int] = field(default_factory=dict)
    """Sizes by dimension where there is more than one rank: tensor, pipeline, data, expert."""
    budget_bytes: int | None = None
    """The most that an engine takes of one device which reserves a share; None for one that takes what it needs."""
    device_layers: int | None = None
    """How many layers lie on the device where an engine splits them between it and RAM; None: not split."""


@dataclass(frozen=True, slots=True)
class Mate:
    """One worker of those that carry an instance together, as the others reach it."""

    worker: str
    address: str
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Team:
    """The workers that carry an instance together, the leader first, and which of them this one is.

    `port` is free on the leader's worker in this attempt: there its engine waits for those of the others.
    """

    rank: int
    mates: tuple[Mate, ...]
    port: int

    @property
    def leader(self) -> Mate:
        return self.mates[0]


@dataclass(frozen=True, slots=True)
class Placed:
    """Everything that is decided about one instance when its engine is to be launched.

    `version.executable` is an absolute path: the Python of the engine's environment, or the engine's binary.
    `runner_dir` is the directory of our runner scripts (worker/runners), as an absolute path.
    """

    instance_id: int
    model_name: str
    source_path: str | None
    facts: ModelFacts | None
    options: Options
    env: Mapping[str, str]
    devices: tuple[Device, ...]
    port: int
    workdir: str
    engine_key: str
    context_length: int | None
    cpu_count: int
    version: BackendVersion
    runner_dir: str
    claim: Claim = field(default_factory=Claim)
    device_layers: int | None = None
    """Of `Estimate.device_layers`."""
    more_ports: tuple[int, ...] = ()
    """As many as `Needs.ports` asked for."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What `Needs.texts` named, as far as it could be read."""
    ascend_root: str = "/usr/local/Ascend"
    """Where CANN is installed on this worker."""
    team: Team | None = None
    """None where one worker carries the instance alone."""
    trust_remote_code: bool = False
    """Whether the engine may run code that came with the model."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a backend's `launch` is given beyond the usual.

    `texts`: name -> absolute paths, of which the first that is there is read (up to 10 MiB).
    """

    ports: int = 0
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@runtime_checkable
class HasNeeds(Protocol):
    """A backend may say this too."""

    def needs(self, version: BackendVersion, model_path: str | None) -> Needs: ...


@runtime_checkable
class Renames(Protocol):
    """A backend whose engine does not take every name says under which one it serves a model."""

    def served_name(self, name: str) -> str: ...


@runtime_checkable
class Opens(Protocol):
    """A backend whose options name directories: the worker holds them against its model roots before a launch."""

    def directories(self, options: Options) -> Sequence[str]: ...


@runtime_checkable
class Warns(Protocol):
    """A backend may say what a person should know of a model, its options and chips before it is launched."""

    def cautions(self, facts: ModelFacts, options: Options, chips: Sequence[str]) -> Sequence[Sentence]: ...


@runtime_checkable
class Backend(Protocol):
    """One engine. `paths` are the OpenAI paths that it may serve, such as "/v1/chat/completions"; empty: unknown."""

    @property
    def name(self) -> str: ...
    @property
    def device_kinds(self) -> frozenset[DeviceKind]: ...
    @property
    def paths(self) -> frozenset[str]: ...
    @property
    def needs_facts(self) -> bool:
        """False where a model can be launched without anybody having read its files."""

    @property
    def needs_files(self) -> bool:
        """False where the engine is not told of the model's files, so that its source is only a name."""

    @property
    def known_options(self) -> tuple[Option, ...]:
        """For help texts and forms; other options may still be accepted by `check`."""

    def versions(self) -> tuple[BackendVersion, ...]:
        """What the engine installer can make; the first is the default."""

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        """Raises:
        Refusal: the first option or variable that this backend does not accept, with `param` naming it.
        """

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        """In order of preference, the best first.

        Raises:
            Refusal: `cannot_estimate` where the facts do not say enough, or what `check` raises.
        """

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        """What clients may ask of a model of these facts under these options.

        Raises:
            Refusal: what `check` raises.
        """

    def launch(self, placed: Placed) -> LaunchSpec:
        """`env` of the answer is laid over the runtime's own base environment (PATH, HOME, LANG, ...)."""

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        """What the last lines of an engine's output mean, or None where they say nothing we know."""
