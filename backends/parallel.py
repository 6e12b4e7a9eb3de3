"""How many ranks a model can be spread over: what divides, and what engines refuse otherwise."""

from typing import NamedTuple

from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal

MOST_TENSOR = 16


class Forbidden(NamedTuple):
    """The rule (a code of messages) and the heads that it is about."""

    code: str
    heads: int


def tensor_sizes(facts: ModelFacts, most: int = MOST_TENSOR) -> tuple[int, ...]:
    """Ascending, from 1. A size divides the attention heads, and the KV heads or is a multiple of them.

    vLLM: config/model.py verify_with_parallel_config (heads), and QKVParallelLinear (KV heads are split or repeated
    whole). The heads of a vision tower must divide too. Vocabularies are padded, so they forbid nothing. Whose heads
    nobody knows runs on one device.
    """
    if not facts.head_count:
        return (1,)
    return tuple(size for size in range(1, most + 1) if why_not(facts, size) is None)


def why_not(facts: ModelFacts, size: int) -> Forbidden | None:
    """The first rule that forbids this tensor parallel size."""
    if facts.head_count and facts.head_count % size:
        return Forbidden("heads_not_divisible", facts.head_count)
    for heads in sorted({group.kv_heads for group in facts.layers if group.kv_heads}):
        if heads % size and size % heads:
            return Forbidden("kv_heads_not_divisible", heads)
    if facts.vision_head_count and facts.vision_head_count % size:
        return Forbidden("vision_heads_not_divisible", facts.vision_head_count)
    return None


def check_tensor_size(facts: ModelFacts, size: int) -> None:
    """
    Raises:
        Refusal: `heads_not_divisible` and its like, naming the sizes that are allowed.
    """
    forbidden = why_not(facts, size)
    if forbidden is not None:
        allowed = ", ".join(map(str, tensor_sizes(facts)))
        param = "options.tensor-parallel-size"
        raise Refusal(forbidden.code, param=param, heads=forbidden.heads, size=size, allowed=allowed)
