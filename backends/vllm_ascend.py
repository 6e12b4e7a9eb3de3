"""vLLM-Ascend: vLLM on Huawei's NPUs through its platform plugin."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from backends import vllm_failures
from backends.base import Backend, Estimate, Placed, Want
from backends.failures import Failure
from backends.memory.vllm import Reserving
from backends.memory.vllm_ascend import GRAPH_BYTES, reserving
from backends.options import OptionValue
from backends.sourcing import CANN, sourced
from backends.vllm import Vllm
from gpustack_lite.domain import DeviceKind, LaunchSpec, ModelFacts, Options, Sentence
from gpustack_lite.errors import Refusal

_ENV = (
    ("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True"),
    ("TASK_QUEUE_ENABLE", "1"),
    ("CPU_AFFINITY_CONF", "1"),
    ("OMP_PROC_BIND", "false"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    ("TOKENIZERS_PARALLELISM", "false"),
)
"""Thread pools of one: each rank would start one thread per core, and hosts of Ascend cards have hundreds."""
_EXPANSION: Mapping[str, str] = {"HCCL_OP_EXPANSION_MODE": "AIV"}
"""Sums between cards are computed by the cards' vector units; those of the 310P cannot."""

_ON_310P: Mapping[str, OptionValue] = {"dtype": "float16", "enable-prefix-caching": False}
"""It computes in float16 only, and has no kernels for a shared beginning."""
_CONFIG_ON_310P: Mapping[str, Any] = {"ascend_compilation_config": {"enable_npugraph_ex": False}}
"""Nor has it that graph compiler."""
_NOT_ON_310P = ("enable-lora", "speculative-config")
_DOCUMENTED_ON_310P: Mapping[str, int] = {"Qwen3ForCausalLM": 20480, "Qwen3MoeForCausalLM": 16384}
"""Architecture -> longest context, of Atlas 300I Duo, as vllm-ascend's documentation has them (at 182b75ea)."""


@dataclass(frozen=True, slots=True)
class VllmAscend(Vllm):
    name: str = "vllm_ascend"
    device_kinds: frozenset[DeviceKind] = frozenset({"ascend"})
    visible: str = "ASCEND_RT_VISIBLE_DEVICES"
    env: tuple[tuple[str, str], ...] = _ENV
    spans_workers: bool = False
    """Its documentation joins several machines by Ray, or by copies of the attention layers."""
    failures: tuple[Failure, ...] = (*vllm_failures.CANN, *vllm_failures.VLLM)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        is_slim = facts is None or facts.quantization_method == "ascend"
        if want.options.get("quantization") == "ascend" and not is_slim:
            raise Refusal("quantization_needs_modelslim", param="options.quantization")
        return Vllm.estimates(self, facts, want)

    def launch(self, placed: Placed) -> LaunchSpec:
        """In CANN's environment: images often source it in a shell's own files only, which a program never reads."""
        spec = Vllm.launch(self, placed)
        files = tuple(str(PurePath(placed.ascend_root) / each) for each in CANN)
        return replace(spec, argv=sourced(spec.argv, files, spec.env, "vllm"))

    def by_device(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """ModelSlim's weights must be announced, others must not be; of the 310P its own page of the documentation."""
        is_slim = placed.facts is not None and placed.facts.quantization_method == "ascend"
        slim: dict[str, OptionValue] = {"quantization": "ascend"} if is_slim else {}
        on_310p = any(is_310p(each.chip) for each in placed.devices)
        return {**Vllm.by_device(self, placed, values), **slim, **(_ON_310P if on_310p else {})}

    def above(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """What the user says of `additional-config` is laid over ours, and not instead of it."""
        if not any(is_310p(each.chip) for each in placed.devices):
            return {}
        given = json.loads(str(values.get("additional-config", "{}")))
        return {"additional-config": json.dumps(merged(_CONFIG_ON_310P, given))}

    def env_by_device(self, placed: Placed) -> dict[str, str]:
        return {} if any(is_310p(each.chip) for each in placed.devices) else dict(_EXPANSION)

    def arithmetic(self, values: Mapping[str, OptionValue]) -> Reserving:
        return replace(reserving(values), graph_bytes=GRAPH_BYTES)

    def cautions(self, facts: ModelFacts, options: Options, chips: Sequence[str]) -> Sequence[Sentence]:
        of_310p = [each for chip in chips if is_310p(chip) for each in _said_of_310p(facts, options, chip)]
        return (*Vllm.cautions(self, facts, options, chips), *of_310p)


def is_310p(chip: str) -> bool:
    return chip.upper().removeprefix("ASCEND").lstrip(" -_").startswith("310P")


def merged(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Two levels deep, as the plugin's own configuration is."""
    both = {key: {**ours[key], **theirs[key]} for key in ours if isinstance(theirs.get(key), dict)}
    return {**ours, **theirs, **both}


def _said_of_310p(facts: ModelFacts, options: Options, chip: str) -> list[Sentence]:
    wrong = [name for name in _NOT_ON_310P if options.get(name)]
    said = [Sentence("option_not_on_chip", {"option": name, "chip": chip}) for name in wrong]
    documented = _DOCUMENTED_ON_310P.get(facts.architecture or "")
    if documented is None:
        models = ", ".join(_DOCUMENTED_ON_310P)
        params = {"models": models, "chip": chip, "architecture": facts.architecture}
        return [*said, Sentence("model_unlisted_on_chip", params)]
    asked = options.get("max-model-len") or facts.trained_context_length or 0
    is_longer = isinstance(asked, int) and asked > documented
    of_context = Sentence("context_beyond_documented", {"documented": documented, "chip": chip})
    return [*said, *([of_context] if is_longer else [])]


VLLM_ASCEND: Backend = VllmAscend()
