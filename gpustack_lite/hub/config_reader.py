"""A config.json as one flat set of fields, whatever the family calls them and wherever it nests them."""

from collections.abc import Mapping
from typing import Any

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "num_decoder_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": ("num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num"),
    "head_dim": ("head_dim", "kv_channels", "attention_head_dim"),
    "ffn": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "encoder_ffn_dim"),
    "vocab": ("padded_vocab_size", "vocab_size"),
    "context": ("max_position_embeddings", "seq_length", "n_positions", "max_seq_len", "model_max_length"),
    "experts": ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"),
    "experts_per_token": ("num_experts_per_tok", "experts_per_token", "moe_topk", "moe_top_k", "num_experts_per_token"),
    "expert_ffn": ("moe_intermediate_size", "expert_intermediate_size"),
    "window": ("sliding_window", "window_size", "sliding_window_size"),
}
"""One name of ours -> the names of the families, in the order in which they are believed."""
NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "gemma2": {"tie_word_embeddings": True, "head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2},
    "gemma3_text": {
        "tie_word_embeddings": True,
        "vocab_size": 262_208,
        "max_position_embeddings": 131_072,
        "head_dim": 256,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
    },
    "gemma": {"tie_word_embeddings": True, "head_dim": 256},
    "cohere": {"tie_word_embeddings": True},
    "cohere2": {"tie_word_embeddings": True, "sliding_window_pattern": 4},
    "gpt2": {"tie_word_embeddings": True},
    "llama": {"vocab_size": 32_000, "max_position_embeddings": 2048},
    "mistral": {"head_dim": None},
    "qwen2": {"attention_bias": True},
    "qwen2_moe": {"attention_bias": True},
    "qwen2_vl": {"attention_bias": True},
    "qwen2_5_vl": {"attention_bias": True},
    "qwen2_5_vl_text": {"attention_bias": True},
    "qwen2_vl_text": {"attention_bias": True},
}
"""What transformers' configuration classes fill in where a file is silent, as far as it matters for memory."""


_COUNT_FROM_PADDING = frozenset({"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer"})
"""Their first token stands at position padding + 1, so that many positions are never used."""


class Config:
    """Read-only. A field that is absent, null or of the wrong type is None, never zero."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.outer = content
        nested = next((content[key] for key in NESTED if isinstance(content.get(key), dict)), None)
        if nested is not None and isinstance(nested.get("text_config"), dict):
            nested = nested["text_config"]
        self.model_type = str((nested or {}).get("model_type") or content.get("model_type") or "")
        silent = DEFAULTS.get(self.model_type, {})
        own = {key: value for key, value in (nested or {}).items() if value is not None}
        said = {key: value for key, value in content.items() if value is not None}
        self._fields = {**silent, **said, **own}

    def raw(self, key: str) -> Any:
        return self._fields.get(key)

    def whole(self, name: str) -> int | None:
        """By our name, else by the file's own."""
        for key in SPELLINGS.get(name, (name,)):
            value = self._fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
        return None

    @property
    def context(self) -> int | None:
        """Tokens of one request."""
        positions = self.whole("context")
        if positions is None or self.model_type not in _COUNT_FROM_PADDING:
            return positions
        padding = self.whole("pad_token_id")
        return max(positions - (1 if padding is None else padding) - 1, 0) or None

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self._fields.get(key)
        return value if isinstance(value, bool) else default

    def text(self, key: str) -> str | None:
        value = self._fields.get(key)
        return value[:200] if isinstance(value, str) else None

    def section(self, key: str) -> "Config | None":
        value = self.outer.get(key)
        return Config(value) if isinstance(value, dict) else None

    def words(self, key: str) -> tuple[str, ...]:
        value = self._fields.get(key)
        return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()

    @property
    def architecture(self) -> str | None:
        found = self.outer.get("architectures")
        return str(found[0])[:200] if isinstance(found, list) and found else None

    @property
    def kv_heads(self) -> int | None:
        """GLM names groups only where several queries share them; absent means one for each head."""
        if self.raw("multi_query_attention") is False:
            return self.whole("heads")
        if self.raw("multi_query") is True:
            return 1
        return self.whole("kv_heads") or self.whole("heads")

    @property
    def head_dim(self) -> int | None:
        said, hidden, heads = self.whole("head_dim"), self.whole("hidden"), self.whole("heads")
        return said or (hidden // heads if hidden and heads else None)

    @property
    def dtype(self) -> str | None:
        for key in ("dtype", "torch_dtype"):
            value = self.text(key) or self.outer.get(key)
            if isinstance(value, str):
                return value.removeprefix("torch.")
        return None
