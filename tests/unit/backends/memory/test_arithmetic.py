"""The arithmetic of every engine that reserves: what holds for any model, and the published figures."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.memory import mindie, sglang, vllm, vllm_ascend
from backends.memory.fitting import Arithmetic, device_bytes, largest
from backends.memory.ranks import Ranks, kv_bytes_per_token, weight_bytes
from backends.parallel import tensor_sizes
from gpustack_lite.domain import LayerGroup, ModelFacts, WeightGroup
from tests.unit.backends.models import CONFIGS, GIB, facts

ENGINES: dict[str, Arithmetic] = {
    "vllm": vllm.Reserving({}, frozenset({"cuda"})),
    "vllm with fp8 cache": vllm.Reserving({"kv-cache-dtype": "fp8"}, frozenset({"cuda"})),
    "vllm_ascend": vllm_ascend.reserving({}),
    "mindie": mindie.Serving({}),
    "sglang": sglang.Static({}),
}
ROOM = 64 * GIB


@st.composite
def models(draw: st.DrawFn) -> ModelFacts:
    """Of any shape that a config.json could describe, with layers of every kind."""
    kv_heads = draw(st.sampled_from([1, 2, 4, 8]))
    heads = kv_heads * draw(st.sampled_from([1, 2, 7, 8]))
    length, count = draw(st.sampled_from([64, 128])), draw(st.integers(1, 80))
    kinds = (
        LayerGroup(count, "full", kv_heads, length, length),
        LayerGroup(draw(st.integers(0, 40)), "sliding", kv_heads, length, length, window=draw(st.integers(1, 8192))),
        LayerGroup(draw(st.integers(0, 40)), "latent", latent_length=576),
        LayerGroup(draw(st.integers(0, 40)), "recurrent", state_bytes=draw(st.integers(0, 2**24))),
    )
    sizes = st.integers(0, 2**35)
    roles = ("embedding", "output", "attention", "latent_attention", "feed_forward", "experts", "vision", "other")
    return ModelFacts(
        format="hf",
        path="/m",
        size_bytes=0,
        layer_count=sum(group.count for group in kinds),
        embedding_length=heads * length,
        head_count=heads,
        key_length=length,
        value_length=length,
        vocab_size=draw(st.integers(1, 300_000)),
        trained_context_length=131_072,
        feed_forward_length=4 * heads * length,
        layers=kinds,
        weights=tuple(WeightGroup(role, draw(sizes)) for role in roles),
    )


@pytest.mark.parametrize("name", ENGINES)
@given(model=models(), contexts=st.tuples(st.integers(1, 131_072), st.integers(1, 131_072)))
def test_a_longer_context_never_needs_less(name: str, model: ModelFacts, contexts: tuple[int, int]) -> None:
    shorter, longer = (ENGINES[name].memory(model, Ranks(), ROOM, each) for each in sorted(contexts))
    assert device_bytes(shorter) <= device_bytes(longer)
    assert shorter.kv_bytes <= longer.kv_bytes


@pytest.mark.parametrize("name", ENGINES)
@given(model=models(), context=st.integers(1, 131_072))
def test_on_more_ranks_each_holds_no_more_of_the_model(name: str, model: ModelFacts, context: int) -> None:
    found = [ENGINES[name].memory(model, Ranks(size), ROOM, context) for size in tensor_sizes(model)]
    for code in ("term_weights", "term_cache"):
        sizes = [sum(term.size_bytes for term in each.terms if term.code == code) for each in found]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", ENGINES)
@given(model=models(), context=st.integers(1, 131_072), tensor=st.sampled_from([1, 2, 4]))
def test_no_term_is_negative_and_they_are_the_whole(name: str, model: ModelFacts, context: int, tensor: int) -> None:
    found = ENGINES[name].memory(model, Ranks(tensor), ROOM, context)
    assert all(term.size_bytes >= 0 for term in found.terms)
    assert found.total_bytes == tensor * device_bytes(found)


@given(
    limit=st.integers(0, 200_000),
    least=st.sampled_from([1, 512, 4096]),
    longest=st.integers(4096, 150_000),
)
def test_the_largest_context_fits_and_the_next_step_does_not(limit: int, least: int, longest: int) -> None:
    found = largest(lambda context: context <= limit, least, longest)
    if found is None:
        assert limit < least
    else:
        assert least <= found <= min(limit, longest)
        assert found + 256 > min(limit, longest)


def test_latent_attention_is_held_by_every_rank() -> None:
    """B05: DeepSeek-R1, 163840 tokens in bf16 on 8 ranks: 70272 B a token, 10.72 GiB on each."""
    model = facts("DeepSeek-R1")
    assert kv_bytes_per_token(model, Ranks(8), 2) == 70_272
    found = vllm_ascend.reserving({}).memory(model, Ranks(8), ROOM, 163_840)
    cache = next(term.size_bytes for term in found.terms if term.code == "term_cache")
    assert cache / GIB == pytest.approx(10.72, rel=0.01)
    assert sum(group.size_bytes for group in model.weights) == pytest.approx(688_586_727_753, rel=0.01)


def test_experts_are_spread_over_tensor_and_data_where_that_is_asked() -> None:
    model = facts("DeepSeek-R1")
    cut, spread = weight_bytes(model, Ranks(8)), weight_bytes(model, Ranks(8, data=2, expert=True))
    assert spread < 0.6 * cut


@pytest.mark.parametrize("model", sorted(set(CONFIGS) - {"bge-m3", "bge-reranker-v2-m3"}))
def test_stages_share_the_layers(model: str) -> None:
    known = facts(model)
    whole, half = weight_bytes(known, Ranks()), weight_bytes(known, Ranks(pipeline=2))
    assert whole / 2 <= half <= whole


def test_fewer_kv_heads_than_ranks_are_held_whole() -> None:
    model = replace(facts("Qwen3-32B"), weights=(WeightGroup("attention", 144 * GIB),))
    assert weight_bytes(model, Ranks(16)) == (2 * 64 // 16 + 2) * GIB


def test_adapters_are_reserved_where_they_are_asked_for() -> None:
    asked = vllm.Reserving({"enable-lora": True, "max-loras": 4, "max-lora-rank": 64}, frozenset({"cuda"}))
    plain, with_them = (each.memory(facts("Qwen3-14B"), Ranks(), ROOM, 4096) for each in (ENGINES["vllm"], asked))
    assert 0.5 * GIB < with_them.total_bytes - plain.total_bytes < 2 * GIB


@pytest.mark.parametrize("name", ["vllm", "vllm_ascend"])
def test_encoders_keep_no_cache(name: str) -> None:
    assert ENGINES[name].memory(facts("bge-m3"), Ranks(), ROOM, 8192).kv_bytes == 0
    assert ENGINES[name].memory(facts("Qwen3-0.6B"), Ranks(), ROOM, 8192).kv_bytes > 0
