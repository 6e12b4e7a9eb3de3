"""SGLang: directories of weights on NVIDIA GPUs."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from backends import vllm_failures
from backends.base import Backend, Estimate, Option, Placed, Want
from backends.failures import Failure, first_known
from backends.memory import fitting
from backends.memory.sglang import Static, batches, fraction
from backends.options import OptionValue, check_env, checked
from backends.parsing import chosen, said
from backends.vllm import asked, directory, tensor_of
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    DeviceKind,
    HttpProbe,
    LaunchSpec,
    ModelFacts,
    Options,
    Sentence,
)

CONFIG = "sglang.yaml"
"""Holds the key, which has no variable: JSON is YAML, and `--config` reads a file of flags."""
KNOWN: Mapping[str, Option] = {
    each.name: each
    for each in (
        Option("max-model-len", "int", "tokens of one request; given to the engine as context-length"),
        Option("mem-fraction-static", "float", "share of a device's memory for weights and cache"),
        Option("chunked-prefill-size", "int", "prompt tokens that are worked on in one step"),
        Option("cuda-graph-max-bs", "int", "largest number of requests that graphs are captured for"),
        Option("max-running-requests", "int", "requests that are worked on at once"),
        Option("kv-cache-dtype", "choice", "type of the cache", choices=("auto", "fp8_e4m3", "fp8_e5m2", "bf16")),
        Option("tensor-parallel-size", "int", "devices that share each layer"),
        Option("pipeline-parallel-size", "int", "groups of devices that take the layers in turn"),
        Option("dtype", "choice", "type to compute in", choices=("auto", "bfloat16", "float16", "half", "float32")),
        Option("quantization", "str", "how the weights are quantised, where config.json does not say"),
        Option("tool-call-parser", "str", "how the model spells calls of tools"),
        Option("reasoning-parser", "str", "how the model spells reasoning"),
        Option("attention-backend", "str", "whose attention kernels are used"),
        Option("schedule-policy", "str", "which request is next (lpm, fcfs, ...)"),
        Option("disable-radix-cache", "bool", "do not keep the cache of prompts that begin alike"),
        Option("disable-cuda-graph", "bool", "capture no graphs"),
        Option("enable-torch-compile", "bool", "compile the model"),
        Option("is-embedding", "bool", "use a text model for embeddings"),
        Option("random-seed", "int", "seed of the random numbers"),
    )
}
FORBIDDEN = frozenset({"host", "port", "api-key", "model-path", "trust-remote-code", "config", "served-model-name"})
_RENAMED = {"max-model-len": "context-length"}
_FORBIDDEN_VARIABLES = re.compile(r"^(SGLANG_.*(DIR|PATH|PLUGIN|KEY).*|HF_.*|TRANSFORMERS_.*|TORCH_.*|RAY_.*)$")
_PATHS = frozenset({"/v1/chat/completions", "/v1/completions"})
_FAILURES = (
    Failure("engine_no_cache_left", r"Not enough memory\. Please try to increase --mem-fraction-static"),
    *vllm_failures.VLLM,
)


class Sglang:
    name = "sglang"
    device_kinds: frozenset[DeviceKind] = frozenset({"cuda"})
    paths = _PATHS | {"/v1/embeddings"}
    needs_facts = True
    needs_files = True
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        """None that our installer makes yet."""
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        checked(options, KNOWN, FORBIDDEN)
        check_env(env, _FORBIDDEN_VARIABLES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        values = checked(want.options, KNOWN, FORBIDDEN)
        return fitting.estimates(directory(facts, self.name), want, asked(values), Static(values))

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        values = checked(options, KNOWN, FORBIDDEN)
        embeds = values.get("is-embedding") is True or (facts is not None and facts.kind == "embedding")
        if embeds:
            return Abilities(paths=frozenset({"/v1/embeddings"}), output_modalities=("embedding",))
        parsers = chosen(facts, values, "sglang")
        return Abilities(
            paths=_PATHS,
            input_modalities=("text", "image") if facts is not None and facts.kind == "vlm" else ("text",),
            output_modalities=("text",),
            tools=parsers.tools is not None,
            reasoning=parsers.reasoning is not None,
            json_schema=True,
            spelling="reasoning_content",
        )

    def cautions(self, facts: ModelFacts, options: Options, chips: Sequence[str]) -> Sequence[Sentence]:
        values = checked(options, KNOWN, FORBIDDEN)
        is_text = facts.kind in {"llm", "vlm"} and values.get("is-embedding") is not True
        return tuple(said(facts, values, chosen(facts, values, "sglang"), "sglang")) if is_text else ()

    def launch(self, placed: Placed) -> LaunchSpec:
        values = checked(placed.options, KNOWN, FORBIDDEN)
        config = str(PurePath(placed.workdir) / CONFIG)
        return LaunchSpec(
            argv=(placed.version.executable or "python3", "-m", "sglang.launch_server", "--config", config),
            env={
                **placed.env,
                "CUDA_VISIBLE_DEVICES": ",".join(each.visible_name for each in placed.devices),
                "HF_HUB_OFFLINE": "1",
            },
            port=placed.port,
            workdir=placed.workdir,
            probe=HttpProbe("/health", deadline_seconds=300.0),
            files={CONFIG: json.dumps(flags(placed, values), indent=1)},
        )

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(_FAILURES, log_lines)


def flags(placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """What was placed is said outright. A switch that is off is left out: the engine knows no --no-... forms."""
    wish = asked(values)
    tensor, total = tensor_of(placed, wish), min((each.memory_total_bytes or 0 for each in placed.devices), default=0)
    chunk, graph = batches(values, total)
    given = {_RENAMED.get(name, name): value for name, value in values.items() if value is not False}
    parsers = chosen(placed.facts, values, "sglang")
    told = {"tool-call-parser": parsers.tools, "reasoning-parser": parsers.reasoning}
    return {
        **{name: value for name, value in given.items() if name not in told},
        **{name: value for name, value in told.items() if value is not None},
        "model-path": placed.source_path or (placed.facts.path if placed.facts is not None else ""),
        "served-model-name": placed.model_name,
        "host": "127.0.0.1",
        "port": placed.port,
        "api-key": placed.engine_key,
        "tensor-parallel-size": tensor,
        "mem-fraction-static": fraction(values, total, wish.ranks(tensor)),
        "chunked-prefill-size": chunk,
        "cuda-graph-max-bs": graph,
        "enable-metrics": True,
        **({"context-length": placed.context_length} if placed.context_length else {}),
        **({"trust-remote-code": True} if placed.trust_remote_code else {}),
    }


SGLANG: Backend = Sglang()
