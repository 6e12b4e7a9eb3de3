"""What is to be placed: a model, the engine for it, and the options; and what the engine says it needs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backends.base import Backend, Estimate, Extent, Want
from gpustack_lite.domain import Claim, Device, DeviceKind, ModelFacts, Options
from gpustack_lite.errors import Refusal
from gpustack_lite.planning.learning import Lesson, key_of, learned, lessons_for
from scheduler import Node

CONTEXT_OPTIONS = ("max-model-len", "context-length", "max-seq-len", "ctx-size", "maxSeqLen")
"""How engines spell the longest context of one request, the first that an engine knows is ours to set."""
TENSOR_OPTIONS = ("tensor-parallel-size", "tp-size", "tp")


@dataclass(frozen=True, slots=True)
class Subject:
    """`name` is what the user calls the backend: that of a custom one differs from `backend.name`."""

    source: str
    facts: ModelFacts | None
    backend: Backend
    name: str
    options: Options = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    """One of each kind, chip and size that there is."""
    picked_count: int | None = None
    """How many devices were chosen by hand."""
    builds: tuple[str, ...] = ()
    """Versions of the engine of which one will run it, as far as that is known."""
    lessons: Mapping[str, Lesson] = field(default_factory=dict)
    """By `learning.key_of`: what earlier loads of this source took."""
    build_kinds: frozenset[DeviceKind] = frozenset()
    """As `Want.build_kinds`."""
    extent: Extent = field(default_factory=Extent)
    """As `Want.extent`."""
    trust_remote_code: bool = False
    allow_pickle: bool = False

    def estimates(self) -> tuple[Estimate, ...]:
        """With what earlier loads of the same taught.

        Raises:
            Refusal: the engine cannot say what it needs, or it fits on no device that there is.
        """
        want = Want(self.options, self.devices, self.picked_count, self.build_kinds, self.extent)
        found = self.backend.estimates(self.facts, want)
        if not self.lessons:
            return found
        keys = [[self.key_of(each, build) for build in self.builds] for each in found]
        return learned(found, [lessons_for(each, self.lessons) for each in keys])

    def key_of(self, found: Estimate, build: str) -> str:
        return key_of(self.source, self.facts, found, backend=self.name, options=self.options, version=build)

    def claims(self) -> tuple[Claim, ...]:
        """Empty where the engine refuses."""
        try:
            return tuple(each.claim for each in self.estimates())
        except Refusal:
            return ()

    def changed(self, **options: object) -> "Subject":
        """With other options; None takes one away."""
        merged = {key: value for key, value in {**self.options, **options}.items() if value is not None}
        return replace(self, options=merged)

    @property
    def context_option(self) -> str | None:
        return _first_known(self.backend, CONTEXT_OPTIONS)

    @property
    def tensor_option(self) -> str | None:
        return _first_known(self.backend, TENSOR_OPTIONS)

    def given(self, names: Iterable[str]) -> Mapping[str, object]:
        return {name: self.options[name] for name in names if name in self.options}


def extent(devices: Iterable[Sequence[DeviceKind | str]]) -> Extent:
    """Of workers, each by the kinds of its devices."""
    counts = [count for kinds in devices if (count := len(kinds) - kinds.count("cpu"))]
    return Extent(len(counts), max(counts, default=None))


def examples(nodes: Iterable[Node]) -> tuple[Device, ...]:
    """One device of each kind, chip and size."""
    found: dict[tuple[str, str, int], Device] = {}
    for node in nodes:
        for each in node.devices:
            found.setdefault((each.kind, each.chip, each.memory_total_bytes or 0), each)
    return tuple(found[key] for key in sorted(found))


def _first_known(backend: Backend, names: Iterable[str]) -> str | None:
    known = {option.name for option in backend.known_options}
    return next((name for name in names if name in known), None)
