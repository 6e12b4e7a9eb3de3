"""How much memory llama.cpp takes for a model, by its own allocation rules.

Measured against xllamacpp 2026.10 (llama.cpp of October 2026) on x86-64; docs/backends.md keeps the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from backends.options import OptionValue
from gpustack_lite.domain import Memory, ModelFacts, Term
from gpustack_lite.errors import Refusal

MIB = 1024**2
DEFAULT_PARALLEL = 4
DEFAULT_UBATCH = 512
LONGEST_DEFAULT_CONTEXT = 32_768
LONGEST_DEFAULT_INPUT = 2048
SHORTEST_DEFAULT_CONTEXT = 2048
SHORTEST_DEFAULT_INPUT = 512
CHECKPOINTS = 4
_CELL_PADDING = 256
_BITS_PER_CACHE_VALUE: Mapping[str, float] = {
    "f32": 32,
    "f16": 16,
    "bf16": 16,
    "q8_0": 8.5,
    "q5_1": 6,
    "q5_0": 5.5,
    "q4_1": 5,
    "q4_0": 4.5,
    "iq4_nl": 4.5,
}
"""ggml.c, type_traits: a block of 32 values and its scales."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the context is cut: `context_length` tokens for each of `parallel` requests, `cells` in each of `streams`."""

    context_length: int
    parallel: int
    streams: int
    ubatch: int
    pools: bool

    @property
    def cells(self) -> int:
        """llama_context pads the context of a sequence to 256 cells."""
        return -(-self.context_length // _CELL_PADDING) * _CELL_PADDING

    @property
    def total_context(self) -> int:
        """What --ctx-size must say: it is divided over the slots unless they share one cache."""
        return self.cells * self.streams


def pooling_of(facts: ModelFacts, values: Mapping[str, OptionValue]) -> str | None:
    """Whether the engine is to serve "embeddings" or "reranking" instead of text."""
    if values.get("reranking") or (facts.pooling == "rank" and "embeddings" not in values):
        return "reranking"
    if values.get("embeddings") or (facts.pooling and "embeddings" not in values):
        return "embeddings"
    return None


def shapes(facts: ModelFacts, values: Mapping[str, OptionValue]) -> tuple[Shape, ...]:
    """The wanted context alone if the user gave one; otherwise the trained one, then halves of it.

    Raises:
        Refusal: `options_conflict`, `option_invalid` or `context_beyond_training`.
    """
    parallel = _positive(values, "parallel", DEFAULT_PARALLEL)
    wanted = _wanted(values, parallel)
    trained = facts.trained_context_length
    if wanted and trained and wanted > trained:
        raise Refusal("context_beyond_training", param="options.max-model-len", wanted=wanted, trained=trained)
    pools = pooling_of(facts, values) is not None
    candidates = (wanted,) if wanted else _candidates(trained or 2 * SHORTEST_DEFAULT_CONTEXT, pools=pools)
    return tuple(_shape(context, parallel, values, pools=pools) for context in candidates)


def _shape(context: int, parallel: int, values: Mapping[str, OptionValue], *, pools: bool) -> Shape:
    """A text to embed goes through in one piece: the physical batch must hold it (server-context.cpp)."""
    least = context if pools else 1
    return Shape(
        context_length=context,
        parallel=parallel,
        streams=1 if values.get("kv-unified") else parallel,
        ubatch=max(_positive(values, "ubatch-size", DEFAULT_UBATCH), least),
        pools=pools,
    )


def _wanted(values: Mapping[str, OptionValue], parallel: int) -> int | None:
    per_request = _positive(values, "max-model-len", 0)
    total = _positive(values, "ctx-size", 0)
    share = total if values.get("kv-unified") else total // parallel
    if per_request and total and share != per_request:
        raise Refusal(
            "options_conflict", param="options.ctx-size", total=total, parallel=parallel, per_request=per_request
        )
    if total and not share:
        raise Refusal(
            "option_invalid", param="options.ctx-size", option="ctx-size", value=total, expected=">= parallel"
        )
    return per_request or share or None


def _candidates(trained: int, *, pools: bool) -> tuple[int, ...]:
    context = min(trained, LONGEST_DEFAULT_INPUT if pools else LONGEST_DEFAULT_CONTEXT)
    shortest = SHORTEST_DEFAULT_INPUT if pools else SHORTEST_DEFAULT_CONTEXT
    found = [context]
    while context > shortest:
        context = max(context // 2 // _CELL_PADDING * _CELL_PADDING, shortest)
        found.append(context)
    return tuple(found)


def _positive(values: Mapping[str, OptionValue], name: str, default: int) -> int:
    value = int(values.get(name, default))
    if value < 0 or (value == 0 and name != "ctx-size" and default):
        raise Refusal("option_invalid", param=f"options.{name}", option=name, value=value, expected="> 0")
    return value


def memory(facts: ModelFacts, values: Mapping[str, OptionValue], shape: Shape) -> Memory:
    """Raises:
    Refusal: `cannot_estimate` where the header does not say enough.
    """
    terms = _terms(facts, values, shape)
    sizes = {each.code: each.size_bytes for each in terms}
    named = sizes["term_weights"] + sizes["term_cache"] + sizes["term_activation"]
    return Memory(
        weights_bytes=sizes["term_weights"],
        kv_bytes_per_token=_kv_bytes_per_token(facts, values),
        kv_bytes=sizes["term_cache"],
        activation_bytes=sizes["term_activation"],
        overhead_bytes=sum(sizes.values()) - named,
        terms=terms,
    )


def _terms(facts: ModelFacts, values: Mapping[str, OptionValue], shape: Shape) -> tuple[Term, ...]:
    """In the buffers that llama.cpp names in its log, and what its process holds beside them."""
    kept = max(int(values.get("cache-ram", 0)), 0) * MIB + _checkpoint_bytes(facts, values, shape)
    return (
        Term("term_weights", _said(facts.weights_bytes, facts, "weights")),
        Term("term_cache", _kv_bytes(facts, values, shape), {"context_length": shape.context_length}),
        Term("term_activation", _compute_bytes(facts, values, shape), {"batched_tokens": shape.ubatch}),
        Term("term_outputs", _output_bytes(facts, shape)),
        *((Term("term_repacked", repacked),) if (repacked := _repacked_bytes(facts)) else ()),
        *((Term("term_prompts", kept),) if kept else ()),
        Term("term_process", _process_bytes(facts, shape)),
    )


def _kv_bytes_per_token(facts: ModelFacts, values: Mapping[str, OptionValue]) -> int:
    """llama-kv-cache.cpp: per layer n_head_kv x (key length + value length) in the cache's types."""
    return sum(_layer_bytes(facts, values, heads) for heads in _kv_heads(facts))


def _kv_heads(facts: ModelFacts) -> tuple[int, ...]:
    if not facts.kv_head_counts:
        raise Refusal("cannot_estimate", path=facts.path, missing="attention.head_count")
    return facts.kv_head_counts


def _layer_bytes(facts: ModelFacts, values: Mapping[str, OptionValue], kv_heads: int) -> int:
    """Of latent attention only the latents are kept, in the type of keys (llama-kv-cache.cpp: has_v = !is_mla)."""
    key = _said(facts.key_length, facts, "attention.key_length") * _bytes_per_value(values, "cache-type-k")
    if any(group.kind == "latent" for group in facts.layers):
        return int(kv_heads * key)
    value = _said(facts.value_length, facts, "attention.value_length") * _bytes_per_value(values, "cache-type-v")
    return int(kv_heads * (key + value))


def _bytes_per_value(values: Mapping[str, OptionValue], option: str) -> float:
    return _BITS_PER_CACHE_VALUE[str(values.get(option, "f16"))] / 8


def _kv_bytes(facts: ModelFacts, values: Mapping[str, OptionValue], shape: Shape) -> int:
    """Layers behind a window keep min(context, window + ubatch) cells (llama-kv-cache-iswa.cpp), unless --swa-full.

    Which layers those are is not always said: the ones with the fewest heads are taken, so that the sum is never low.
    """
    heads = sorted(_kv_heads(facts))
    windowed = 0 if values.get("swa-full") else facts.sliding_window_layer_count or 0
    window_cells = _window_cells(facts, shape)
    cells = [min(window_cells, shape.cells)] * windowed + [shape.cells] * (len(heads) - windowed)
    kept = sum(_layer_bytes(facts, values, each) * count for each, count in zip(heads, cells, strict=False))
    return kept * shape.streams + facts.state_bytes_per_sequence * shape.parallel


def _window_cells(facts: ModelFacts, shape: Shape) -> int:
    sequences = shape.parallel if shape.streams == 1 else 1
    cells = (facts.sliding_window or 0) * sequences + shape.ubatch
    return -(-cells // _CELL_PADDING) * _CELL_PADDING


def _compute_bytes(facts: ModelFacts, values: Mapping[str, OptionValue], shape: Shape) -> int:
    """Fitted to "compute buffer size" as printed in 34 loads (docs/memory.md): within 0.2 MiB, and never too small.

    Per token of the physical batch 5 x embedding + 3 x feed-forward floats and the masks in F16, one of all cells and
    one of the window's. Where it is larger, instead of these floats: without flash attention 9 x embedding and the
    scores of all heads; of a model that pools and has an output matrix 5 x embedding and the logits of every token.
    """
    embedding = _said(facts.embedding_length, facts, "embedding_length")
    floats = 5 * embedding + 3 * (facts.feed_forward_length or 4 * embedding)
    if values.get("flash-attn") == "off":
        floats = max(floats, 9 * embedding + shape.cells * (facts.head_count or 1))
    if shape.pools and _has_head(facts):
        floats = max(floats, 5 * embedding + (facts.vocab_size or 0))
    window_cells = min(_window_cells(facts, shape), shape.cells) if facts.sliding_window else 0
    return shape.ubatch * (4 * floats + 2 * (shape.cells + window_cells))


def _output_bytes(facts: ModelFacts, shape: Shape) -> int:
    """A row of logits for every slot; where texts are pooled the vectors of every token of a batch, and an eighth of
    the logits (measured with long texts).
    """
    vocabulary = facts.vocab_size or 0
    eighth = vocabulary // 2 if _has_head(facts) else 0
    pooled = shape.ubatch * (8 * (facts.embedding_length or 0) + eighth) if shape.pools else 0
    return 4 * vocabulary * shape.parallel + pooled


def _process_bytes(facts: ModelFacts, shape: Shape) -> int:
    """Python, the library and the vocabulary: 40 to 108 MiB were held besides all printed buffers (docs/memory.md)."""
    return 56 * MIB + 250 * (facts.vocab_size or 0) + 2 * shape.ubatch * (facts.feed_forward_length or 0)


def is_read(facts: ModelFacts) -> bool:
    """Whether the weights are better read than mapped: the mapped original of what ggml re-orders stays resident."""
    return 2 * facts.repack_bytes > (facts.weights_bytes or 0)


def _repacked_bytes(facts: ModelFacts) -> int:
    """The re-ordered copy lies beside a mapped original; of a file that is read only a tied output is there twice."""
    return facts.repack_extra_bytes if is_read(facts) else facts.repack_bytes


def _has_head(facts: ModelFacts) -> bool:
    """A text model that embeds computes F32 logits for every token all the same (measured, an eighth added)."""
    return "bert" not in (facts.architecture or "")


def _checkpoint_bytes(facts: ModelFacts, values: Mapping[str, OptionValue], shape: Shape) -> int:
    """server-context.cpp keeps copies of what a window or a recurrence would have forgotten."""
    windowed = facts.sliding_window_layer_count or 0
    if not (windowed or facts.state_bytes_per_sequence):
        return 0
    heads = max(_kv_heads(facts), default=0)
    one = windowed * _layer_bytes(facts, values, heads) * min(_window_cells(facts, shape), shape.cells)
    count = int(values.get("ctx-checkpoints", CHECKPOINTS))
    return count * shape.parallel * (one + facts.state_bytes_per_sequence)


def _said(value: int | None, facts: ModelFacts, name: str) -> int:
    if value is None:
        raise Refusal("cannot_estimate", path=facts.path, missing=name)
    return value
