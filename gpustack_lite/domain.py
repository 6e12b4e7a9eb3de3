"""The shared nouns of the platform as frozen values. Sizes are bytes; None means unknown and is never zero."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gpustack_lite.recipes import Recipe

DeviceKind = Literal["ascend", "cuda", "rocm", "dcu", "mlu", "musa", "corex", "maca", "metal", "cpu"]
"""Huawei, NVIDIA, AMD, Hygon, Cambricon, Moore Threads, Iluvatar, MetaX, Apple, and the CPU."""
ModelKind = Literal["llm", "vlm", "embedding", "reranker", "classifier", "audio", "image", "unknown"]
LayerKind = Literal["full", "sliding", "latent", "recurrent", "none"]
WeightRole = Literal[
    "embedding", "output", "attention", "latent_attention", "feed_forward", "experts", "vision", "draft", "other"
]
Health = Literal["ok", "warning", "alarm", "critical", "unknown"]
Source = Literal["wheel", "path", "builtin", "venv", "image"]
"""Of a build of an engine: ours by its wheel, found here, part of this program, made by a recipe, or a container's."""
Spelling = Literal["reasoning_content", "reasoning"]
Params = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One thing to tell a person: a code of `gpustack_lite.messages` and the values that fill it."""

    code: str
    params: Params = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeviceProcess:
    """A process on a device as its tool tells it: the name is cut and may be empty."""

    pid: int
    name: str = ""
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why nothing new is placed on a device: a person's cordon, with the name and a note, or its fault's code."""

    why: Literal["cordoned", "isolated"]
    by: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator, or the CPU, of a worker. `index` is what the engine must be told, unless `visible_as` is set."""

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
    group: str | None = None
    """Devices of one worker with the same group reach each other fastest (HCCS ring, NVLink island, one Duo card)."""
    numa: int | None = None
    unified_memory: bool = False
    """Whether its memory is the machine's RAM: what the device takes is missing there."""
    visible_as: str | None = None
    """What the engine must be told where that is no index: the UUID of a MIG slice, the index of a second vendor."""
    compute_capability: str | None = None
    """Of NVIDIA's, such as 8.0: which builds of engines and which data types it can run."""
    error_codes: tuple[str, ...] = ()
    """As the device's tool spells them, such as 80E01801; empty where it tells none."""
    processes: tuple[DeviceProcess, ...] = ()
    withheld: Withheld | None = None

    @property
    def visible_name(self) -> str:
        return str(self.index) if self.visible_as is None else self.visible_as

    @property
    def address(self) -> str:
        return f"{self.worker}:{self.index}"


@dataclass(frozen=True, slots=True)
class Claim:
    """What one replica asks for, of each of its `worker_count` workers. `device_count` 0: it runs on the CPU.

    `chips` empty means any chip of the kinds. `disk_bytes` is what has to be brought to a worker that lacks it.
    """

    device_count: int = 0
    bytes_per_device: int = 0
    ram_bytes: int = 0
    device_kinds: frozenset[DeviceKind] = frozenset({"cpu"})
    worker_count: int = 1
    chips: frozenset[str] = frozenset()
    disk_bytes: int = 0
    may_share: bool = False
    """Whether it may enter a device of a whole-chip kind beside other claims that may share, by bytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """The share of a placement that one worker carries; `devices` are indices."""

    worker: str
    devices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a replica was put. The first part leads, the others follow."""

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
    workers: tuple[str, ...] = ()
    """Names; empty is any."""
    chips: tuple[str, ...] = ()
    apart: bool = False
    """No two replicas of the model on one worker."""
    share_chips: bool = False
    priority: int = 0
    """Higher goes first in a round; nothing that runs is ended for it unless a person says so."""


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers alike in what they keep: per token and KV head a key and a value, or a latent, or a state per sequence.

    `window` is set for sliding layers, `latent_length` (kv_lora_rank + qk_rope_head_dim) for latent ones, and
    `state_bytes` for recurrent ones; lengths are elements.
    """

    count: int
    kind: LayerKind = "full"
    kv_heads: int = 0
    key_length: int = 0
    value_length: int = 0
    window: int | None = None
    latent_length: int = 0
    state_bytes: int = 0


@dataclass(frozen=True, slots=True)
class WeightGroup:
    """Weights that engines spread over their ranks in the same way; `dtype` as the header spells it."""

    role: WeightRole
    size_bytes: int
    parameter_count: int = 0
    dtype: str = ""


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
    template_takes_tools: bool | None = None
    template_reasons: bool | None = None
    """Whether the chat template speaks of thinking apart from answering."""
    template_signs: tuple[str, ...] = ()
    """Marks and variables of the chat template by which families are told apart (hub.templates.SIGNS)."""
    sliding_window_layer_count: int | None = None
    """How many layers keep only `sliding_window` tokens; None where nobody says: then all count in full."""
    feed_forward_length: int | None = None
    state_bytes_per_sequence: int = 0
    """What recurrent layers (Mamba, RWKV) keep per sequence, whatever its length."""
    pooling: str | None = None
    """For an embedding or reranking model rather than one that generates text: none, mean, cls, last or rank."""
    repack_extra_bytes: int = 0
    """What llama.cpp on a CPU holds beyond the weights where it re-orders them: a tied embedding is there twice."""
    repack_bytes: int = 0
    """How many bytes of the weights are re-ordered, that embedding counted twice."""
    kind: ModelKind = "unknown"
    layers: tuple[LayerGroup, ...] = ()
    weights: tuple[WeightGroup, ...] = ()
    weights_from: Literal["headers", "files", "config"] | None = None
    """How exact `weights` are: from tensor headers, from the sizes of files, or computed from config.json alone."""
    dtype: str | None = None
    """In which the model computes, such as "bfloat16"."""
    quantization_method: str | None = None
    """As config.json or a ModelSlim description names it: fp8, awq, gptq, compressed-tensors, ascend, mxfp4."""
    is_tied: bool = False
    """Whether the output layer is the embedding."""
    expert_count: int = 0
    experts_per_token: int = 0
    vision_head_count: int | None = None
    runs_code: bool = False
    """Whether config.json names code of its own (auto_map): no engine runs it without being told to."""
    has_pickle: bool = False
    download_bytes: int | None = None
    revision: str | None = None
    """The commit of the repository that all this was read from."""
    files: tuple[str, ...] = ()
    """Of a repository, the weights that were chosen; at most ten names."""
    layer_bytes: tuple[int, ...] = ()
    """Of a GGUF file: the weights of each repeating layer, in order."""
    output_bytes: int | None = None
    """Of a GGUF file: its output matrix, or the embedding that stands in for it."""
    unknown: tuple[str, ...] = ()
    """What could not be learned, by the name it has in the model's files."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of an estimate: its code (messages), its bytes on the fullest device, and what it was made of."""

    code: str
    size_bytes: int
    params: Params = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Memory:
    """An estimate by term, in bytes, for one replica over all its devices. `terms` say the same of one device."""

    weights_bytes: int
    kv_bytes_per_token: int
    kv_bytes: int
    activation_bytes: int
    overhead_bytes: int
    terms: tuple[Term, ...] = ()
    is_measured: bool = False
    """From an earlier load of the same model, options, engine version and chip."""
    measured_on: str | None = None
    """The worker of that load."""
    measured_at: str | None = None

    @property
    def total_bytes(self) -> int:
        return self.weights_bytes + self.kv_bytes + self.activation_bytes + self.overhead_bytes


