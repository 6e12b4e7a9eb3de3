"""The shared nouns of the platform as frozen values. Sizes are bytes; None means unknown and is never zero."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

DeviceKind = Literal["ascend", "cuda", "rocm", "cpu"]
Health = Literal["ok", "warning", "alarm", "critical", "unknown"]
Params = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One thing to tell a person: a code of `gpustack_lite.messages` and the values that fill it."""

    code: str
    params: Params = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator, or the CPU, of a worker. `index` is what the engine must be told."""

    worker: str
    index: int
    kind: DeviceKind
    chip: str
    memory_total_bytes: int | None
    memory_used_bytes: int | None = None
    physical_id: int | None = None
    serial: str | None = None
    health: Health = "unknown"
    schedulable: bool = True
    utilization: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    simulated: bool = False

    @property
    def address(self) -> str:
        return f"{self.worker}:{self.index}"


@dataclass(frozen=True, slots=True)
class Claim:
    """What one replica asks for. `device_count` 0 means that it runs on the CPU."""

    device_count: int = 0
    bytes_per_device: int = 0
    ram_bytes: int = 0
    device_kinds: frozenset[DeviceKind] = frozenset({"cpu"})


@dataclass(frozen=True, slots=True)
class Part:
    """The share of a placement that one worker carries; `devices` are indices."""

    worker: str
    devices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a replica was put. The first part leads; today there is exactly one."""

    parts: tuple[Part, ...]
    claim: Claim

    @property
    def leader(self) -> Part:
        return self.parts[0]

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(f"{part.worker}:{index}" for part in self.parts for index in part.devices)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one worker cannot take a claim: the first failing check and its numbers."""

    worker: str | None
    check: str
    code: str
    params: Params = field(default_factory=dict)
    needed_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """What a person could change; `change` is a merge patch of the model, empty where no patch helps."""

    code: str
    params: Params = field(default_factory=dict)
    change: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """A normal answer of `place`: nowhere now, and why."""

    reasons: tuple[Reason, ...]
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementWish:
    """What the user asked of the scheduler."""

    strategy: Literal["spread", "binpack"] = "spread"
    worker_labels: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a header says about a model. `format` is "gguf", "hf" (a directory with config.json) or "none"."""

    format: Literal["gguf", "hf", "none"]
    path: str
    size_bytes: int
    architecture: str | None = None
    name: str | None = None
    parameter_count: int | None = None
    quantization: str | None = None
    layer_count: int | None = None
    embedding_length: int | None = None
    head_count: int | None = None
    kv_head_counts: tuple[int, ...] = ()
    key_length: int | None = None
    value_length: int | None = None
    vocab_size: int | None = None
    trained_context_length: int | None = None
    sliding_window: int | None = None
    weights_bytes: int | None = None
    has_chat_template: bool | None = None
    sliding_window_layer_count: int | None = None
    """How many layers keep only `sliding_window` tokens; None where nobody says: then all count in full."""
    feed_forward_length: int | None = None
    state_bytes_per_sequence: int = 0
    """What recurrent layers (Mamba, RWKV) keep per sequence, whatever its length."""
    pooling: str | None = None
    """For an embedding or reranking model rather than one that generates text: none, mean, cls, last or rank."""
    repack_extra_bytes: int = 0
    """What llama.cpp on a CPU needs beyond the weights to hold them re-ordered."""


@dataclass(frozen=True, slots=True)
class Memory:
    """An estimate by term, in bytes, for one replica over all its devices."""

    weights_bytes: int
    kv_bytes_per_token: int
    kv_bytes: int
    activation_bytes: int
    overhead_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.weights_bytes + self.kv_bytes + self.activation_bytes + self.overhead_bytes


@dataclass(frozen=True, slots=True)
class HttpProbe:
    """GET `path` on the engine's port; ready on 200. The deadline grows with the bytes to read (worker.probe)."""

    path: str = "/health"
    deadline_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """Everything a runtime needs to start an engine. `files` are written below `workdir` with mode 0600."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    port: int
    workdir: str
    probe: HttpProbe = HttpProbe()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BackendVersion:
    """One runnable build of a backend on a worker. `python` and `executable` are absolute paths once installed."""

    backend: str
    version: str
    device_kinds: frozenset[DeviceKind]
    source: Literal["wheel", "path", "builtin"]
    installed: bool
    executable: str | None = None
    requirement: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request as the engine counted them; None where the engine did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


Options = Mapping[str, object]
Addresses = Sequence[str]
