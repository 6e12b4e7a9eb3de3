"""llama.cpp: GGUF models on the CPU, as the xllamacpp wheel under our runner, or as a llama-server on PATH."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from backends import llama_cpp_memory as arithmetic
from backends import llama_cpp_offload as offload
from backends.base import Backend, Estimate, Option, Placed, Want
from backends.custom import VISIBLE_DEVICES
from backends.failures import Failure, first_known
from backends.llama_cpp_options import BINARY_ONLY, FORBIDDEN, KNOWN, LONE_SWITCHES, OURS
from backends.options import OptionValue, check_env, checked
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    Claim,
    DeviceKind,
    HttpProbe,
    LaunchSpec,
    ModelFacts,
    Options,
    Sentence,
)
from gpustack_lite.errors import Refusal

WHEEL_VERSION = "2026.10.11549"
RUNNER = "xllamacpp_server.py"
_OUR_VARIABLES = re.compile(r"^(LLAMA_.*|GGML_BACKEND_PATH|HF_.*)$")
_NO_DEVICES = {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1", "GGML_VK_VISIBLE_DEVICES": ""}
_HTTP_THREADS = 256
"""A waiting request holds one. llama.cpp's own pool grows, but was seen to leave a probe waiting for 20 s meanwhile."""
POOLED = frozenset({"/v1/embeddings", "/v1/rerank"})
_COUNTED = frozenset({"ctx-size", "parallel", "ubatch-size", "batch-size", "embeddings", "reranking"})

_FAILURES = (
    Failure("engine_out_of_memory", r"failed to allocate|insufficient memory|unable to allocate|std::bad_alloc"),
    Failure("engine_unknown_architecture", r"unknown model architecture: '(?P<architecture>[^']*)'"),
    Failure("engine_gguf_version", r"GGUFv1 is no longer supported|this GGUF file is version|unsupported GGUF version"),
    Failure("engine_file_truncated", r"data is not within the file bounds|model is corrupted or incomplete"),
    Failure("engine_file_truncated", r"exceeds remaining file size|failed to read (?:key-value pairs|tensor)"),
    Failure("engine_library_missing", r"(?P<library>\S+\.so\S*): cannot open shared object file"),
    Failure("engine_library_missing", r"the engine's library could not be loaded: (?P<library>.*)"),
    Failure("engine_file_missing", r"failed to open GGUF file"),
    Failure("engine_file_invalid", r"invalid magic|has wrong shape|missing tensor|failed to load model from"),
    Failure("engine_port_in_use", r"couldn't bind|[Aa]ddress already in use|failed to bind"),
    Failure("engine_illegal_instruction", r"[Ii]llegal instruction|SIGILL"),
    Failure(
        "engine_option_refused", r"an option is not valid: |error: (?:unrecognized|invalid) argument|error: argument "
    ),
)
"""Recorded from xllamacpp 2026.10 and llama-server b11434; causes stand before what the engine says in consequence."""


