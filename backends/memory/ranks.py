"""What the fullest rank of a replica holds: weights by role, and the cache of one token by the kind of layer."""

from dataclasses import dataclass

from gpustack_lite.domain import LayerGroup, ModelFacts, WeightGroup
from gpustack_lite.errors import Refusal


@dataclass(frozen=True, slots=True)
class Ranks:
    """Sizes of the dimensions. Experts are spread over tensor x data where `expert` is set, else cut by tensor."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: bool = False

    @property
    def devices(self) -> int:
        return self.tensor * self.pipeline * self.data


def weight_bytes(facts: ModelFacts, ranks: Ranks) -> int:
    """Of the fullest rank.

    Split over tensor ranks: embedding and output by vocabulary, attention by head, feed-forward by width. KV heads
    fewer than ranks are held whole by each. Of latent attention (MLA) the projections into the rank are held by all,
    about a quarter of it. Norms, routers and what has no role are held by all. A pipeline's first stage has the
    embedding, its last one the output. Draft layers (MTP) are loaded by engines only when they are asked to, so they
    are not counted here.

    Raises:
        Refusal: `cannot_estimate` where nobody knows the weights.
    """
    if not facts.weights:
        return _whole(facts) // (ranks.tensor * ranks.pipeline)
    layered = sum(_of_rank(group, facts, ranks) for group in facts.weights if group.role not in {"embedding", "output"})
    tables = sum(_of_rank(group, facts, ranks) for group in facts.weights if group.role in {"embedding", "output"})
    if ranks.pipeline == 1:
        return layered + tables
    stage = -(-(facts.layer_count or ranks.pipeline) // ranks.pipeline) / max(facts.layer_count or ranks.pipeline, 1)
    ends = max(
        (_of_rank(group, facts, ranks) for group in facts.weights if group.role in {"embedding", "output"}), default=0
    )
    return round(layered * stage) + ends


def _whole(facts: ModelFacts) -> int:
    if facts.weights_bytes is None:
        raise Refusal("cannot_estimate", path=facts.path, missing=", ".join(facts.unknown) or "weights")
    return facts.weights_bytes


def _of_rank(group: WeightGroup, facts: ModelFacts, ranks: Ranks) -> int:
    size, tensor = group.size_bytes, ranks.tensor
    if group.role == "draft":
        return 0
    if group.role in {"other", "vision"}:
        return size
    if group.role == "experts":
        return -(-size // (tensor * ranks.data if ranks.expert else tensor))
    if group.role == "latent_attention":
        return round(size * (0.75 / tensor + 0.25)) if tensor > 1 else size
    if group.role == "attention" and tensor > 1:
        return _attention(size, facts, tensor)
    return -(-size // tensor)


def _attention(size: int, facts: ModelFacts, tensor: int) -> int:
    """Queries and their output are split by head; keys and values too while there are enough KV heads."""
    heads, kv_heads = facts.head_count or 0, max((group.kv_heads for group in facts.layers), default=0)
    if not heads or not kv_heads or kv_heads % tensor == 0:
        return -(-size // tensor)
    units = 2 * heads + 2 * kv_heads
    own = 2 * heads / tensor + 2 * max(1, kv_heads // tensor)
    return round(size * own / units)


def kv_bytes_per_token(facts: ModelFacts, ranks: Ranks, item_bytes: float) -> int:
    """Over the layers that keep every token, of one rank; latents are held by each rank in full."""
    stage = -(-(facts.layer_count or 1) // ranks.pipeline) / max(facts.layer_count or 1, 1)
    whole = sum(group.count * layer_bytes(group, ranks.tensor, item_bytes) for group in facts.layers)
    return round(whole * stage)


def layer_bytes(group: LayerGroup, tensor: int, item_bytes: float) -> float:
    """Of one token in one layer of one rank: keys and values of its heads, or the latent."""
    if group.kind == "latent":
        return group.latent_length * item_bytes
    if group.kind in {"recurrent", "none"}:
        return 0
    heads = max(1, -(-group.kv_heads // tensor))
    return heads * (group.key_length + group.value_length) * item_bytes
