"""How many parameters a config.json stands for, by what engines do with them, and how many bytes each takes.

The shapes are those of the modelling files in transformers. Whoever has tensor headers believes those instead: this
is for what is to be judged before anything is downloaded.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack_lite.domain import WeightGroup, WeightRole
from gpustack_lite.hub.config_layers import layer_kinds
from gpustack_lite.hub.config_reader import Config

_ENCODERS = ("bert", "roberta", "xlm-roberta", "distilbert", "mpnet", "electra", "modernbert", "new", "nomic_bert")
_UNGATED = frozenset(
    {"gpt2", "gpt_neox", "opt", "bloom", "phi", "falcon", "gptj", "nemotron", "nemotron_h", "gpt_bigcode"}
)
_ITEM_BYTES = {
    "float32": 4.0,
    "float64": 8.0,
    "float16": 2.0,
    "bfloat16": 2.0,
    "float8_e4m3fn": 1.0,
    "float8_e5m2": 1.0,
    "int8": 1.0,
}
_QUANTISED_ROLES: frozenset[WeightRole] = frozenset(
    {"attention", "latent_attention", "feed_forward", "experts", "draft"}
)


@dataclass(frozen=True, slots=True)
class Count:
    """Parameters of one role: `linear` are matrices that quantisers touch, `plain` norms, biases and tables."""

    role: WeightRole
    linear: int = 0
    plain: int = 0


def weights_of(config: Config) -> tuple[WeightGroup, ...]:
    """By role; empty where the shapes are not said."""
    dtype = _dtype(config)
    bits = Bits.of(config)
    totals: dict[WeightRole, list[int]] = {}
    for count in counts(config):
        sums = totals.setdefault(count.role, [0, 0])
        sums[0] += count.linear
        sums[1] += count.plain
    return tuple(_group(role, linear, plain, dtype, bits) for role, (linear, plain) in totals.items() if linear + plain)


def _group(role: WeightRole, linear: int, plain: int, dtype: str, bits: "Bits | None") -> WeightGroup:
    item = _ITEM_BYTES.get(dtype, 2.0)
    if bits is None or not bits.touches(role):
        return WeightGroup(role, round((linear + plain) * item), linear + plain, dtype)
    return WeightGroup(role, round(linear * bits.per_weight / 8 + plain * item), linear + plain, bits.name)


def _dtype(config: Config) -> str:
    return config.dtype or ("float32" if is_encoder(config) else "bfloat16")


def is_encoder(config: Config) -> bool:
    return config.model_type in _ENCODERS


@dataclass(frozen=True, slots=True)
class Bits:
    """What a quantiser stores for one weight, scales included, and which roles it leaves alone."""

    name: str
    per_weight: float
    spared: frozenset[WeightRole] = frozenset()

    def touches(self, role: WeightRole) -> bool:
        return role in _QUANTISED_ROLES and role not in self.spared

    @classmethod
    def of(cls, config: Config) -> "Bits | None":
        """Raises nothing: a method that is not known is taken for eight bits where it says no number."""
        found = config.outer.get("quantization_config") or config.raw("quantization_config")
        if not isinstance(found, dict):
            return None
        method = str(found.get("quant_method") or found.get("quant_algo") or "").lower()
        return cls(method, _bits_per_weight(method, found), _spared(method, found))


def _bits_per_weight(method: str, found: Mapping[str, Any]) -> float:
    if method == "mxfp4":
        return 4 + 8 / 32  # OCP microscaling: a shared 8-bit exponent for 32 values
    if method in {"awq", "gptq"}:
        bits, group = _number(found.get("bits"), 4), _number(found.get("group_size"), 128)
        return bits + (16 + bits) / group if group > 0 else bits
    if method == "bitsandbytes":
        return 4.127 if found.get("load_in_4bit") else 8.0
    if method == "compressed-tensors":
        return _compressed_bits(found)
    if method == "fp8":
        return 8 + 32 / _block(found.get("weight_block_size"))
    return 8.0


def _compressed_bits(found: Mapping[str, Any]) -> float:
    groups = found.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict):
        return 8.0
    bits, group = _number(weights.get("num_bits"), 8), _number(weights.get("group_size"), 0)
    return bits + (16 / group if group > 0 else 0)


def _spared(method: str, found: Mapping[str, Any]) -> frozenset[WeightRole]:
    """Roles that a quantiser was told to leave; names of single small tensors are passed over."""
    if method == "mxfp4":
        return _QUANTISED_ROLES - {"experts"}
    names = [found.get(key) for key in ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules")]
    left = [each for listed in names if isinstance(listed, list) for each in listed if isinstance(each, str)]
    spared: set[WeightRole] = set()
    if any(each.rstrip("*$").endswith("self_attn") for each in left if "*" in each or each.startswith("re:")):
        spared |= {"attention", "latent_attention"}
    return frozenset(spared)


def _block(value: object) -> float:
    """How many weights share a float32 scale; so many that it does not matter where there are no blocks."""
    if not isinstance(value, Sequence) or not all(isinstance(each, int) and each > 0 for each in value):
        return 1e9
    return math.prod(value)


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


# --- counting --------------------------------------------------------------------------------------------------------


def counts(config: Config) -> Iterator[Count]:
    """Nothing where hidden size, layers or vocabulary are not said."""
    hidden, layers, vocab = config.whole("hidden"), config.whole("layers"), config.whole("vocab")
    if not (hidden and layers and vocab):
        return
    if is_encoder(config):
        yield from _encoder(config, hidden, layers, vocab)
        return
    yield Count("embedding", plain=vocab * hidden)
    if not config.flag("tie_word_embeddings"):
        yield Count("output", plain=vocab * hidden)
    yield Count("other", plain=hidden)
    for index, kind in enumerate(_mixers(config, layers)):
        yield from _mixer(config, kind, hidden)
        yield Count("other", plain=_norms(config) * hidden)
        yield from _feed_forward(config, index, hidden)
    yield from _draft(config, hidden, vocab)
    yield from _vision(config, hidden)


def is_tied(config: Config) -> bool:
    return config.flag("tie_word_embeddings")


def _norms(config: Config) -> int:
    return 4 if config.model_type.startswith(("gemma2", "gemma3")) else 2


def _mixers(config: Config, layers: int) -> Iterator[str]:
    """The rule that says what is kept says what is stored."""
    for kind in layer_kinds(config, layers):
        yield kind if kind in {"recurrent", "none"} else "attention"


def _mixer(config: Config, kind: str, hidden: int) -> Iterator[Count]:
    if kind == "none":
        return
    if kind == "recurrent":
        yield Count("attention", linear=_recurrent(config, hidden))
    elif config.whole("kv_lora_rank"):
        yield Count("latent_attention", linear=_latent(config, hidden))
    else:
        yield _plain_attention(config, hidden)


def _plain_attention(config: Config, hidden: int) -> Count:
    heads, kv_heads, length = config.whole("heads") or 0, config.kv_heads or 0, config.head_dim or 0
    queries = heads * length * (2 if config.model_type in {"qwen3_next", "qwen3_5", "qwen3_5_text"} else 1)
    keys = 2 * kv_heads * length
    biased = config.flag("attention_bias") or config.flag("add_qkv_bias") or config.flag("qkv_bias")
    bias = queries + keys if biased else 0
    norms = 2 * length if config.model_type.startswith(("qwen3", "gemma3")) else 0
    sinks = heads + hidden if config.model_type == "gpt_oss" else 0
    return Count("attention", linear=hidden * (queries + keys) + heads * length * hidden, plain=bias + norms + sinks)


def _latent(config: Config, hidden: int) -> int:
    """DeepSeek-V2's projections: keys and values go through a rank, queries too where there is one for them."""
    heads, rank = config.whole("heads") or 0, config.whole("kv_lora_rank") or 0
    nope, rope = config.whole("qk_nope_head_dim") or 0, config.whole("qk_rope_head_dim") or 0
    value, query_rank = config.whole("v_head_dim") or 0, config.whole("q_lora_rank")
    width = heads * (nope + rope)
    queries = hidden * query_rank + query_rank * width if query_rank else hidden * width
    return queries + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden


