"""Headers of safetensors: read within the file's own bounds, and summed by what engines do with the tensors."""

import json
import struct
from typing import Any

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.safetensors import Tensor, read_tensors
from gpustack_lite.hub.tensor_roles import groups_of, role_of

GOOD = {"a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, "__metadata__": {"format": "pt"}}


def file(header: object, data: bytes = bytes(12), *, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def read(content: bytes) -> tuple[Tensor, ...]:
    return read_tensors(lambda offset, count: content[offset : offset + count], len(content), "m.safetensors")


def test_tensors_are_read_without_their_data() -> None:
    (tensor,) = read(file(GOOD))
    assert (tensor.name, tensor.dtype, tensor.size_bytes, tensor.parameter_count) == ("a", "BF16", 12, 6)


def changed(**fields: Any) -> dict[str, Any]:
    return {"a": {**GOOD["a"], **fields}}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"abc", id="cut before the length"),
        pytest.param(file(GOOD)[:20], id="cut in the header"),
        pytest.param(file(GOOD, length=2**63), id="a length beyond all files"),
        pytest.param(file(b"{"), id="no JSON"),
        pytest.param(file(b"[" * 100_000), id="too deep"),
        pytest.param(file([1]), id="no object"),
        pytest.param(file({"a": 5}), id="a tensor that is none"),
        pytest.param(file(changed(data_offsets=[0])), id="one offset"),
        pytest.param(file(changed(data_offsets=[8, 4])), id="offsets that run back"),
        pytest.param(file(changed(data_offsets=[0, 13])), id="data behind the file"),
        pytest.param(file(changed(data_offsets=[-1, 12])), id="a negative offset"),
        pytest.param(file(changed(shape=[2.5])), id="a shape of fractions"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(content: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        read(content)
    assert refused.value.code == "safetensors_invalid"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("model.embed_tokens.weight", "embedding"),
        ("lm_head.weight", "output"),
        ("model.layers.0.self_attn.q_proj.weight", "attention"),
        ("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "latent_attention"),
        ("model.layers.3.mlp.experts.7.up_proj.weight_scale_inv", "experts"),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", "feed_forward"),
        ("model.layers.0.mlp.down_proj.weight", "feed_forward"),
        ("model.layers.0.input_layernorm.weight", "other"),
        ("visual.blocks.3.attn.qkv.weight", "vision"),
        ("model.visual.merger.mlp.0.weight", "vision"),
        ("bert.encoder.layer.0.attention.self.query.weight", "attention"),
        ("embeddings.word_embeddings.weight", "embedding"),
        ("model.layers.1.linear_attn.in_proj_qkvz.weight", "attention"),
        ("model.layers.0.block_sparse_moe.experts.3.w1.weight", "experts"),
    ],
)
def test_a_tensor_has_the_role_that_its_name_tells(name: str, role: str) -> None:
    assert role_of(name) == role


def test_groups_sum_bytes_and_name_the_type_of_most_of_them() -> None:
    tensors = [
        Tensor("model.layers.0.mlp.up_proj.weight", "F8_E4M3", (100,), 100),
        Tensor("model.layers.0.mlp.up_proj.weight_scale", "F32", (1,), 4),
        Tensor("model.layers.2.mlp.up_proj.weight", "BF16", (10,), 20),
    ]
    feed_forward, draft = groups_of(tensors, draft_layer=2)
    assert (feed_forward.role, feed_forward.size_bytes, feed_forward.dtype) == ("feed_forward", 104, "F8_E4M3")
    assert (draft.role, draft.size_bytes) == ("draft", 20)
