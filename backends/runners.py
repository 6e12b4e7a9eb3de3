"""What the engines have in common that are libraries under a small runner of ours (worker/runners/small_server.py)."""

import re
from collections.abc import Mapping
from pathlib import PurePath

from backends.base import Estimate, Placed
from backends.failures import COMMON, Failure
from backends.options import OptionValue
from gpustack_lite.domain import Claim, HttpProbe, LaunchSpec, Memory, ModelFacts
from gpustack_lite.errors import Refusal

MIB = 1024**2
FAILURES = (
    Failure("engine_library_missing", r"the engine's library could not be loaded: (?P<library>.*)"),
    Failure(
        "engine_unknown_architecture", r"does not recognize this architecture|model type `(?P<architecture>[^`]*)`"
    ),
    Failure("engine_file_invalid", r"_server: .* could not be served: "),
    Failure("engine_file_invalid", r"_server: .* holds (?:neither|several) "),
    Failure("engine_option_refused", r"error: (?:unrecognized arguments|argument )"),
    Failure("engine_file_truncated", r"SafetensorError|incomplete metadata|header too large"),
    *COMMON,
)
FORBIDDEN_VARIABLES = re.compile(r"^(HF_.*|HUGGINGFACE_.*|TRANSFORMERS_.*|DIFFUSERS_.*|TORCH.*|PYTORCH_.*|ENGINE_.*)$")
_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}


def launch(placed: Placed, runner: str, flags: Mapping[str, OptionValue], deadline_seconds: float) -> LaunchSpec:
    facts = placed.facts
    said = {
        "model": placed.source_path or (facts.path if facts is not None else ""),
        "alias": placed.model_name,
        "port": placed.port,
        "threads": placed.cpu_count,
        **flags,
    }
    return LaunchSpec(
        argv=(
            *(placed.version.executable or "python3", "-I", str(PurePath(placed.runner_dir) / runner)),
            *(f"--{name}={value}" for name, value in said.items()),
        ),
        env={**placed.env, **_OFFLINE, "ENGINE_API_KEY": placed.engine_key},
        port=placed.port,
        workdir=placed.workdir,
        probe=HttpProbe("/health", deadline_seconds=deadline_seconds),
    )


def in_ram(weights_bytes: int, activation_bytes: int, process_bytes: int, *, context: int | None = None) -> Estimate:
    memory = Memory(weights_bytes, 0, 0, activation_bytes, process_bytes)
    return Estimate(Claim(ram_bytes=memory.total_bytes), memory, context)


def weights_of(facts: ModelFacts) -> int:
    """Raises:
    Refusal: `cannot_estimate`.
    """
    size = facts.weights_bytes or facts.size_bytes
    if not size:
        raise Refusal("cannot_estimate", path=facts.path, missing="weights")
    return size


def needed(facts: ModelFacts | None, architectures: frozenset[str], backend: str) -> ModelFacts:
    """Raises:
    Refusal: `cannot_estimate` or `engine_serves_other_models`.
    """
    if facts is None:
        raise Refusal("cannot_estimate", path=None, missing=", ".join(sorted(architectures)))
    if facts.architecture not in architectures:
        kinds = ", ".join(sorted(architectures))
        said = facts.architecture or facts.format
        raise Refusal("engine_serves_other_models", param="backend", backend=backend, kinds=kinds, said=said)
    return facts
