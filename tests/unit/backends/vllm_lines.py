"""Command lines of vLLM and vLLM-Ascend over models, chips, estimates and the settings that people run."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from backends.base import Backend, Estimate, Want
from backends.vllm import VLLM
from backends.vllm_ascend import VLLM_ASCEND
from backends.vllm_options import KNOWN
from gpustack_lite.domain import BackendVersion, Device, LaunchSpec, ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.templates import with_template
from tests.unit.backends.models import CONFIGS, devices, facts, placed

Options = Mapping[str, object]
THINKS = {"chat_template.jinja": "{{ tools }}<tool_call><think>"}
CARDS = ("8xA100-80G", "8xA10-24G", "8x910B3-64G", "8x910B4-32G", "4x310P3-44G", "")
SETTINGS: Mapping[str, Options] = {
    "plain": {},
    "tools": {"enable-auto-tool-choice": True, "tool-call-parser": "hermes", "reasoning-parser": "qwen3"},
    "modelslim, mtp, graphs": {
        "max-num-batched-tokens": 8192,
        "max-num-seqs": 16,
        "enable-expert-parallel": True,
        "block-size": 128,
        "async-scheduling": True,
        "compilation-config": {"cudagraph_mode": "FULL_DECODE_ONLY"},
        "speculative-config": {"num_speculative_tokens": 1, "method": "deepseek_mtp"},
        "additional-config": {"enable_cpu_binding": True, "multistream_overlap_shared_expert": False},
    },
    "fused": {
        "enable-chunked-prefill": True,
        "enable-prefix-caching": True,
        "seed": 1024,
        "additional-config": {"fuse_muls_add": True, "ascend_compilation_config": {"enable_npugraph_ex": True}},
    },
    "safetensors, parsers of MiniMax": {
        "load-format": "safetensors",
        "reasoning-parser": "minimax_m2",
        "tool-call-parser": "minimax_m2",
    },
    "float16, eager, blocks": {"dtype": "float16", "enforce-eager": True, "block-size": 64},
    "ranks": {"tensor-parallel-size": 2, "pipeline-parallel-size": 2, "data-parallel-size": 2},
    "adapters": {"lora-adapters": {"poet": "/models/poet", "b": "/models/b"}, "max-loras": 2, "max-lora-rank": 32},
    "switched off": {option.name: False for option in KNOWN.values() if option.kind == "bool"} | {"seed": 0},
    "switched on": {
        option.name: True for option in KNOWN.values() if option.kind == "bool" and "tool" not in option.name
    },
    "texts": {
        "chat-template": "{{ tools }}\n{{ messages }}",
        "default-chat-template-kwargs": {"enable_thinking": False},
        "override-generation-config": {"temperature": 0.1},
        "structured-outputs-config": {"backend": "xgrammar"},
        "limit-mm-per-prompt": {"image": 2},
        "hf-overrides": {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
        "generation-config": "vllm",
        "chat-template-content-format": "string",
        "scheduling-policy": "priority",
        "kv-cache-dtype": "fp8",
        "max-logprobs": 5,
        "tokenizer-mode": "hf",
    },
    "pooled": {"runner": "pooling", "convert": "embed", "pooler-config": {"use_activation": True}},
}
"""As settings that people publish combine them; the names of models and machines are not theirs."""


def lines() -> Iterator[tuple[str, LaunchSpec]]:
    for cards in CARDS:
        backend = VLLM_ASCEND if "910" in cards or "310" in cards else VLLM
        for model in CONFIGS:
            yield from _of(backend, cards, model, "plain")
        for setting in SETTINGS:
            for model in ("Qwen3-30B-A3B", "Qwen2.5-0.5B"):
                yield from _of(backend, cards, model, setting)


def _of(backend: Backend, cards: str, model: str, setting: str) -> Iterator[tuple[str, LaunchSpec]]:
    known = with_template(facts(model), THINKS)
    there = devices(cards) if cards else ()
    for at, estimate in enumerate(_estimates(backend, known, Want(SETTINGS[setting], there))):
        spec = launched(backend, known, estimate, there, SETTINGS[setting])
        yield f"{cards or 'cpu'} {model} {setting} {at}", spec


def _estimates(backend: Backend, model: ModelFacts, want: Want) -> tuple[Estimate, ...]:
    """The first, and the last: none where the options do not go with the model."""
    try:
        found = backend.estimates(model, want)
    except Refusal:
        return ()
    return (found[0], found[-1]) if len(found) > 1 else found


def launched(
    backend: Backend, model: ModelFacts, estimate: Estimate, there: tuple[Device, ...], options: Options
) -> LaunchSpec:
    version = BackendVersion(backend.name, "0.23.0", backend.device_kinds, "path", True, "/v/bin/vllm")
    made = placed("Qwen3-14B", version, there[: estimate.claim.device_count], estimate.context_length)
    return backend.launch(
        replace(made, facts=model, source_path=model.path, options=options, claim=estimate.claim, model_name="org/name")
    )
