"""Where files are kept, and where copies of other programs may lie."""

from pathlib import Path

from gpustack_lite.settings import Settings
from worker.downloads.adopting import caches, candidates
from worker.downloads.places import root_of

DATA = Settings(data_dir=Path("/d"))


def test_files_lie_below_the_data_dir() -> None:
    assert root_of(DATA, {}, "huggingface") == Path("/d/models/huggingface")


def test_a_cache_that_somebody_named_is_used_for_its_own_hub_only() -> None:
    environ = {"HF_HOME": "/hf"}
    assert root_of(DATA, environ, "huggingface") == Path("/hf/hub")
    assert root_of(DATA, environ, "modelscope") == Path("/d/models/modelscope")
    assert root_of(DATA, {**environ, "HF_HUB_CACHE": "/cache"}, "huggingface") == Path("/cache")


def test_the_setting_wins() -> None:
    settings = Settings(data_dir=Path("/d"), files_dir=Path("/big"))
    assert root_of(settings, {"HF_HOME": "/hf"}, "huggingface") == Path("/big/huggingface")


def test_model_scope_writes_a_dot_as_three_underscores() -> None:
    found = [str(each) for each in candidates(caches({}, Path("/h")), "modelscope", "Qwen/Qwen2.5-0.5B", "master")]
    assert "/h/.cache/modelscope/hub/models/Qwen/Qwen2___5-0___5B" in found
    assert "/var/lib/gpustack/cache/model_scope/Qwen/Qwen2.5-0.5B" in found


def test_an_odd_name_is_looked_for_nowhere() -> None:
    assert list(candidates(caches({}, Path("/h")), "huggingface", "../../etc", "main")) == []
