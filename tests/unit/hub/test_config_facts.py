"""What a config.json says, held against the sizes that the models' own indexes and engines tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpustack_lite.domain import LayerGroup
from gpustack_lite.hub.config_facts import facts_of_config

CONFIGS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "configs.json").read_text(encoding="utf-8")
)
"""The fields of public models' config.json that memory depends on."""
TOTAL_BYTES = {
    "Qwen2.5-7B": 15_231_233_024,
    "DeepSeek-R1-Distill-Qwen-7B": 15_231_233_024,
    "DeepSeek-R1-Distill-Qwen-14B": 29_540_067_328,
    "DeepSeek-R1-Distill-Qwen-32B": 65_527_752_704,
    "Qwen2.5-0.5B": 988_097_824,
    "Qwen3-0.6B": 1_192_099_840,
    "Qwen3-8B": 16_381_470_720,
    "Qwen3-14B": 29_536_614_400,
    "Qwen3-32B": 65_524_246_528,
    "Qwen3-30B-A3B": 61_064_245_248,
    "Llama-3.1-8B": 16_060_522_496,
    "Llama-3.1-70B": 141_107_412_992,
    "Mixtral-8x7B-v0.1": 93_405_585_408,
    "Mistral-7B-Instruct": 14_483_464_192,
    "gemma-3-1b-it": 1_999_771_904,
    "gpt-oss-20b": 13_761_264_768,
    "DeepSeek-V3": 688_586_727_753,
    "bge-reranker-v2-m3": 2_271_023_108,
}
"""`total_size` of the published index, or the size of the repository's weights."""


def facts(name: str) -> Any:
    return facts_of_config(CONFIGS[name], f"/models/{name}")


@pytest.mark.parametrize("name", TOTAL_BYTES)
def test_weights_are_within_a_hundredth_percent_of_what_is_published(name: str) -> None:
    assert facts(name).weights_bytes == pytest.approx(TOTAL_BYTES[name], rel=1e-4)


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("Qwen3-8B", (LayerGroup(36, "full", 8, 128, 128),)),
        ("glm-4-9b", (LayerGroup(40, "full", 2, 128, 128),)),
        ("DeepSeek-R1", (LayerGroup(61, "latent", latent_length=576),)),
        (
            "gemma-3-27b-it",
            (LayerGroup(52, "sliding", 16, 128, 128, window=1024), LayerGroup(10, "full", 16, 128, 128)),
        ),
        ("gpt-oss-20b", (LayerGroup(12, "sliding", 8, 64, 64, window=128), LayerGroup(12, "full", 8, 64, 64))),
        ("Qwen2.5-VL-7B-Instruct", (LayerGroup(28, "full", 4, 128, 128),)),
        ("Mistral-7B-Instruct", (LayerGroup(32, "full", 8, 128, 128),)),
        (
            "Qwen3-Next-80B-A3B",
            (
                LayerGroup(36, "recurrent", state_bytes=8192 * 3 * 2 + 32 * 128 * 128 * 4),
                LayerGroup(12, "full", 2, 256, 256),
            ),
        ),
    ],
)
def test_layers_are_told_by_what_they_keep(name: str, layers: tuple[LayerGroup, ...]) -> None:
    assert facts(name).layers == layers


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Qwen3-8B", "llm"),
        ("glm-4-9b", "llm"),
        ("gemma-3-27b-it", "vlm"),
        ("Qwen2.5-VL-7B-Instruct", "vlm"),
        ("bge-m3", "embedding"),
        ("bge-reranker-v2-m3", "reranker"),
    ],
)
def test_the_kind_of_a_model_is_that_of_its_class(name: str, kind: str) -> None:
    assert facts(name).kind == kind


@pytest.mark.parametrize(
    ("name", "method", "share"),
    [
        ("Qwen3-8B-FP8", "fp8", 0.576),
        ("Qwen3-8B-W8A8-ascend", "ascend", 0.576),
        ("Qwen2.5-7B-Instruct-AWQ", "awq", 0.366),
        ("Qwen3-30B-A3B-FP8", "fp8", 0.511),
    ],
)
def test_a_quantised_model_is_smaller_by_what_its_method_stores(name: str, method: str, share: float) -> None:
    found = facts(name)
    assert found.quantization_method == method
    assert found.weights_bytes / (2 * found.parameter_count) == pytest.approx(share, abs=0.001)


@pytest.mark.parametrize(
    ("said", "context"),
    [
        ({"model_type": "xlm-roberta", "pad_token_id": 1}, 512),
        ({"model_type": "mpnet"}, 512),
        ({"model_type": "bert", "pad_token_id": 0}, 514),
    ],
)
def test_positions_before_the_first_token_are_no_context(said: dict[str, Any], context: int) -> None:
    found = facts_of_config({"max_position_embeddings": 514, **said}, "/m")
    assert found.trained_context_length == context


def test_code_of_its_own_is_told() -> None:
    assert facts("DeepSeek-R1").runs_code
    assert not facts("Qwen3-8B").runs_code


@pytest.mark.parametrize(
    ("field", "unknown"), [("hidden_size", "hidden"), ("num_hidden_layers", "layers"), ("vocab_size", "vocab")]
)
def test_what_is_not_said_is_unknown_and_not_zero(field: str, unknown: str) -> None:
    config = {key: value for key, value in CONFIGS["Qwen3-8B"].items() if key != field}
    found = facts_of_config(config, "/m")
    assert unknown in found.unknown
    assert found.weights_bytes is None


@pytest.mark.parametrize("value", [-1, 3.5, "8", None, True, [8]], ids=str)
def test_a_field_of_the_wrong_kind_counts_as_absent(value: object) -> None:
    assert facts_of_config({**CONFIGS["Qwen3-8B"], "num_hidden_layers": value}, "/m").layer_count is None


def test_a_window_that_is_switched_off_is_none() -> None:
    config = {**CONFIGS["Qwen2.5-7B"], "sliding_window": 32768, "use_sliding_window": False}
    assert {group.kind for group in facts_of_config(config, "/m").layers} == {"full"}


def test_a_window_for_all_layers_holds_for_all_layers() -> None:
    (group,) = facts_of_config({**CONFIGS["Mistral-7B-Instruct"], "sliding_window": 4096}, "/m").layers
    assert (group.count, group.kind, group.window) == (32, "sliding", 4096)
