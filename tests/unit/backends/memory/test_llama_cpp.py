"""What llama.cpp keeps for windows and latents."""

from dataclasses import replace

import pytest

from backends.llama_cpp_memory import memory, shapes
from gpustack_lite.domain import LayerGroup, ModelFacts
from tests.unit.backends.models import GIB, facts

DEEPSEEK = ModelFacts(
    format="gguf",
    path="/m.gguf",
    size_bytes=GIB,
    architecture="deepseek2",
    layer_count=61,
    embedding_length=7168,
    feed_forward_length=18432,
    head_count=128,
    kv_head_counts=(1,) * 61,
    key_length=576,
    value_length=512,
    vocab_size=129_280,
    trained_context_length=163_840,
    weights_bytes=GIB,
    layers=(LayerGroup(61, "latent", latent_length=576),),
)


def kv_bytes(model: ModelFacts, **options: int | str) -> int:
    values = {name.replace("_", "-"): value for name, value in options.items()}
    return memory(model, values, shapes(model, values)[0]).kv_bytes


def test_layers_behind_a_window_keep_the_window_and_a_batch() -> None:
    """B03: gemma-3-27b, 131072 tokens in f16, one sequence: 10.3 to 11.2 GiB, not 62."""
    assert 10.3 < kv_bytes(facts("gemma-3-27b-it"), parallel=1, max_model_len=131_072) / GIB < 11.2


def test_of_latent_attention_there_are_no_values() -> None:
    """B05: 70272 bytes a token; with values it would be 1.9 times that."""
    assert kv_bytes(DEEPSEEK, parallel=1, max_model_len=163_840) == 70_272 * 163_840
    whole = kv_bytes(replace(DEEPSEEK, layers=()), parallel=1, max_model_len=163_840)
    assert whole / (70_272 * 163_840) == pytest.approx(1.89, abs=0.01)
