"""SGLang's memory: weights and cache lie in `mem_fraction_static x total`, all else in what that leaves.

Source: srt/server_args.py, _handle_gpu_memory_settings (sgl-project/sglang#10975): sizes of batches by the size of the
device, and what is kept back for activations (1.5 MB a token of a chunk), graphs (2 MB a sequence), metadata (512 MB)
and links (an eighth of a GB a rank), at least 10 GB above 60 GB. We say the fraction outright, less 3 % of the device
for what others hold, so that what was reckoned is what the engine does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from backends.memory.ranks import Ranks
from backends.memory.vllm import GIB, MIB, Settings, memory
from backends.options import OptionValue
from gpustack_lite.domain import DeviceKind, Memory, ModelFacts, Term

_LEFT = 0.03
_BY_SIZE = ((35 * GIB, 2048, 24), (60 * GIB, 4096, 32), (90 * GIB, 8192, 256))
_LARGEST = (16384, 256)
_KEPT_ON_LARGE_BYTES = 10 * GIB


def batches(values: Mapping[str, OptionValue], room_bytes: int) -> tuple[int, int]:
    """Tokens of a chunk, and sequences of the largest graph."""
    chunk, graph = next(((chunk, graph) for size, chunk, graph in _BY_SIZE if room_bytes < size), _LARGEST)
    return int(values.get("chunked-prefill-size", chunk)), int(values.get("cuda-graph-max-bs", graph))


def kept_bytes(values: Mapping[str, OptionValue], room_bytes: int, ranks: Ranks) -> int:
    """Outside of the fraction."""
    chunk, graph = batches(values, room_bytes)
    kept = int((512 + max(chunk, 2048) * 1.5 + graph * 2 + ranks.tensor * ranks.pipeline / 8 * 1024) * MIB)
    return max(kept, _KEPT_ON_LARGE_BYTES) if room_bytes > 60 * GIB else kept


def fraction(values: Mapping[str, OptionValue], room_bytes: int, ranks: Ranks) -> float:
    """Three digits, as it is said to the engine."""
    said = values.get("mem-fraction-static")
    if said is not None:
        return float(said)
    left = room_bytes * (1 - _LEFT) - kept_bytes(values, room_bytes, ranks)
    return max(int(1000 * left / room_bytes) / 1000, 0.01) if room_bytes else 0.88


@dataclass(frozen=True, slots=True)
class Static:
    """SGLang under one model's options, as `fitting.estimates` asks it."""

    values: Mapping[str, OptionValue]
    kinds: frozenset[DeviceKind] = frozenset({"cuda"})

    def memory(self, facts: ModelFacts, ranks: Ranks, room_bytes: int, context: int) -> Memory:
        """The term of activations is what lies outside of the fraction, so that all terms together are the claim."""
        chunk, graph = batches(self.values, room_bytes)
        is_fp8 = str(self.values.get("kv-cache-dtype", "auto")).startswith("fp8")
        chosen = Settings(chunk, graph, block=1, cache_item_bytes=1 if is_fp8 else 2)
        found = memory(facts, ranks, chosen, context, runtime_bytes=0)
        outside = room_bytes - int(room_bytes * fraction(self.values, room_bytes, ranks) + room_bytes * _LEFT)
        kept = max(outside, 0) if room_bytes else kept_bytes(self.values, room_bytes, ranks)
        terms = [each for each in found.terms if each.code in {"term_weights", "term_cache"}]
        activation = Term("term_activation", kept, {"batched_tokens": chunk})
        return replace(found, activation_bytes=kept * ranks.devices, terms=(*terms, activation))

    def budget_bytes(self, room_bytes: int) -> int:
        return int(room_bytes * (1 - _LEFT))

    def pool_bytes(self, room_bytes: int) -> int | None:
        return None

    def share_bytes(self, room_bytes: int, found: Memory) -> int | None:
        return None

    def claim_bytes(self, room_bytes: int, found: Memory) -> int:
        return self.budget_bytes(room_bytes)
