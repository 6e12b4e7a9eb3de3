"""Writes GGUF files: tiny ones that real llama.cpp loads, and broken ones for the reader's tests."""

import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALIGNMENT = 32
F32, F16, Q4_0, Q4_1, Q8_0, Q4_K, Q6_K = 0, 1, 2, 3, 8, 12, 14
BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q4_1: (32, 20), Q8_0: (32, 34), Q4_K: (256, 144), Q6_K: (256, 210)}
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True, slots=True)
class Strings:
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Numbers:
    """An array of i32 or f32."""

    values: Sequence[int] | Sequence[float]


def _text(value: str) -> bytes:
    content = value.encode()
    return struct.pack("<Q", len(content)) + content


def value(content: Any) -> bytes:
    """One metadata value with its type in front."""
    match content:
        case bool():
            return struct.pack("<I?", 7, content)
        case int():
            return struct.pack("<II", 4, content) if 0 <= content < 2**32 else struct.pack("<Iq", 11, content)
        case float():
            return struct.pack("<If", 6, content)
        case str():
            return struct.pack("<I", 8) + _text(content)
        case Strings(values):
            return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(_text(each) for each in values)
        case Numbers(values):
            is_whole = all(isinstance(each, int) for each in values)
            head = struct.pack("<IIQ", 9, 5 if is_whole else 6, len(values))
            return head + struct.pack(f"<{len(values)}{'i' if is_whole else 'f'}", *values)
    raise TypeError(content)


def header(
    metadata: Mapping[str, Any], tensors: Sequence[tuple[str, tuple[int, ...], int]], version: int = 3
) -> tuple[bytes, int]:
    """The header up to the aligned data section, and how many bytes of data must follow."""
    made = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    made += b"".join(_text(key) + value(content) for key, content in metadata.items())
    offset = 0
    for name, shape, type_id in tensors:
        made += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, type_id, offset)
        offset += _aligned(tensor_bytes(shape, type_id))
    return made + bytes(_aligned(len(made)) - len(made)), offset


def tensor_bytes(shape: tuple[int, ...], type_id: int) -> int:
    elements, size = BLOCKS[type_id]
    count = 1
    for each in shape:
        count *= each
    return count // elements * size


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def write_gguf(
    path: Path,
    metadata: Mapping[str, Any],
    tensors: Sequence[tuple[str, tuple[int, ...], int]],
    *,
    version: int = 3,
    fill: random.Random | None = None,
) -> Path:
    """With `fill` the F32 and F16 tensors get small random numbers, else the data is a hole of zeros."""
    head, data_bytes = header(metadata, tensors, version)
    with path.open("wb") as stream:
        stream.write(head)
        for _, shape, type_id in tensors:
            if fill is not None:
                _write_random(stream, shape, type_id, fill)
        stream.truncate(len(head) + data_bytes)
    return path


def _write_random(stream: Any, shape: tuple[int, ...], type_id: int, fill: random.Random) -> None:
    size = tensor_bytes(shape, type_id)
    if type_id in {F32, F16}:
        count = size // BLOCKS[type_id][1]
        ones = len(shape) == 1
        numbers = [1.0 if ones else fill.gauss(0, 0.1) for _ in range(count)]
        stream.write(struct.pack(f"<{count}{'f' if type_id == F32 else 'e'}", *numbers))
    else:
        stream.write(bytes(size))
    stream.write(bytes(_aligned(size) - size))


def vocabulary(size: int) -> dict[str, Any]:
    """A SentencePiece-like vocabulary with byte tokens, so that any text can be tokenised."""
    special = ["<unk>", "<s>", "</s>"]
    pieces = special + [f"<0x{byte:02X}>" for byte in range(256)]
    pieces += [f"▁w{index}" for index in range(size - len(pieces))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (size - 259)
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": Strings(pieces[:size]),
        "tokenizer.ggml.scores": Numbers([-float(index) for index in range(size)]),
        "tokenizer.ggml.token_type": Numbers(kinds[:size]),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.chat_template": CHATML,
    }


def llama_tensors(
    *, layers: int, embedding: int, heads: int, kv_heads: int, feed_forward: int, vocab: int, type_id: int
) -> list[tuple[str, tuple[int, ...], int]]:
    kv = embedding // heads * kv_heads
    rows: list[tuple[str, tuple[int, ...], int]] = [
        ("token_embd.weight", (embedding, vocab), type_id),
        ("output_norm.weight", (embedding,), F32),
    ]
    for layer in range(layers):
        rows += [
            (f"blk.{layer}.attn_norm.weight", (embedding,), F32),
            (f"blk.{layer}.attn_q.weight", (embedding, embedding), type_id),
            (f"blk.{layer}.attn_k.weight", (embedding, kv), type_id),
            (f"blk.{layer}.attn_v.weight", (embedding, kv), type_id),
            (f"blk.{layer}.attn_output.weight", (embedding, embedding), type_id),
            (f"blk.{layer}.ffn_norm.weight", (embedding,), F32),
            (f"blk.{layer}.ffn_gate.weight", (embedding, feed_forward), type_id),
            (f"blk.{layer}.ffn_up.weight", (embedding, feed_forward), type_id),
            (f"blk.{layer}.ffn_down.weight", (feed_forward, embedding), type_id),
        ]
    return rows


def write_tiny_gguf(
    path: Path,
    *,
    layers: int = 2,
    embedding: int = 64,
    heads: int = 4,
    kv_heads: int = 2,
    feed_forward: int = 128,
    vocab: int = 300,
    context: int = 2048,
    type_id: int = F32,
    architecture: str = "llama",
    overrides: Mapping[str, Any] | None = None,
    version: int = 3,
    seed: int | None = 1,
) -> Path:
    """A model that real llama.cpp loads in milliseconds; what it says is noise. `overrides` win over the metadata."""
    metadata = {
        "general.architecture": architecture,
        "general.name": "tiny",
        "general.file_type": 0,
        f"{architecture}.block_count": layers,
        f"{architecture}.context_length": context,
        f"{architecture}.embedding_length": embedding,
        f"{architecture}.feed_forward_length": feed_forward,
        f"{architecture}.attention.head_count": heads,
        f"{architecture}.attention.head_count_kv": kv_heads,
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{architecture}.rope.dimension_count": embedding // heads,
        f"{architecture}.vocab_size": vocab,
        **vocabulary(vocab),
        **(overrides or {}),
    }
    tensors = llama_tensors(
        layers=layers,
        embedding=embedding,
        heads=heads,
        kv_heads=kv_heads,
        feed_forward=feed_forward,
        vocab=vocab,
        type_id=type_id,
    )
    return write_gguf(path, metadata, tensors, version=version, fill=None if seed is None else random.Random(seed))
