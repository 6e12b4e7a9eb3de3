"""vLLM's memory: what must fit into `gpu_memory_utilization x total` of each device.

Sources, in vLLM 0.23 to 0.32: v1/worker/gpu_worker.py determine_available_memory (budget, profile run),
v1/core/kv_cache_utils.py check_enough_kv_cache_memory (one request of max_model_len must fit),
v1/kv_cache_interface.py max_memory_usage_bytes (cells by kind of layer), engine/arg_utils.py (defaults).
vLLM-Ascend follows the same arithmetic with torch_npu's numbers (worker/worker.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from backends.memory.ranks import Ranks, layer_bytes, weight_bytes
from backends.options import OptionValue
from gpustack_lite.domain import LayerGroup, Memory, ModelFacts, Term
from gpustack_lite.errors import Refusal

GIB = 1024**3
MIB = 1024**2
DEFAULT_UTILIZATION = 0.9
DEFAULT_BLOCK = 16
BATCHED_TOKENS = 2048
BATCHED_TOKENS_LARGE = 8192
LARGE_DEVICE_BYTES = 70 * GIB
"""From this size on, an API server's default is the larger batch and 1024 sequences instead of 256."""
SEQUENCES = 256
SEQUENCES_LARGE = 1024
_ITEM_BYTES: Mapping[str, float] = {
    "auto": 2,
    "bfloat16": 2,
    "float16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "int8": 1,
}
_LOGIT_BYTES = 4
_RUNTIME_BYTES = 256 * MIB
"""Communication buffers and workspaces outside of torch's own pool: 0.25 GiB is what logs of NCCL runs print."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that decide about memory, with vLLM's defaults filled in for a device of this size."""

    utilization: float
    batched_tokens: int
    sequences: int
    block: int
    cache_item_bytes: float
    eager: bool

    def budget_bytes(self, device_bytes: int) -> int:
        return int(device_bytes * self.utilization)


def settings(options: Mapping[str, OptionValue], device_bytes: int, context: int | None) -> Settings:
    """Without chunked prefill a whole prompt must fit into a batch; with it, which is the default, it need not."""
    is_large = device_bytes >= LARGE_DEVICE_BYTES
    batched = _number(options, "max-num-batched-tokens") or (BATCHED_TOKENS_LARGE if is_large else BATCHED_TOKENS)
    if options.get("enable-chunked-prefill") is False or options.get("no-enable-chunked-prefill") is True:
        batched = max(batched, context or batched)
    kind = str(options.get("kv-cache-dtype", "auto"))
    return Settings(
        utilization=float(options.get("gpu-memory-utilization", DEFAULT_UTILIZATION)),
        batched_tokens=batched,
        sequences=_number(options, "max-num-seqs") or (SEQUENCES_LARGE if is_large else SEQUENCES),
        block=_number(options, "block-size") or DEFAULT_BLOCK,
        cache_item_bytes=_ITEM_BYTES.get(kind, 2),
        eager=options.get("enforce-eager") is True,
    )


def _number(options: Mapping[str, OptionValue], name: str) -> int:
    value = options.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0


def per_token(facts: ModelFacts, ranks: Ranks, chosen: Settings) -> int:
    """Bytes of one token in the cache of one rank, over the layers that keep every token."""
    whole = [group for group in facts.layers if group.kind in {"full", "latent"}]
    return round(sum(group.count * layer_bytes(group, ranks.tensor, chosen.cache_item_bytes) for group in whole))


