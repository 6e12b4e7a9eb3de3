"""From a GGUF header to ModelFacts: the keys of ggml's docs/gguf.md and, where they are silent, of llama.cpp."""

import platform
import re
from collections.abc import Mapping, Sequence

from gpustack_lite.domain import LayerGroup, ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.gguf import Array, Header, Scalar, Tensor
from gpustack_lite.hub.gguf_types import FILE_TYPES, TENSOR_TYPES
from gpustack_lite.hub.templates import Template, read

MOST_LAYERS = 4096
_ARM = frozenset({"aarch64", "arm64"})
_ON_ARM = frozenset({8, 13, 14})
"""Q8_0, Q5_K and Q6_K are re-ordered with NEON only; facts are read on the worker that has the file."""
_BLOCK = re.compile(r"blk\.(\d{1,4})\.")
_OUTPUT, _EMBEDDING = "output.weight", "token_embd.weight"
_LARGEST = 2**31
_WINDOW_PATTERNS: Mapping[str, int] = {
    "cohere2": 4,
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "olmo2": 4,
    "olmo3": 4,
}
"""Of every N layers the last attends to everything, the others to the window (llama-model.cpp, set_swa_pattern)."""

_TEMPLATE = "tokenizer.chat_template"
_POOLING: Mapping[int, str] = {0: "none", 1: "mean", 2: "cls", 3: "last", 4: "rank"}
"""llama.h, llama_pooling_type."""


def facts_of(headers: Sequence[Header], path: str, size_bytes: int) -> ModelFacts:
    """`headers` of all parts of one model; the first holds the metadata.

    Raises:
        Refusal: `gguf_invalid` where a count is impossible.
    """
    keys = _Keys(headers[0].metadata, path)
    layer_count = keys.number("block_count", most=MOST_LAYERS)
    head_counts = keys.per_layer("attention.head_count", layer_count)
    head_count = max(head_counts, default=None)
    embedding_length = keys.number("embedding_length")
    head_length = embedding_length // head_count if embedding_length and head_count else None
    window = keys.number("attention.sliding_window") or None
    template = _template(headers[0].metadata)
    return ModelFacts(
        format="gguf",
        path=path,
        size_bytes=size_bytes,
        architecture=keys.architecture,
        name=keys.text("general.name"),
        parameter_count=sum(tensor.element_count for header in headers for tensor in header.tensors),
        quantization=_quantization(headers, keys),
        layer_count=layer_count,
        embedding_length=embedding_length,
        feed_forward_length=_feed_forward_length(keys, layer_count),
        head_count=head_count,
        kv_head_counts=_kv_head_counts(keys, head_counts, layer_count),
        key_length=keys.number("attention.key_length") or head_length,
        value_length=keys.number("attention.value_length") or head_length,
        vocab_size=_vocab_size(keys),
        trained_context_length=keys.number("context_length"),
        sliding_window=window,
        sliding_window_layer_count=_window_layer_count(keys, layer_count) if window else None,
        layers=_latent_layers(keys, layer_count),
        state_bytes_per_sequence=_state_bytes(keys, layer_count, embedding_length),
        weights_bytes=sum(header.weights_bytes for header in headers),
        repack_extra_bytes=_repack_extra_bytes(headers),
        repack_bytes=_repack_bytes(headers),
        layer_bytes=_layer_bytes(headers, layer_count),
        output_bytes=_output_bytes(headers),
        is_tied=not any(tensor.name == _OUTPUT for header in headers for tensor in header.tensors),
        has_chat_template=_TEMPLATE in headers[0].metadata,
        template_takes_tools=None if template is None else template.takes_tools,
        template_reasons=None if template is None else template.reasons,
        template_signs=() if template is None else template.signs,
        pooling=_POOLING.get(keys.number("pooling_type") or 0) if keys.raw("pooling_type") is not None else None,
    )


def _template(metadata: Mapping[str, Scalar | Array]) -> Template | None:
    """Also of the templates that a model has beside its main one, such as tokenizer.chat_template.tool_use."""
    return read([value for key, value in metadata.items() if key.startswith(_TEMPLATE) and isinstance(value, str)])


