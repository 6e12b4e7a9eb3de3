"""MindIE's memory: what must fit into NPU_MEMORY_FRACTION x total, or beside a cache of npuMemSize GB.

Sources: MindIE-LLM, docs service_parameter_configuration (npuMemSize, maxSeqLen, maxPrefillTokens, cacheBlockSize) and
environment_variable (NPU_MEMORY_FRACTION 0.8, RESERVED_MEMORY_GB 3). With npuMemSize -1 the cache is what the fraction
leaves beside weights, activations and runtime; else it is exactly so many GB. A prompt is worked on in one piece of up
to maxPrefillTokens, which may not be less than maxInputTokenLen, so the activations grow with the context. There is no
public log of a whole MindIE start to hold this against: the activation and the runtime are vLLM-Ascend's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from backends.memory.ranks import Ranks
from backends.memory.vllm import GIB, Settings, memory
from backends.memory.vllm_ascend import LINK_BYTES, RUNTIME_BYTES
from backends.options import OptionValue
from gpustack_lite.domain import DeviceKind, Memory, ModelFacts

FRACTION = 0.8
RESERVED_BYTES = 3 * GIB
BLOCK = 128
PREFILL_TOKENS = 8192
BATCH = 200


@dataclass(frozen=True, slots=True)
class Serving:
    """MindIE under one model's options, as `fitting.estimates` asks it."""

    values: Mapping[str, OptionValue]
    kinds: frozenset[DeviceKind] = frozenset({"ascend"})

    def memory(self, facts: ModelFacts, ranks: Ranks, room_bytes: int, context: int) -> Memory:
        chosen = Settings(
            batched_tokens=prefill_tokens(self.values, context),
            sequences=int(self.values.get("max-batch-size", BATCH)),
            block=int(self.values.get("cache-block-size", BLOCK)),
            cache_item_bytes=2,
        )
        runtime = RUNTIME_BYTES + (LINK_BYTES if ranks.devices > 1 else 0)
        return memory(facts, ranks, chosen, context, runtime)

    def budget_bytes(self, room_bytes: int) -> int:
        if self.pool_bytes(room_bytes) is None:
            return int(room_bytes * float(self.values.get("npu-memory-fraction", FRACTION)))
        return max(room_bytes - RESERVED_BYTES, 0)

    def pool_bytes(self, room_bytes: int) -> int | None:
        size = int(self.values.get("npu-mem-size", -1))
        return size * GIB if size > 0 else None

    def share_bytes(self, room_bytes: int, found: Memory) -> int | None:
        return None

    def claim_bytes(self, room_bytes: int, found: Memory) -> int:
        """Whole chips are claimed on Ascend; the bytes say what of them the engine fills."""
        return self.budget_bytes(room_bytes)


def prefill_tokens(values: Mapping[str, OptionValue], context: int) -> int:
    """maxPrefillTokens >= maxInputTokenLen is a rule of its validator, so it is raised to the longest prompt."""
    longest = min(int(values.get("max-input-token-len", context)), context)
    return max(int(values.get("max-prefill-tokens", PREFILL_TOKENS)), longest)
