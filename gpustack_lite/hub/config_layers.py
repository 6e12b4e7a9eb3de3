"""Which layers a config.json describes, by what each keeps per token or per sequence."""

from collections import Counter
from collections.abc import Iterator

from gpustack_lite.domain import LayerGroup
from gpustack_lite.hub.config_reader import Config

_SLIDING = frozenset({"sliding_attention", "chunked_attention", "local_attention", "local"})
_RECURRENT = frozenset({"linear_attention", "mamba", "mamba2", "recurrent", "conv", "ssm", "gated_delta_net"})
_STATE_ITEM_BYTES = 4
"""Engines keep the states of recurrences in float32 unless they are told otherwise."""
_CONV_ITEM_BYTES = 2


def layers_of(config: Config) -> tuple[LayerGroup, ...]:
    """Groups in the order of their first layer; empty where the number of layers or the heads are not said."""
    count = config.whole("layers")
    if not count or not config.kv_heads or not config.head_dim:
        return ()
    counted = Counter(_layer(config, kind) for kind in layer_kinds(config, count))
    return tuple(
        LayerGroup(
            number,
            layer.kind,
            layer.kv_heads,
            layer.key_length,
            layer.value_length,
            layer.window,
            layer.latent_length,
            layer.state_bytes,
        )
        for layer, number in counted.items()
    )


def layer_kinds(config: Config, count: int) -> Iterator[str]:
    named = config.words("layer_types") or config.words("layers_block_type")
    pattern = config.text("hybrid_override_pattern")
    if pattern:
        yield from ({"M": "recurrent", "*": "full"}.get(letter, "none") for letter in pattern[:count])
    elif len(named) >= count:
        yield from (_named(config, name) for name in named[:count])
    else:
        yield from (_by_rule(config, index, count) for index in range(count))


def _named(config: Config, name: str) -> str:
    if name in _SLIDING:
        return "sliding" if config.whole("window") else "full"
    return "recurrent" if name in _RECURRENT else "full"


def _by_rule(config: Config, index: int, count: int) -> str:
    """The rules of the families that name no types: an interval, a pattern, or a window for all."""
    interval = config.whole("full_attention_interval")
    if interval:
        return "full" if (index + 1) % interval == 0 else "recurrent"
    period = config.whole("attn_layer_period")
    if period:
        return "full" if index % period == (config.whole("attn_layer_offset") or 0) else "recurrent"
    if not config.whole("window") or config.raw("use_sliding_window") is False:
        return "full"
    pattern = config.whole("sliding_window_pattern")
    if pattern:
        return "full" if (index + 1) % pattern == 0 else "sliding"
    if config.raw("use_sliding_window") is True:
        return "sliding" if index >= (config.whole("max_window_layers") or count) else "full"
    return "sliding"


def _layer(config: Config, kind: str) -> LayerGroup:
    if kind == "none":
        return LayerGroup(1, "none")
    if kind == "recurrent":
        return LayerGroup(1, "recurrent", state_bytes=state_bytes(config))
    latent = config.whole("kv_lora_rank")
    if latent:
        return LayerGroup(1, "latent", latent_length=latent + (config.whole("qk_rope_head_dim") or 0))
    heads, length = config.kv_heads or 0, config.head_dim or 0
    value = config.whole("v_head_dim") or length
    window = config.whole("window") if kind == "sliding" else None
    return LayerGroup(1, "sliding" if window else "full", heads, length, value, window)


def state_bytes(config: Config) -> int:
    """What one recurrent layer keeps per sequence: the last inputs of its convolution, and its state.

    Gated delta nets (Qwen3-Next: linear_num_key_heads ...), Mamba 2 (mamba_num_heads x mamba_head_dim x ssm_state_size)
    and Mamba 1 (mamba_expand x hidden x mamba_d_state), as their modelling files in transformers shape them.
    """
    if (keys := config.whole("linear_num_key_heads")) is not None:
        return _delta_net_bytes(config, keys)
    if (heads := config.whole("mamba_num_heads")) is not None:
        return _mamba2_bytes(config, heads)
    inner = (config.whole("mamba_expand") or 2) * (config.whole("hidden") or 0)
    state = config.whole("mamba_d_state") or config.whole("state_size") or 16
    kernel = config.whole("mamba_d_conv") or config.whole("conv_kernel") or 4
    return inner * (state * _STATE_ITEM_BYTES + (kernel - 1) * _CONV_ITEM_BYTES)


def _delta_net_bytes(config: Config, key_heads: int) -> int:
    key_length, value_length = config.whole("linear_key_head_dim") or 0, config.whole("linear_value_head_dim") or 0
    value_heads = config.whole("linear_num_value_heads") or key_heads
    channels = 2 * key_heads * key_length + value_heads * value_length
    kernel = config.whole("linear_conv_kernel_dim") or 4
    state = value_heads * key_length * value_length * _STATE_ITEM_BYTES
    return channels * (kernel - 1) * _CONV_ITEM_BYTES + state


def _mamba2_bytes(config: Config, heads: int) -> int:
    length = config.whole("mamba_head_dim") or 64
    state, groups = config.whole("ssm_state_size") or 128, config.whole("n_groups") or 8
    channels = heads * length + 2 * groups * state
    kernel = config.whole("conv_kernel") or 4
    return channels * (kernel - 1) * _CONV_ITEM_BYTES + heads * length * state * _STATE_ITEM_BYTES