def cache_bytes(facts: ModelFacts, ranks: Ranks, chosen: Settings, context: int) -> int:
    """The least cache with which vLLM starts: one request of `context` tokens, on the fullest pipeline stage."""
    if not facts.layers:
        raise Refusal("cannot_estimate", path=facts.path, missing=", ".join(facts.unknown) or "layers")
    total = sum(group.count * _layer_cache_bytes(group, ranks, chosen, context) for group in facts.layers)
    layers = facts.layer_count or 1
    return round(total * -(-layers // ranks.pipeline) / layers)


def _layer_cache_bytes(group: LayerGroup, ranks: Ranks, chosen: Settings, context: int) -> float:
    """By KVCacheSpec: all tokens in whole blocks; a window with one batch and one block more; one state."""
    if group.kind == "none":
        return 0
    if group.kind == "recurrent":
        return -(-group.state_bytes // ranks.tensor)
    page = layer_bytes(group, ranks.tensor, chosen.cache_item_bytes) * chosen.block
    if group.kind == "sliding" and group.window:
        tokens = min(group.window - 1 + chosen.batched_tokens, context)
        return (-(-tokens // chosen.block) + 1) * page
    return -(-context // chosen.block) * page


def activation_bytes(facts: ModelFacts, ranks: Ranks, chosen: Settings) -> int:
    """Peak of the profile run: a full batch of tokens through the widest layer, and the logits of all sequences.

    Per token in two-byte items: residual, norm and attention output (3 x hidden), and of the gated feed-forward its
    input (2 x width) and its product (width) on this rank; of experts the same for each that a token visits, with the
    hidden size once for each. Checked against a run that printed it: Llama-3.1-8B with 20,000 batched tokens took
    17.06 - 14.99 = 2.07 GiB; this gives 2.06.
    """
    hidden, width = facts.embedding_length or 0, _width(facts, ranks.tensor)
    per_token_bytes = 2 * (3 * hidden + 3 * width)
    if facts.expert_count and facts.experts_per_token:
        per_token_bytes += 2 * facts.experts_per_token * hidden
    logits = min(chosen.sequences, chosen.batched_tokens) * (facts.vocab_size or 0) * (_LOGIT_BYTES + 2)
    return max(chosen.batched_tokens * per_token_bytes, logits)


def _width(facts: ModelFacts, tensor: int) -> int:
    width = facts.feed_forward_length or 4 * (facts.embedding_length or 0)
    return -(-width // tensor)


def rotary_bytes(facts: ModelFacts) -> int:
    """Cosines and sines of every position, in two-byte items: what weights weigh more in memory than on disk."""
    return 2 * (facts.trained_context_length or 0) * (facts.key_length or 0)


def memory(facts: ModelFacts, ranks: Ranks, chosen: Settings, context: int) -> Memory:
    """For the whole replica; `terms` are those of the fullest device, and their sum must fit into the budget.

    Raises:
        Refusal: `cannot_estimate`.
    """
    weights = weight_bytes(facts, ranks) + rotary_bytes(facts)
    cache, activation = cache_bytes(facts, ranks, chosen, context), activation_bytes(facts, ranks, chosen)
    runtime = _RUNTIME_BYTES if ranks.devices > 1 else 0
    terms = (
        Term("term_weights", weights),
        Term("term_cache", cache, {"context_length": context}),
        Term("term_activation", activation, {"batched_tokens": chosen.batched_tokens}),
        Term("term_runtime", runtime),
    )
    devices = ranks.devices
    return Memory(
        weights_bytes=weights * devices,
        kv_bytes_per_token=per_token(facts, ranks, chosen) * devices,
        kv_bytes=cache * devices,
        activation_bytes=activation * devices,
        overhead_bytes=runtime * devices,
        terms=terms,
    )


def device_bytes(found: Memory) -> int:
    """What one device must have inside its budget."""
    return sum(term.size_bytes for term in found.terms)


def largest_context(
    facts: ModelFacts, ranks: Ranks, chosen: Settings, budget: int, longest: int, block: int = 256
) -> int | None:
    """The largest context up to `longest`, in steps of `block`, whose memory fits into the budget; None if none does."""
    least = min(longest, 2048)
    if device_bytes(memory(facts, ranks, chosen, least)) > budget:
        return None
    low, high = least, longest
    while high - low > block:
        middle = (low + high) // 2
        if device_bytes(memory(facts, ranks, chosen, middle)) <= budget:
            low = middle
        else:
            high = middle
    if device_bytes(memory(facts, ranks, chosen, longest)) <= budget:
        return longest
    return low // block * block or least
