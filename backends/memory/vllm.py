"""vLLM's memory: what must fit into `gpu_memory_utilization x total` of each device.

Sources, in vLLM 0.23 to 0.32: v1/worker/gpu_worker.py determine_available_memory (budget, profile run),
v1/core/kv_cache_utils.py check_enough_kv_cache_memory (one request of max_model_len must fit),
v1/kv_cache_interface.py max_memory_usage_bytes (cells by kind of layer), engine/arg_utils.py (defaults).
Graphs are captured after the cache was sized; since 0.21 they are estimated before and taken out of the budget, until
then they lived in the tenth of the device that `gpu_memory_utilization` leaves. vLLM-Ascend follows the same arithmetic
with numbers of its own (vllm_ascend.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from backends.memory.ranks import Ranks, layer_bytes, weight_bytes
from backends.options import OptionValue
from gpustack_lite.domain import DeviceKind, LayerGroup, Memory, ModelFacts, Term
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
RUNTIME_BYTES = 358 * MIB
"""What torch does not count (context, NCCL, workspaces). vllm#10517 printed 23.58 x 0.9 = 17.06 + 3.81 + 0.35 GiB."""
POOLED_KINDS = frozenset({"embedding", "reranker", "classifier"})
_LORA_ITEM_BYTES = 2
GRAPH_BYTES = 750 * MIB
"""An allowance, no formula: the most that was printed, "Estimated CUDA graph memory: 0.73 GiB total" for 86 graphs
(vllm#39559); 16 graphs took 0.36 (gpustack/runner#251). Inside of the budget since vLLM 0.21 (gpu_worker.py)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that decide about memory, with vLLM's defaults filled in for a device of this size."""

    batched_tokens: int
    sequences: int
    block: int
    cache_item_bytes: float
    lora_ranks: int = 0
    """Rows of adapters that are kept ready: max-loras x max-lora-rank."""


def settings(
    options: Mapping[str, OptionValue],
    device_bytes: int,
    context: int | None,
    *,
    block: int = DEFAULT_BLOCK,
    pools: bool = False,
) -> Settings:
    """Without chunked prefill (and where texts are pooled) a whole prompt must fit into a batch; else it need not."""
    is_large = device_bytes >= LARGE_DEVICE_BYTES
    batched = _number(options, "max-num-batched-tokens") or (BATCHED_TOKENS_LARGE if is_large else BATCHED_TOKENS)
    if pools or options.get("enable-chunked-prefill") is False:
        batched = max(batched, context or batched)
    kind = str(options.get("kv-cache-dtype", "auto"))
    return Settings(
        batched_tokens=batched,
        sequences=_number(options, "max-num-seqs") or (SEQUENCES_LARGE if is_large else SEQUENCES),
        block=_number(options, "block-size") or block,
        cache_item_bytes=_ITEM_BYTES.get(kind, 2),
        lora_ranks=_lora_ranks(options),
    )


