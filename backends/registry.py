"""Finds backends by name: our own, those that other packages register, and those that operators describe."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from backends.base import Backend
from gpustack_lite.domain import Device, ModelFacts, Sentence
from gpustack_lite.errors import NotFound, Refusal

GROUP = "gpustack_lite.backends"
BUILTIN: Mapping[str, str] = MappingProxyType(
    {
        "llama_cpp": "backends.llama_cpp:LLAMA_CPP",
        "custom": "backends.custom:CUSTOM",
        "echo": "backends.echo:ECHO",
        "vllm": "backends.vllm:VLLM",
        "vllm_ascend": "backends.vllm_ascend:VLLM_ASCEND",
        "mindie": "backends.mindie:MINDIE",
        "sglang": "backends.sglang:SGLANG",
        "speech": "backends.speech:SPEECH",
        "transformers": "backends.transformers:TRANSFORMERS",
        "diffusers": "backends.diffusers:DIFFUSERS",
    }
)
"""The same as our own entry points, so that a source tree works without being installed."""

ALONE: Mapping[str, str] = MappingProxyType({"PiperVoice": "speech", "WhisperCTranslate2": "speech"})
"""What only one of our engines serves."""

_FOREIGN_FAULTS = (
    ImportError,
    SyntaxError,
    NameError,
    AttributeError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
    OSError,
)


@dataclass(frozen=True, slots=True)
class Registry:
    """`faults` says which foreign backends could not be loaded, and why; the others work all the same."""

    backends: Mapping[str, Backend]
    faults: tuple[Sentence, ...] = field(default=())


@cache
def registry() -> Registry:
    return load(entry_points(group=GROUP))


def load(foreign: Iterable[EntryPoint]) -> Registry:
    """Our own backends first; a foreign one may neither replace them nor bring the platform down."""
    found: dict[str, Backend] = {name: _builtin(target) for name, target in BUILTIN.items()}
    faults: list[Sentence] = []
    for point in foreign:
        if BUILTIN.get(point.name) == point.value:
            continue
        try:
            found[point.name] = _foreign(point, taken=point.name in found)
        except Refusal as refusal:
            faults.append(refusal.sentence)
    return Registry(MappingProxyType(found), tuple(faults))


def find(name: str) -> Backend:
    """Raises:
    NotFound: no such backend.
    """
    backend = registry().backends.get(name)
    if backend is None:
        raise NotFound("backend", name)
    return backend


def names() -> tuple[str, ...]:
    return tuple(registry().backends)


def faults() -> tuple[Sentence, ...]:
    return registry().faults


def choose(
    facts: ModelFacts | None, source: str, devices: Sequence[Device] = (), offered: Collection[str] = ()
) -> Backend:
    """The backend for a model whose user named none, by its format and by the devices that are there.

    `offered` are the backends that some worker can run: vLLM needs no accelerator where it is one of them.

    Raises:
        Refusal: `no_backend_for_model` or `no_engine_for_directory`.
    """
    if facts is not None and facts.format == "gguf":
        return find("llama_cpp")
    if facts is not None and (alone := ALONE.get(facts.architecture or "")):
        return find(alone)
    if facts is not None and facts.kind == "image":
        return find("diffusers")
    if facts is not None and facts.format == "hf":
        return find(_for_directory({each.kind for each in devices}, source, offered))
    raise Refusal("no_backend_for_model", param="backend", source=source, names=", ".join(names()))


def _for_directory(kinds: Collection[str], source: str, offered: Collection[str]) -> str:
    able = [name for name, kind in (("vllm_ascend", "ascend"), ("vllm", "cuda")) if kind in kinds]
    ready = [name for name in able if name in offered] or able or [name for name in ("vllm",) if name in offered]
    if not ready:
        raise Refusal("no_engine_for_directory", param="backend", source=source)
    return ready[0]


def with_custom(spec: Mapping[str, object]) -> Backend:
    """The backend that an operator described (`backends create`).

    Raises:
        Refusal: the first thing in the description that does not hold.
    """
    from backends.custom import from_spec

    return from_spec(spec)


def _builtin(target: str) -> Backend:
    module, _, attribute = target.partition(":")
    backend: Backend = getattr(import_module(module), attribute)
    return backend


def _foreign(point: EntryPoint, *, taken: bool) -> Backend:
    where = point.dist.name if point.dist else point.value
    if taken:
        raise Refusal("backend_name_taken", name=point.name, where=where)
    loaded = _loaded(point.load, point.name, where)
    if not isinstance(loaded, Backend):
        raise Refusal("backend_not_loadable", name=point.name, where=where, why=type(loaded).__name__)
    return loaded


def _loaded(load_it: Callable[[], object], name: str, where: str) -> object:
    try:
        return load_it()
    except _FOREIGN_FAULTS as error:
        why = f"{type(error).__name__}: {error}"
        raise Refusal("backend_not_loadable", name=name, where=where, why=why) from error