class LlamaCpp:
    name = "llama_cpp"
    device_kinds: frozenset[DeviceKind] = frozenset({"cpu", "cuda", "rocm", "ascend"})
    paths = frozenset(
        {
            "/v1/chat/completions",
            "/v1/completions",
            "/v1/responses",
            "/v1/embeddings",
            "/v1/rerank",
            "/v1/messages",
        }
    )
    needs_facts = True
    needs_files = True
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        return (
            BackendVersion(
                backend=self.name,
                version=WHEEL_VERSION,
                device_kinds=frozenset({"cpu"}),
                source="wheel",
                installed=False,
                requirement=f"xllamacpp=={WHEEL_VERSION}",
            ),
        )

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        checked(options, KNOWN, FORBIDDEN)
        check_env(env, _OUR_VARIABLES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        if facts is None or facts.format != "gguf":
            raise Refusal("cannot_estimate", path=facts.path if facts else None, missing="a GGUF header")
        values = checked(want.options, KNOWN, FORBIDDEN)
        shapes = arithmetic.shapes(facts, values)
        kinds = (want.build_kinds & self.device_kinds) - {"cpu"}  # its memory is RAM, not a device's
        on_devices = offload.estimates(facts, values, shapes, want.devices, kinds)
        return (*on_devices, *(_estimate(facts, values, shape) for shape in shapes))

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        """One model either generates or pools: started for the one, llama-server refuses the other's paths."""
        values = checked(options, KNOWN, FORBIDDEN)
        if facts is None:
            return Abilities(paths=self.paths, input_modalities=("text",), spelling="reasoning_content")
        pooling = arithmetic.pooling_of(facts, values)
        return _generating(facts, values) if pooling is None else _pooling(facts, pooling)

    def launch(self, placed: Placed) -> LaunchSpec:
        """Raises:
        Refusal: `option_needs_binary` for what the wheel's library has no parameter for.
        """
        values = checked(placed.options, KNOWN, FORBIDDEN)
        flags = _flags(placed, values)
        return LaunchSpec(
            argv=(*_program(placed, values), *flags),
            env={**placed.env, **_visible(placed), "LLAMA_API_KEY": placed.engine_key},
            port=placed.port,
            workdir=placed.workdir,
            probe=HttpProbe("/health", deadline_seconds=60.0),
        )

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(_FAILURES, log_lines)


def _generating(facts: ModelFacts, values: Mapping[str, OptionValue]) -> Abilities:
    """A grammar holds any model to a JSON schema; tools and thinking are as good as the template that asks for them."""
    is_off = values.get("reasoning") == "off" or values.get("reasoning-budget") == 0
    return Abilities(
        paths=LlamaCpp.paths - POOLED,
        input_modalities=("text",),
        output_modalities=("text",),
        tools=facts.template_takes_tools,
        reasoning=False if is_off else facts.template_reasons,
        json_schema=True,
        spelling="reasoning_content",
    )


def _pooling(facts: ModelFacts, pooling: str) -> Abilities:
    is_embedding = pooling == "embeddings"
    return Abilities(
        paths=frozenset({"/v1/embeddings" if is_embedding else "/v1/rerank"}),
        input_modalities=("text",),
        output_modalities=("embedding" if is_embedding else "score",),
        tools=False,
        reasoning=False,
        json_schema=False,
        embedding_dimensions=facts.embedding_length if is_embedding else None,
    )


def _estimate(facts: ModelFacts, values: Mapping[str, OptionValue], shape: arithmetic.Shape) -> Estimate:
    memory = arithmetic.memory(facts, values, shape)
    return Estimate(Claim(ram_bytes=memory.total_bytes), memory, shape.context_length)


def _program(placed: Placed, values: Mapping[str, OptionValue]) -> tuple[str, ...]:
    executable = placed.version.executable or ""
    if placed.version.source in {"path", "image"}:
        return (executable,)
    if impossible := sorted(BINARY_ONLY & values.keys()):
        raise Refusal(
            "option_needs_binary",
            param=f"options.{impossible[0]}",
            option=impossible[0],
            version=placed.version.version,
        )
    return (executable, "-I", str(PurePath(placed.runner_dir) / RUNNER))


def _flags(placed: Placed, values: Mapping[str, OptionValue]) -> tuple[str, ...]:
    facts, shape = _settled(placed, values)
    is_wheel = placed.version.source not in {"path", "image"}
    pooling = arithmetic.pooling_of(facts, values)
    settings: dict[str, OptionValue] = {
        "threads": placed.cpu_count,
        "threads-http": _HTTP_THREADS,
        "cache-ram": 0,
        "metrics": True,
        **({"pooling": "mean"} if pooling == "embeddings" and not facts.pooling else {}),  # without it no vector is one
        **_defaults_by_facts(facts, is_wheel=is_wheel),
        **{name: value for name, value in values.items() if name not in OURS | _COUNTED},
        "ctx-size": shape.total_context,
        "parallel": shape.parallel,
        "webui": False,
        **({"ubatch-size": shape.ubatch, "batch-size": shape.ubatch} if pooling else _batches(values)),
        **({pooling: True} if pooling else {}),
        **(_layers(placed) if placed.device_layers else {"fit": False} if is_wheel else {"device": "none"}),
    }
    address = ("--host", "127.0.0.1", "--port", str(placed.port))
    identity = ("--model", placed.source_path or facts.path, "--alias", placed.model_name)
    return (*identity, *address, *(part for name, value in settings.items() for part in _flag(name, value)))


def _layers(placed: Placed) -> dict[str, OptionValue]:
    """Said outright: by itself the engine would take what is free when it starts, whoever was promised it."""
    return {"n-gpu-layers": placed.device_layers or 0, "split-mode": "none", "fit": "off"}


def _visible(placed: Placed) -> dict[str, str]:
    """Where no layer lies on a device, the engine is to see none."""
    if not placed.device_layers:
        return dict(_NO_DEVICES)
    names = ",".join(each.visible_name for each in placed.devices)
    return {variable: names for each in placed.devices for variable in VISIBLE_DEVICES[each.kind]}


def _settled(placed: Placed, values: Mapping[str, OptionValue]) -> tuple[ModelFacts, arithmetic.Shape]:
    """The shape that was placed: its context was chosen among the estimates."""
    facts = placed.facts or ModelFacts(format="gguf", path=placed.source_path or "", size_bytes=0)
    per_request = {name: value for name, value in values.items() if name != "ctx-size"}
    wanted = {**per_request, "max-model-len": placed.context_length} if placed.context_length else values
    return facts, arithmetic.shapes(facts, wanted)[0]


def _defaults_by_facts(facts: ModelFacts, *, is_wheel: bool) -> dict[str, OptionValue]:
    """Weights that get re-ordered are read, not mapped: the mapped original would stay resident beside the copy."""
    made: dict[str, OptionValue] = {}
    if facts.sliding_window_layer_count or facts.state_bytes_per_sequence:
        made["ctx-checkpoints"] = arithmetic.CHECKPOINTS
    if is_wheel and arithmetic.is_read(facts):
        made["load-mode"] = "none"
    return made


def _batches(values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    return {name: values[name] for name in ("batch-size", "ubatch-size") if name in values}


def _flag(name: str, value: OptionValue) -> tuple[str, ...]:
    if value is True:
        return (f"--{name}",)
    if value is False:
        return () if name in LONE_SWITCHES else (f"--no-{name}",)
    return (f"--{name}", str(value))


LLAMA_CPP: Backend = LlamaCpp()