def _lora_ranks(options: Mapping[str, OptionValue]) -> int:
    """LoRAConfig: one adapter of rank 16 unless it says otherwise."""
    if options.get("enable-lora") is not True:
        return 0
    return (_number(options, "max-loras") or 1) * (_number(options, "max-lora-rank") or 16)


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
    if is_encoder(facts):
        return 0
    total = sum(group.count * _layer_cache_bytes(group, ranks, chosen, context) for group in facts.layers)
    layers = facts.layer_count or 1
    return round(total * -(-layers // ranks.pipeline) / layers)


def is_encoder(facts: ModelFacts) -> bool:
    """It reads a text once and keeps nothing of it (attention.py: encoder-only layers have no KVCacheSpec)."""
    return facts.kind in POOLED_KINDS and "bert" in (facts.architecture or "").lower()


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


def lora_bytes(facts: ModelFacts, ranks: Ranks, chosen: Settings) -> int:
    """Stacked adapters (lora/layers): for every projection a row of its input and one of its output for each rank.

    A layer has query and output (hidden and heads x length each), key and value, and three of the feed-forward; only
    the wider side of each is split over the ranks, so none is counted as split.
    """
    hidden, width = facts.embedding_length or 0, facts.feed_forward_length or 4 * (facts.embedding_length or 0)
    queries = (facts.head_count or 0) * (facts.key_length or 0)
    keys = max((group.kv_heads * group.key_length for group in facts.layers), default=0)
    of_layer = 2 * (hidden + queries) + 2 * (hidden + keys) + 3 * (hidden + width)
    layers = -(-(facts.layer_count or 0) // ranks.pipeline)
    return chosen.lora_ranks * layers * of_layer * _LORA_ITEM_BYTES


def memory(
    facts: ModelFacts, ranks: Ranks, chosen: Settings, context: int, runtime_bytes: int = RUNTIME_BYTES
) -> Memory:
    """For the whole replica; `terms` are those of the fullest device, and their sum must fit into the budget.

    Raises:
        Refusal: `cannot_estimate`.
    """
    weights = weight_bytes(facts, ranks) + rotary_bytes(facts)
    cache, activation = cache_bytes(facts, ranks, chosen, context), activation_bytes(facts, ranks, chosen)
    lora = lora_bytes(facts, ranks, chosen)
    terms = (
        Term("term_weights", weights),
        Term("term_cache", cache, {"context_length": context}),
        Term("term_activation", activation, {"batched_tokens": chosen.batched_tokens}),
        *((Term("term_lora", lora, {"lora_ranks": chosen.lora_ranks}),) if lora else ()),
        Term("term_runtime", runtime_bytes),
    )
    devices = ranks.devices
    return Memory(
        weights_bytes=weights * devices,
        kv_bytes_per_token=0 if is_encoder(facts) else per_token(facts, ranks, chosen) * devices,
        kv_bytes=cache * devices,
        activation_bytes=activation * devices,
        overhead_bytes=(runtime_bytes + lora) * devices,
        terms=terms,
    )


def with_graphs(found: Memory, graph_bytes: int, devices: int) -> Memory:
    if not graph_bytes:
        return found
    terms = (*found.terms, Term("term_graphs", graph_bytes))
    return replace(found, overhead_bytes=found.overhead_bytes + graph_bytes * devices, terms=terms)


@dataclass(frozen=True, slots=True)
class Reserving:
    """vLLM under one model's options, as `fitting.estimates` asks it. What is claimed is the share that it reserves."""

    values: Mapping[str, OptionValue]
    kinds: frozenset[DeviceKind]
    block: int = DEFAULT_BLOCK
    runtime_bytes: int = RUNTIME_BYTES
    link_bytes: int = 0
    """More, for each device, where there are several: buffers of collective communication."""
    graph_bytes: int = 0
    """What captured graphs take, unless `enforce-eager` says that there are none."""

    def memory(self, facts: ModelFacts, ranks: Ranks, room_bytes: int, context: int) -> Memory:
        chosen = self.chosen(facts, room_bytes, context)
        runtime = self.runtime_bytes + (self.link_bytes if ranks.devices > 1 else 0)
        found = memory(facts, ranks, chosen, context, runtime)
        graphs = 0 if self.values.get("enforce-eager") is True or is_encoder(facts) else self.graph_bytes
        return with_graphs(found, graphs, ranks.devices)

    def chosen(self, facts: ModelFacts, room_bytes: int, context: int) -> Settings:
        return settings(self.values, room_bytes, context, block=self.block, pools=facts.kind in POOLED_KINDS)

    def budget_bytes(self, room_bytes: int) -> int:
        return int(room_bytes * utilization(self.values))

    def pool_bytes(self, room_bytes: int) -> int | None:
        return None

    def claim_bytes(self, room_bytes: int, found: Memory) -> int:
        return self.budget_bytes(room_bytes)

    def share_bytes(self, room_bytes: int, found: Memory) -> int | None:
        """On GPUs, which are shared by bytes, what is needed and 2 % for graphs; in thousandths, as it is told."""
        if "cuda" not in self.kinds or "gpu-memory-utilization" in self.values:
            return None
        needed = sum(term.size_bytes for term in found.terms)
        share = ceil(1000 * needed / room_bytes + 20) / 1000
        return int(room_bytes * share) if share < utilization(self.values) else None


def utilization(options: Mapping[str, OptionValue]) -> float:
    return float(options.get("gpu-memory-utilization", DEFAULT_UTILIZATION))
