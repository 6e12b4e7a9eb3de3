"""How many ranks a model can be spread over: what divides, and what engines refuse otherwise."""

from collections.abc import Iterator

from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal

MOST_TENSOR = 64


def tensor_sizes(facts: ModelFacts, most: int = MOST_TENSOR) -> tuple[int, ...]:
    """Ascending, from 1. A size divides the attention heads, and the KV heads or is divided by them, where there are any.

    vLLM: model.py verify_with_parallel_config (heads), and QKVParallelLinear (KV heads are split or replicated whole).
    The heads of a vision tower must divide too. Vocabularies are padded, so they forbid nothing.
    """
    return tuple(size for size in range(1, most + 1) if why_not(facts, size) is None)


def why_not(facts: ModelFacts, size: int) -> Refusal | None:
    """The first rule that forbids this tensor parallel size, with its numbers."""
    heads = facts.head_count
    if heads and heads % size:
        return Refusal("heads_not_divisible", param="options.tensor-parallel-size", heads=heads, size=size)
    for kv_heads in sorted({group.kv_heads for group in facts.layers if group.kv_heads}):
        if kv_heads % size and size % kv_heads:
            return Refusal("kv_heads_not_divisible", param="options.tensor-parallel-size", heads=kv_heads, size=size)
    vision = facts.vision_head_count
    if vision and vision % size:
        return Refusal("vision_heads_not_divisible", param="options.tensor-parallel-size", heads=vision, size=size)
    return None


def check_tensor_size(facts: ModelFacts, size: int) -> None:
    """
    Raises:
        Refusal: `heads_not_divisible` and its like, naming the sizes that are allowed.
    """
    refusal = why_not(facts, size)
    if refusal is not None:
        allowed = ", ".join(map(str, tensor_sizes(facts, 16)))
        raise Refusal(refusal.code, param=refusal.param, **{**refusal.params, "allowed": allowed})


def pipeline_shares(facts: ModelFacts, size: int) -> Iterator[float]:
    """The share of the layers that each pipeline stage carries; the first ones take what does not divide."""
    layers = facts.layer_count or size
    base, more = divmod(layers, size)
    for stage in range(size):
        yield (base + (stage < more)) / layers
