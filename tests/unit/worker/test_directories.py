"""Directories that options name lie within the worker's model roots, or nothing is launched."""

from pathlib import Path

import pytest

from backends.base import Opens
from backends.vllm import VLLM
from gpustack_lite.errors import Refusal
from worker.files import Files


async def test_an_adapter_outside_of_the_roots_is_not_opened(tmp_path: Path) -> None:
    inside, outside = tmp_path / "models" / "poet", tmp_path / "secret"
    for each in (inside, outside):
        each.mkdir(parents=True)
    (tmp_path / "models" / "link").symlink_to(outside)
    files = Files([tmp_path / "models"])
    await files.check_directories([str(inside)])
    for wrong, code in ((outside, "path_outside_roots"), (inside.with_name("link"), "path_outside_roots")):
        with pytest.raises(Refusal, match=code):
            await files.check_directories([str(inside), str(wrong)])
    with pytest.raises(Refusal, match="source_missing"):
        await files.check_directories([str(inside / "gone")])


def test_which_directories_an_option_names() -> None:
    assert isinstance(VLLM, Opens)
    assert VLLM.directories({"lora-adapters": {"poet": "/models/poet"}}) == ("/models/poet",)
    for wrong in ({"poet": "poet"}, {"po:et": "/models/poet"}, {"poet": {"path": "/x"}}):
        with pytest.raises(Refusal, match="option_invalid"):
            VLLM.directories({"lora-adapters": wrong})