@dataclass(frozen=True, slots=True)
class Allocated:
    """What an engine says that it allocated; on several devices of the fullest one. None: it did not say."""

    weights_bytes: int | None = None
    kv_bytes: int | None = None
    kv_bytes_per_token: int | None = None
    activation_bytes: int | None = None
    graph_bytes: int | None = None
    overhead_bytes: int | None = None
    bytes_per_device: int | None = None
    """Of the fullest device, where the engine names its devices."""
    ram_bytes: int | None = None
    """In the machine's own memory, buffers alone: the process that holds them is not in it."""
    ready_ram_bytes: int | None = None
    """What they held when the engine had just become ready: of its compute buffers next to nothing was touched yet."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do under one engine, for those who want to know before they ask; None: nobody knows.

    `paths` are the OpenAI and Anthropic paths that the engine serves for this model; empty where nobody knows.
    `spelling` is the key under which the engine says and reads reasoning.
    """

    paths: frozenset[str] = frozenset()
    input_modalities: tuple[str, ...] | None = None
    output_modalities: tuple[str, ...] | None = None
    tools: bool | None = None
    reasoning: bool | None = None
    json_schema: bool | None = None
    embedding_dimensions: int | None = None
    spelling: Spelling | None = None
    adapters: tuple[str, ...] = ()
    """Names of adapters that are loaded beside the weights: clients ask for `model:adapter`."""


@dataclass(frozen=True, slots=True)
class HttpProbe:
    """GET `path`; ready on 200. The deadline grows with the bytes to read (worker.probe).

    Without a path nothing is asked: an engine that serves nobody by itself is ready as long as it runs.
    """

    path: str = "/health"
    deadline_seconds: float = 60.0
    live_path: str | None = None
    """What is asked once it was ready, where that is another question: a busy engine may say that it is not ready."""
    port: int | None = None
    """Where both are asked; None: on the engine's port."""
    busy: frozenset[int] = frozenset()
    """Answers to `live_path` that count as well as 200: it works, and has much to do."""
    dead: frozenset[int] = frozenset()
    """Answers to `live_path` by which the engine itself says that it will not recover."""


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """Everything a runtime needs to start an engine. `files` are written below `workdir` with mode `file_mode`."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    port: int
    workdir: str
    probe: HttpProbe = HttpProbe()
    files: Mapping[str, str] = field(default_factory=dict)
    file_mode: int = 0o600
    more_ports: tuple[int, ...] = ()
    """Further ports that the engine listens on."""
    mirrors: Mapping[str, str] = field(default_factory=dict)
    """Directory below `workdir` -> another one. It gets copies of its small files and links to the rest; `files` may
    lie among them."""
    leaves_out: tuple[str, ...] = ()
    """How names end, in lower case, that a mirror does not get."""
    shared_memory: tuple[str, ...] = ()
    """Patterns of what the engine may leave in /dev/shm."""


@dataclass(frozen=True, slots=True)
class BackendVersion:
    """One runnable build of a backend on a worker. `python` and `executable` are absolute paths once installed."""

    backend: str
    version: str
    device_kinds: frozenset[DeviceKind]
    source: Source
    installed: bool
    executable: str | None = None
    requirement: str | None = None
    """Of a wheel: what is installed; several requirements with spaces between them."""
    recipe: Recipe | None = None
    """Of a build that an administrator asked for."""
    is_default: bool = False


class Usage(NamedTuple):
    """Tokens of one request as the engine counted them; None where the engine did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


Options = Mapping[str, object]
Addresses = Sequence[str]
