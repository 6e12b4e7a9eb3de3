"""vLLM: directories of weights on NVIDIA GPUs, or on the CPU where an installation of it is found there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import PurePath

from backends import vllm_failures
from backends.base import Estimate, Option, Placed, Want
from backends.failures import Failure, first_known
from backends.memory import fitting
from backends.memory.ranks import Ranks
from backends.memory.vllm import GIB, POOLED_KINDS, Reserving, memory, settings
from backends.options import OptionValue, check_env, flags, passed
from backends.vllm_options import FORBIDDEN, FORBIDDEN_VARIABLES, KNOWN, SUSPECT
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

GENERATING = frozenset(
    {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"}
)
POOLED: Mapping[str, frozenset[str]] = {
    "embedding": frozenset({"/v1/embeddings"}),
    "reranker": frozenset({"/v1/rerank", "/v1/score"}),
    "classifier": frozenset({"/v1/classify"}),
}
CPU_RUNTIME_BYTES = int(2.4 * GIB)
"""The API server, the core and the worker before they load anything: measured with 0.32 on x86-64."""
CPU_BLOCK = 128
_LEAST_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Vllm:
    """vLLM and its platform plugins differ in devices, in a few numbers, and in the environment they want."""

    name: str = "vllm"
    device_kinds: frozenset[DeviceKind] = frozenset({"cuda", "cpu"})
    visible: str = "CUDA_VISIBLE_DEVICES"
    env: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = vllm_failures.VLLM
    paths: frozenset[str] = GENERATING.union(*POOLED.values())
    needs_facts: bool = True
    needs_files: bool = True
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        """None that our installer makes yet; simulated devices need none."""
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        passed(options, KNOWN, FORBIDDEN, SUSPECT)
        check_env(env, FORBIDDEN_VARIABLES)

    def arithmetic(self, values: Mapping[str, OptionValue]) -> Reserving:
        return Reserving(values, frozenset({"cuda"}))

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        values = passed(want.options, KNOWN, FORBIDDEN, SUSPECT)
        known = directory(facts, self.name)
        if "cpu" in self.device_kinds and not any(each.kind == "cuda" for each in want.devices):
            return (_on_cpu(known, values),)
        return fitting.estimates(known, want, asked(values), self.arithmetic(values))

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        values = passed(options, KNOWN, FORBIDDEN, SUSPECT)
        if facts is None:
            return Abilities(paths=self.paths)
        if facts.kind in POOLED:
            return _pooling(facts)
        return Abilities(
            paths=GENERATING,
            input_modalities=("text", "image") if facts.kind == "vlm" else ("text",),
            output_modalities=("text",),
            tools=values.get("enable-auto-tool-choice") is True and "tool-call-parser" in values,
            reasoning="reasoning-parser" in values,
            json_schema=True,
            spelling="reasoning" if "reasoning-parser" in values else None,
        )

    def launch(self, placed: Placed) -> LaunchSpec:
        values = passed(placed.options, KNOWN, FORBIDDEN, SUSPECT)
        chosen = {**self.by_device(placed), **values, **self._settled(placed, values)}
        name, port = placed.model_name, placed.port
        ours: dict[str, OptionValue] = {"served-model-name": name, "host": "127.0.0.1", "port": port}
        return LaunchSpec(
            argv=(*_program(placed.version), "serve", _model(placed), *flags({**ours, **chosen})),
            env={
                **dict(self.env),
                **placed.env,
                **self._devices(placed, values),
                "VLLM_API_KEY": placed.engine_key,
                "HF_HUB_OFFLINE": "1",
                "VLLM_NO_USAGE_STATS": "1",
                "DO_NOT_TRACK": "1",
            },
            port=placed.port,
            workdir=placed.workdir,
            probe=HttpProbe("/health", deadline_seconds=_LEAST_SECONDS),
        )

    def by_device(self, placed: Placed) -> dict[str, OptionValue]:
        """Options that the chip or the weights want; the user's own stand before them."""
        return {}

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(self.failures, log_lines)

    def _settled(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """What was placed, said outright: an engine of another version must not choose other defaults."""
        wish = asked(values)
        made: dict[str, OptionValue] = {"tensor-parallel-size": tensor_of(placed, wish)}
        if placed.context_length:
            made["max-model-len"] = placed.context_length
        total = min((each.memory_total_bytes or 0 for each in placed.devices), default=0)
        if total and placed.claim.bytes_per_device:
            made["gpu-memory-utilization"] = round(placed.claim.bytes_per_device / total, 3)
        if total and placed.facts is not None and placed.facts.kind == "llm":
            taken = self.arithmetic(values).chosen(placed.facts, total, placed.context_length or 0)
            made |= {"max-num-batched-tokens": taken.batched_tokens, "max-num-seqs": taken.sequences}
        return made

    def _devices(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, str]:
        if placed.devices and placed.devices[0].kind != "cpu":
            return {self.visible: ",".join(each.visible_name for each in placed.devices)}
        if placed.facts is None:
            return {}
        return {"VLLM_CPU_KVCACHE_SPACE": str(_cpu_cache_gib(placed.facts, values, placed.context_length or 0))}


def directory(facts: ModelFacts | None, backend: str) -> ModelFacts:
    """Raises:
    Refusal: `cannot_estimate` or `model_format_differs`.
    """
    if facts is None:
        raise Refusal("cannot_estimate", path=None, missing="config.json")
    if facts.format != "hf":
        raise Refusal("model_format_differs", param="backend", backend=backend, path=facts.path, format=facts.format)
    return facts


def asked(values: Mapping[str, OptionValue]) -> fitting.Asked:
    """Raises:
    Refusal: `option_invalid` for a size below one.
    """
    return fitting.Asked(
        tensor=whole(values, "tensor-parallel-size"),
        pipeline=whole(values, "pipeline-parallel-size") or 1,
        data=whole(values, "data-parallel-size") or 1,
        expert=values.get("enable-expert-parallel") is True,
        context=whole(values, "max-model-len"),
        stretches="hf-overrides" in values,
    )


def whole(values: Mapping[str, OptionValue], name: str) -> int | None:
    """Raises:
    Refusal: `option_invalid` for what is not at least one.
    """
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or value < 1:
        raise Refusal("option_invalid", param=f"options.{name}", option=name, value=str(value), expected=">= 1")
    return value


def tensor_of(placed: Placed, wish: fitting.Asked) -> int:
    """Of the devices that were given: the scheduler chose how many."""
    others = wish.pipeline * wish.data
    return wish.tensor or max(len(placed.devices) // others, 1)


def _program(version: BackendVersion) -> tuple[str, ...]:
    """A vllm found on PATH, or the module in the Python of its environment."""
    executable = version.executable or "vllm"
    is_python = PurePath(executable).name.startswith("python")
    return (executable, "-m", "vllm.entrypoints.cli.main") if is_python else (executable,)


def _model(placed: Placed) -> str:
    return placed.source_path or (placed.facts.path if placed.facts is not None else "")


def _pooling(facts: ModelFacts) -> Abilities:
    is_embedding = facts.kind == "embedding"
    return Abilities(
        paths=POOLED[facts.kind],
        input_modalities=("text",),
        output_modalities=("embedding" if is_embedding else "score",),
        tools=False,
        reasoning=False,
        json_schema=False,
        embedding_dimensions=facts.embedding_length if is_embedding else None,
    )


def _on_cpu(facts: ModelFacts, values: Mapping[str, OptionValue]) -> Estimate:
    """Weights, cache and activations lie in RAM, the cache in whole GiB as VLLM_CPU_KVCACHE_SPACE is given."""
    wish = asked(values)
    trained = facts.trained_context_length or fitting.DEFAULT_LONGEST
    context = wish.context or min(trained, 2 * fitting.LEAST_CONTEXT)
    chosen = settings(values, 0, context, block=CPU_BLOCK, pools=facts.kind in POOLED_KINDS)
    found = memory(facts, Ranks(), chosen, context, CPU_RUNTIME_BYTES)
    cache = _cpu_cache_gib(facts, values, context) * GIB
    needed = found.total_bytes - found.kv_bytes + cache
    return Estimate(Claim(ram_bytes=needed, device_kinds=frozenset({"cpu"})), found, context)


def _cpu_cache_gib(facts: ModelFacts, values: Mapping[str, OptionValue], context: int) -> int:
    chosen = settings(values, 0, context, block=CPU_BLOCK)
    return max(ceil(memory(facts, Ranks(), chosen, max(context, 1)).kv_bytes / GIB), 1)


VLLM = Vllm()
