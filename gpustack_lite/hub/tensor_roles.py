"""Tensors of a checkpoint, summed by what engines do with them; names as transformers' modelling files give them."""

import re
from collections.abc import Iterable

from gpustack_lite.domain import WeightGroup, WeightRole
from gpustack_lite.hub.safetensors import Tensor

_RULES: tuple[tuple[WeightRole, re.Pattern[str]], ...] = (
    ("vision", re.compile(r"(?:^|\.)(?:visual|vision_tower|vision_model|vit|multi_modal_projector|mm_projector)\.")),
    ("draft", re.compile(r"(?:^|\.)(?:mtp|nextn|eagle)\.")),
    ("experts", re.compile(r"\.(?:experts|block_sparse_moe\.experts)[._]")),
    ("output", re.compile(r"(?:^|\.)(?:lm_head|output_layer|embed_out)\.")),
    (
        "embedding",
        re.compile(r"(?:embed_tokens|word_embeddings|position_embeddings|token_type_embeddings|\bwte\b|\bwpe\b)"),
    ),
    (
        "latent_attention",
        re.compile(r"\.(?:kv_a_proj_with_mqa|kv_b_proj|q_a_proj|q_b_proj|kv_a_layernorm|q_a_layernorm)\."),
    ),
    ("attention", re.compile(r"\.(?:self_attn|self_attention|attention|attn|linear_attn|mixer|mamba)\.")),
    ("feed_forward", re.compile(r"\.(?:mlp|feed_forward|ffn|intermediate|output\.dense|shared_experts?|fc1|fc2)\b")),
)


def role_of(name: str) -> WeightRole:
    return next((role for role, pattern in _RULES if pattern.search(name)), "other")


def groups_of(tensors: Iterable[Tensor], draft_layer: int | None = None) -> tuple[WeightGroup, ...]:
    """`draft_layer` is the first layer behind the model's own: DeepSeek stores its MTP layers under such numbers.

    The dtype of a group is that of most of its bytes.
    """
    sums: dict[WeightRole, list[Tensor]] = {}
    for tensor in tensors:
        is_draft = draft_layer is not None and f".layers.{draft_layer}." in f".{tensor.name}"
        sums.setdefault("draft" if is_draft else role_of(tensor.name), []).append(tensor)
    return tuple(_group(role, found) for role, found in sums.items())


def _group(role: WeightRole, tensors: list[Tensor]) -> WeightGroup:
    by_dtype: dict[str, int] = {}
    for tensor in tensors:
        by_dtype[tensor.dtype] = by_dtype.get(tensor.dtype, 0) + tensor.size_bytes
    most = max(by_dtype, key=lambda dtype: (by_dtype[dtype], dtype))
    size, count = sum(each.size_bytes for each in tensors), sum(each.parameter_count for each in tensors)
    return WeightGroup(role, size, count, most)