def _recurrent(config: Config, hidden: int) -> int:
    if (keys := config.whole("linear_num_key_heads")) is not None:
        values = config.whole("linear_num_value_heads") or keys
        key_width = keys * (config.whole("linear_key_head_dim") or 0)
        value_width = values * (config.whole("linear_value_head_dim") or 0)
        return hidden * (2 * key_width + 2 * value_width + 2 * values) + value_width * hidden
    if (heads := config.whole("mamba_num_heads")) is not None:
        inner = heads * (config.whole("mamba_head_dim") or 64)
        state = 2 * (config.whole("n_groups") or 8) * (config.whole("ssm_state_size") or 128)
        return hidden * (2 * inner + state + heads) + inner * hidden
    inner = (config.whole("mamba_expand") or 2) * hidden
    rank = config.whole("mamba_dt_rank") or -(-hidden // 16)
    state = config.whole("mamba_d_state") or 16
    return hidden * 2 * inner + inner * (rank + 2 * state) + rank * inner + inner * (state + 6) + inner * hidden


def _feed_forward(config: Config, index: int, hidden: int) -> Iterator[Count]:
    if not _has_experts(config, index):
        yield Count("feed_forward", linear=_mlp(config, hidden, config.whole("ffn") or 0))
        return
    experts, width = config.whole("experts") or 0, config.whole("expert_ffn") or config.whole("ffn") or 0
    bias = experts * (2 * width + hidden) if config.model_type == "gpt_oss" else 0
    yield Count("experts", linear=experts * _mlp(config, hidden, width), plain=bias)
    yield Count("other", plain=experts * hidden)
    shared = config.whole("shared_expert_intermediate_size")
    shared = (config.whole("n_shared_experts") or 0) * width if shared is None else shared
    if shared:
        yield Count("feed_forward", linear=_mlp(config, hidden, shared))


def _has_experts(config: Config, index: int) -> bool:
    if not config.whole("experts"):
        return False
    dense = config.raw("mlp_only_layers")
    if isinstance(dense, list) and index in dense:
        return False
    if (period := config.whole("expert_layer_period")) is not None and period > 0:
        return index % period == (config.whole("expert_layer_offset") or 0)
    if index < (config.whole("first_k_dense_replace") or 0):
        return False
    step = config.whole("decoder_sparse_step") or config.whole("moe_layer_freq") or 1
    return index % step == 0 if config.whole("moe_layer_freq") else (index + 1) % step == 0


def _mlp(config: Config, hidden: int, width: int) -> int:
    return (2 if config.model_type in _UNGATED else 3) * hidden * width


def _draft(config: Config, hidden: int, vocab: int) -> Iterator[Count]:
    """Layers that predict further tokens (MTP): stored beside the model with tables of their own."""
    for _ in range(config.whole("num_nextn_predict_layers") or 0):
        index = config.whole("layers") or 0
        for count in (*_mixer(config, "attention", hidden), *_feed_forward(config, index, hidden)):
            yield Count("draft", count.linear, count.plain)
        yield Count("draft", plain=2 * vocab * hidden + 2 * hidden * hidden)


def _vision(config: Config, hidden: int) -> Iterator[Count]:
    """A tower of transformer layers with a patch embedding, and what carries its output over."""
    vision = config.section("vision_config")
    if vision is None:
        return
    width = vision.raw("hidden_size") or vision.raw("embed_dim") or 0
    depth = vision.raw("num_hidden_layers") or vision.raw("depth") or 0
    ffn = vision.raw("intermediate_size") or 4 * width
    if not all(isinstance(each, int) and each > 0 for each in (width, depth, ffn)):
        return
    gated = 3 if config.model_type.startswith("qwen2_5_vl") or vision.model_type.startswith("qwen2_5_vl") else 2
    patch = vision.whole("patch_size") or 14
    embedding = 3 * patch * patch * width * (vision.whole("temporal_patch_size") or 1)
    merged = width * (vision.whole("spatial_merge_size") or 1) ** 2
    carried = merged * merged + merged * hidden if vision.whole("spatial_merge_size") else width * hidden
    yield Count("vision", plain=depth * (4 * width * width + gated * width * ffn) + embedding + carried)


def _encoder(config: Config, hidden: int, layers: int, vocab: int) -> Iterator[Count]:
    ffn = config.whole("ffn") or 4 * hidden
    positions = config.whole("context") or 0
    yield Count("embedding", plain=(vocab + positions + (config.whole("type_vocab_size") or 0) + 2) * hidden)
    yield Count("attention", linear=layers * 4 * hidden * hidden, plain=layers * 6 * hidden)
    yield Count("feed_forward", linear=layers * 2 * hidden * ffn, plain=layers * (ffn + 3 * hidden))
    if (config.architecture or "").endswith("ForSequenceClassification"):
        yield Count("other", plain=hidden * hidden + 2 * hidden + 1)
    else:
        yield Count("other", plain=hidden * hidden + hidden)
