"""How many requests an engine works on at once, where its options say so."""

from collections.abc import Mapping

from backends.llama_cpp_memory import DEFAULT_PARALLEL
from backends.memory.mindie import BATCH
from backends.mindie_keys import spelled

_OPTIONS: Mapping[str, tuple[str, int | None]] = {
    "llama_cpp": ("parallel", DEFAULT_PARALLEL),
    "vllm": ("max-num-seqs", None),
    "vllm_ascend": ("max-num-seqs", None),
    "sglang": ("max-running-requests", None),
    "mindie": ("max-batch-size", BATCH),
    "speech": ("", 1),
    "transformers": ("", 1),
    "diffusers": ("", 1),
}
"""Backend -> the option, and what the engine does without it; None where that depends on the device."""


def slots_of(backend: str | None, options: Mapping[str, object]) -> int | None:
    name, default = _OPTIONS.get(backend or "", ("", None))
    given = {spelled(key.rpartition(".")[2]): value for key, value in options.items()}.get(name, default)
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else default