class _Keys:
    """The metadata below its architecture, distrusted: a wrong type counts as absent, a wild number as damage."""

    def __init__(self, metadata: Mapping[str, Scalar | Array], path: str) -> None:
        self._metadata = metadata
        self._path = path
        self.architecture = self.text("general.architecture")

    def raw(self, key: str) -> Scalar | Array | None:
        return self._metadata.get(f"{self.architecture}.{key}")

    def text(self, key: str) -> str | None:
        value = self._metadata.get(key)
        return value[:200] if isinstance(value, str) else None

    def number(self, key: str, most: int = _LARGEST) -> int | None:
        value = self.raw(key)
        return None if not _is_whole(value) else self._sane(key, value, most)

    def per_layer(self, key: str, layer_count: int | None) -> tuple[int, ...]:
        """A value for each layer, whether the header gives one for all or one each."""
        value = self.raw(key)
        if isinstance(value, Array):
            return tuple(self._sane(key, each, _LARGEST) for each in value.values if _is_whole(each))
        return (self._sane(key, value, _LARGEST),) * (layer_count or 0) if _is_whole(value) else ()

    def array_length(self, key: str) -> int | None:
        value = self._metadata.get(key)
        return value.length if isinstance(value, Array) else None

    def _sane(self, key: str, value: object, most: int) -> int:
        if isinstance(value, int) and 0 <= value <= most:
            return value
        raise Refusal("gguf_invalid", path=self._path, where=f"{self.architecture}.{key} {value}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _latent_layers(keys: _Keys, layer_count: int | None) -> tuple[LayerGroup, ...]:
    """Said only of latent attention (llama_hparams::is_mla): where both lengths of its heads are named, the cache keeps
    keys of `attention.key_length` (kv_lora_rank + rope) and no values. Older files have neither, and keep whole heads.
    """
    length = keys.number("attention.key_length")
    if not (layer_count and length and keys.number("attention.key_length_mla")):
        return ()
    if not keys.number("attention.value_length_mla"):
        return ()
    return (LayerGroup(layer_count, "latent", latent_length=length),)


def _kv_head_counts(keys: _Keys, head_counts: tuple[int, ...], layer_count: int | None) -> tuple[int, ...]:
    """Zero for layers that keep no keys. Hybrids that name an interval attend in every such layer only."""
    counts = keys.per_layer("attention.head_count_kv", layer_count) or head_counts
    interval = keys.number("full_attention_interval")
    if interval:
        return tuple(0 if (index + 1) % interval else count for index, count in enumerate(counts))
    return counts


def _window_layer_count(keys: _Keys, layer_count: int | None) -> int | None:
    said = keys.raw("attention.sliding_window_pattern")
    if isinstance(said, Array) and said.length == layer_count == len(said.values):
        return sum(bool(each) for each in said.values)
    pattern = keys.number("attention.sliding_window_pattern") or _WINDOW_PATTERNS.get(keys.architecture or "")
    if not pattern or layer_count is None:
        return None
    return layer_count - layer_count // pattern


def _state_bytes(keys: _Keys, layer_count: int | None, embedding_length: int | None) -> int:
    """llama-hparams.cpp, n_embd_r and n_embd_s: the convolution's and the recurrence's state per layer, in F32."""
    inner, state = keys.number("ssm.inner_size") or 0, keys.number("ssm.state_size") or 0
    kernel, groups = keys.number("ssm.conv_kernel") or 0, keys.number("ssm.group_count") or 0
    mamba = max(kernel - 1, 0) * (inner + 2 * groups * state) + state * inner
    wkv, shifts = keys.number("wkv.head_size") or 0, keys.number("token_shift_count") or 0
    rwkv = (shifts or 2) * (embedding_length or 0) + wkv * (embedding_length or 0) if wkv else 0
    return 4 * (mamba + rwkv) * (layer_count or 0)


def _vocab_size(keys: _Keys) -> int | None:
    return keys.array_length("tokenizer.ggml.tokens") or keys.number("vocab_size")


def _quantization(headers: Sequence[Header], keys: _Keys) -> str | None:
    file_type = headers[0].metadata.get("general.file_type")
    if isinstance(file_type, int) and file_type in FILE_TYPES:
        return FILE_TYPES[file_type]
    by_type: dict[int, int] = {}
    for tensor in (each for header in headers for each in header.tensors):
        by_type[tensor.type_id] = by_type.get(tensor.type_id, 0) + (tensor.byte_count or 0)
    known = {TENSOR_TYPES[type_id].name: size for type_id, size in by_type.items() if type_id in TENSOR_TYPES}
    return max(known, key=lambda name: known[name], default=None)


def _layer_bytes(headers: Sequence[Header], layer_count: int | None) -> tuple[int, ...]:
    """By the number in the names of tensors, blk.N; empty where a layer has none."""
    sizes = dict.fromkeys(range(layer_count or 0), 0)
    for match, tensor in ((_BLOCK.match(each.name), each) for header in headers for each in header.tensors):
        if match is not None and int(match[1]) in sizes:
            sizes[int(match[1])] += tensor.byte_count or 0
    return tuple(sizes.values()) if all(sizes.values()) else ()


def _output_bytes(headers: Sequence[Header]) -> int | None:
    """llama-model.cpp makes a second copy of the token embedding where there is no output matrix."""
    sizes = {tensor.name: tensor.byte_count for header in headers for tensor in header.tensors}
    return sizes.get(_OUTPUT, sizes.get(_EMBEDDING))


def _repack_bytes(headers: Sequence[Header]) -> int:
    return sum(_repacked(tensor) for header in headers for tensor in header.tensors) + _repack_extra_bytes(headers)


def _repack_extra_bytes(headers: Sequence[Header]) -> int:
    """Where the output shares the token embedding, a re-ordered copy of that: rows are looked up in the original."""
    tensors = [tensor for header in headers for tensor in header.tensors]
    if any(tensor.name == _OUTPUT for tensor in tensors):
        return 0
    return sum(_size(tensor) for tensor in tensors if tensor.name == _EMBEDDING and _is_repackable(tensor))


def _repacked(tensor: Tensor) -> int:
    return _size(tensor) if tensor.name != _EMBEDDING and _is_repackable(tensor) else 0


def _size(tensor: Tensor) -> int:
    return tensor.byte_count or 0


def _is_repackable(tensor: Tensor) -> bool:
    """ggml-cpu/repack.cpp: some types on some processors only; matrices, not vectors."""
    known = TENSOR_TYPES.get(tensor.type_id)
    on_this = platform.machine() in _ARM or tensor.type_id not in _ON_ARM
    return known is not None and known.repackable and on_this and len(tensor.shape) > 1


def _feed_forward_length(keys: _Keys, layer_count: int | None) -> int | None:
    """The width that one token goes through: of a mixture, all experts that are used."""
    dense = max(keys.per_layer("feed_forward_length", layer_count), default=0)
    used = keys.number("expert_used_count", most=4096) or 0
    sparse = (keys.number("expert_feed_forward_length") or dense) * used
    shared = keys.number("expert_shared_feed_forward_length") or 0
    return max(dense, sparse + shared) or None
