"""Transformers and diffusers: which models they take, what they claim, and how our runners are started."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from backends import registry
from backends.base import Backend, Want
from backends.diffusers import DIFFUSERS
from backends.recipes import recipe
from backends.transformers import TRANSFORMERS
from gpustack_lite.domain import BackendVersion, ModelFacts
from gpustack_lite.errors import Refusal
from tests.unit.backends.models import facts, placed
from tests.unit.worker.runners.test_speech_server import SERVER, runner

baseline: Backend = TRANSFORMERS
images: Backend = DIFFUSERS
VERSION = BackendVersion("transformers", "5", frozenset({"cpu"}), "venv", installed=True, executable="/v/bin/python")
PIPELINE = ModelFacts("hf", "/m/sd", 10**9, "StableDiffusionPipeline", weights_bytes=10**9, kind="image")
QWEN = replace(facts("Qwen3-14B"), weights_bytes=28 * 10**9)


def test_a_longer_context_claims_more_and_float32_twice_the_weights() -> None:
    short, long, wide = (
        TRANSFORMERS.estimates(QWEN, Want(options))[0].claim.ram_bytes
        for options in ({"max-model-len": 512}, {"max-model-len": 4096}, {"max-model-len": 512, "dtype": "float32"})
    )
    assert short < long < wide
    assert wide - short > 28 * 10**9


def test_the_context_is_said_and_held_to_what_was_trained() -> None:
    assert TRANSFORMERS.estimates(QWEN, Want())[0].context_length == 4096
    with pytest.raises(Refusal, match="context_beyond_training"):
        TRANSFORMERS.estimates(QWEN, Want({"max-model-len": 10**7}))
    assert "--max-model-len=512" in TRANSFORMERS.launch(placed("Qwen3-14B", VERSION, (), 512)).argv


def test_a_model_that_embeds_is_started_to_embed() -> None:
    embeds = replace(QWEN, kind="embedding")
    spec = TRANSFORMERS.launch(replace(placed("Qwen3-14B", VERSION, (), 512), facts=embeds))
    assert "--task=embed" in spec.argv
    assert TRANSFORMERS.abilities(embeds, {}).paths == {"/v1/embeddings"}


def test_a_pipeline_is_for_diffusers_and_for_no_other() -> None:
    assert registry.choose(PIPELINE, "/m/sd") is DIFFUSERS
    assert DIFFUSERS.estimates(PIPELINE, Want())[0].claim.ram_bytes > 2 * 10**9
    for backend, other in ((DIFFUSERS, QWEN), (TRANSFORMERS, PIPELINE)):
        with pytest.raises(Refusal, match="engine_serves_other_models"):
            backend.estimates(other, Want())


@pytest.mark.parametrize("backend", [TRANSFORMERS, DIFFUSERS], ids=["transformers", "diffusers"])
def test_variables_that_would_open_a_hub_are_refused(backend: Backend) -> None:
    with pytest.raises(Refusal, match="env_not_allowed"):
        backend.check({}, {"HF_ENDPOINT": "http://elsewhere"})


def test_recipes_bring_what_the_runners_import() -> None:
    assert recipe("diffusers", "0.42.1", "cpu").steps[0].packages[0] == "diffusers==0.42.1"
    assert recipe("transformers", "5.24.0", "cpu").torch == "cpu"
    assert recipe("speech", "piper1.8.0-whisper1.2.1", "cpu").level == "tested"
    with pytest.raises(Refusal, match="engine_recipe_unlisted"):
        recipe("speech", "1.8.0", "cpu")


@pytest.mark.parametrize("name", ["transformers_server", "diffusers_server"])
def test_without_its_library_a_runner_ends_with_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(SERVER.signal, "signal", lambda *_: None)
    assert runner(name).main(["--model", str(tmp_path), "--alias", "a", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{name}: the engine's library could not be loaded: " in said


def test_the_beginning_of_a_stop_word_is_held() -> None:
    held = runner("transformers_server").longest_beginning
    assert [held("say ST", ["STOP"]), held("say it", ["STOP"]), held("x", [])] == [2, 0, 0]


@pytest.mark.parametrize(("size", "is_fine"), [("512x768", True), ("61x64", False), ("4096x4096", False), ("x", False)])
def test_sizes_of_images_are_checked(size: str, is_fine: bool) -> None:
    sides = runner("diffusers_server").sides
    if is_fine:
        assert sides(size) == (512, 768)
        return
    with pytest.raises(SERVER.Refused):
        sides(size)
