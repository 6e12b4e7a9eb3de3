"""Does it fit? Against figures of real models, on devices that are only described."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends import registry
from gpustack_lite.chips import GIB, declared_devices, parse_spec
from gpustack_lite.domain import Placement, PlacementWish
from gpustack_lite.hub.config_facts import facts_of_config
from gpustack_lite.messages import CATALOGUE, localise
from gpustack_lite.planning.evaluation import Evaluation, Surroundings, document, evaluate
from gpustack_lite.planning.subject import Subject, examples
from scheduler import Holding, Node, answer

CONFIGS = json.loads((Path(__file__).parents[2] / "fixtures" / "configs.json").read_text())


def worker(spec: str, name: str = "w1") -> Node:
    declared = parse_spec(spec)
    devices = declared_devices(name, declared)
    free = dict.fromkeys(range(len(devices)), 0)
    return Node(name, devices=devices, foreign=free, ram_total_bytes=512 * GIB, backends=frozenset(registry.names()))


def subject(model: str, node: Node, backend: str = "vllm_ascend", **options: Any) -> Subject:
    facts = facts_of_config(CONFIGS[model], f"/models/{model}")
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return Subject(f"/models/{model}", facts, registry.find(backend), backend, named, examples([node]))


def asked(model: str, spec: str, wish: PlacementWish | None = None, **options: Any) -> Evaluation:
    node = worker(spec)
    return evaluate(subject(model, node, **options), Surroundings((node,)), wish or PlacementWish())


@pytest.mark.parametrize(
    ("model", "cards"),
    [
        ("DeepSeek-R1-Distill-Qwen-7B", 1),
        ("Qwen3-14B", 1),
        ("DeepSeek-R1-Distill-Qwen-32B", 2),
        ("Qwen3-32B", 2),
    ],
)
def test_how_many_910b3_a_model_takes(model: str, cards: int) -> None:
    found = document(asked(model, "8x910B3-64G"))
    assert found["fits"]
    assert found["memory"]["device_count"] == cards == len(found["placement"]["devices"])


def test_14b_on_one_card_of_32_gib_is_told_with_its_numbers() -> None:
    found = document(asked("Qwen3-14B", "1x910B4-32G", max_model_len=4096))
    (reason,) = found["reasons"]
    params = reason["params"]
    assert not found["fits"]
    assert params["budget_bytes"] / GIB == pytest.approx(28.8, rel=0.03)
    assert params["weights_bytes"] / GIB == pytest.approx(27.51, rel=0.03)
    assert params["cache_bytes"] / GIB == pytest.approx(0.63, rel=0.03)
    assert [each["code"] for each in found["remedies"]] == ["join_worker_with_devices"]
    assert found["remedies"][0]["params"]["needed_count"] == 2


def test_a_context_that_is_too_long_is_answered_with_the_longest_that_fits() -> None:
    node = worker("1x910B3-64G")
    long = subject("Qwen3-14B", node, max_model_len=40_960, max_num_seqs=16, gpu_memory_utilization=0.5)
    found = evaluate(long, Surroundings((node,)), PlacementWish())
    (shorter, *_) = found.remedies
    assert shorter.code == "shorten_context"
    at = shorter.params["context_length"]
    fitting = evaluate(long.changed(**{"max-model-len": at}), Surroundings((node,)), PlacementWish())
    assert isinstance(fitting.answer, Placement)


def test_two_cards_where_one_was_asked_for() -> None:
    (more, *_) = asked("Qwen3-32B", "8x910B3-64G", tensor_parallel_size=1).remedies
    assert (more.code, more.params["device_count"]) == ("use_more_devices", 2)
    assert more.change == {"options": {"tensor-parallel-size": 2}}


@pytest.mark.parametrize("backend", ["vllm", "vllm_ascend", "mindie", "sglang"])
@pytest.mark.parametrize("model", ["Qwen2.5-7B", "Qwen3-14B", "Qwen3-32B", "Llama-3.1-70B"])
@pytest.mark.parametrize("spec", ["1x{chip}-24G", "2x{chip}-32G", "8x{chip}-64G"])
@pytest.mark.parametrize(
    "options",
    [{}, {"max_model_len": 32_768}, {"tensor_parallel_size": 1}, {"max_model_len": 32_768, "tensor_parallel_size": 1}],
)
def test_every_change_of_options_that_is_offered_does_fit(
    backend: str, model: str, spec: str, options: dict[str, Any]
) -> None:
    node = worker(spec.format(chip="910B3" if backend in {"vllm_ascend", "mindie"} else "H20"))
    asking = subject(model, node, backend, **options)
    found = evaluate(asking, Surroundings((node,)), PlacementWish())
    for remedy in found.remedies:
        if "options" in remedy.change and remedy.code != "use_more_devices_elsewhere":
            changed = asking.changed(**remedy.change["options"])  # type: ignore[arg-type]
            assert isinstance(evaluate(changed, Surroundings((node,)), PlacementWish()).answer, Placement), remedy


def test_more_devices_than_any_worker_has_are_asked_for_with_a_worker() -> None:
    (remedy,) = asked("Qwen3-32B", "1x910B3-24G", tensor_parallel_size=1).remedies
    assert remedy.code == "use_more_devices_elsewhere"
    count = remedy.params["device_count"]
    bigger = asked("Qwen3-32B", f"{count}x910B3-24G", **{"tensor_parallel_size": count})
    assert isinstance(bigger.answer, Placement)


def test_an_instance_that_is_in_the_way_is_named() -> None:
    node = worker("1x910B3-64G")
    asking = subject("Qwen3-14B", node)
    free = evaluate(asking, Surroundings((node,)), PlacementWish())
    assert isinstance(free.answer, Placement)
    held = Holding(7, "7 (chat)", "w1", (0,), free.answer.claim)
    found = evaluate(asking, Surroundings((node,), (held,)), PlacementWish())
    assert "7 (chat)" in [each.params.get("instances") for each in found.remedies]


def test_a_variant_that_the_caller_knows_is_offered_where_it_fits() -> None:
    node = worker("1x910B4-32G")
    big, small = subject("Qwen3-14B", node), subject("Qwen3-0.6B", node)
    found = evaluate(big, Surroundings((node,)), PlacementWish(), (small,))
    changes = {each.code: each.change for each in found.remedies}
    assert changes["use_variant"] == {"source": "/models/Qwen3-0.6B", "backend": "vllm_ascend"}


def test_warnings_name_what_the_chip_cannot() -> None:
    codes = {each.code for each in asked("Qwen3-32B-FP8", "8x910B3-64G").warnings}
    assert "quantization_unsupported" in codes
    assert "dtype_unsupported" in {each.code for each in asked("Qwen3-0.6B", "1x310P-24G").warnings}


@pytest.mark.parametrize(("source", "is_told"), [("huggingface:Qwen/Qwen3-14B", True), ("/models/Qwen3-14B", False)])
def test_a_download_that_the_disk_cannot_hold_is_told(source: str, is_told: bool) -> None:
    node = replace(worker("8x910B3-64G"), disk_free_bytes=GIB)
    asking = subject("Qwen3-14B", node)
    assert asking.facts is not None
    asking = replace(asking, source=source, facts=replace(asking.facts, download_bytes=28 * GIB))
    codes = {each.code for each in evaluate(asking, Surroundings((node,)), PlacementWish()).warnings}
    assert ("download_exceeds_disk" in codes) == is_told


def test_every_sentence_of_an_answer_is_known() -> None:
    found = document(asked("Qwen3-14B", "1x910B4-32G", max_model_len=4096))
    spoken = localise(found, "zh")
    codes = [each["code"] for name in ("reasons", "remedies", "warnings") for each in found[name]]
    assert all(code in CATALOGUE for code in codes)
    assert "?" not in spoken["reasons"][0]["message"]


def test_the_answer_is_that_of_the_scheduler() -> None:
    found = asked("Qwen3-14B", "8x910B3-64G")
    assert found.answer == answer(found.question)
    assert "engine_not_on_chip" in {each.code for each in asked("Qwen3-0.6B", "1x310B4-24G").warnings}
