from importlib.metadata import EntryPoint

import pytest

from backends import registry
from backends.base import Backend
from backends.llama_cpp import LLAMA_CPP
from gpustack_lite.chips import declared_devices, parse_spec
from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import NotFound, Refusal

GROUP = registry.GROUP
GGUF = ModelFacts(format="gguf", path="/m.gguf", size_bytes=1)
HF = ModelFacts(format="hf", path="/m", size_bytes=1)


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=GROUP)


def test_our_own_backends_are_there_without_being_installed() -> None:
    assert set(registry.load([]).backends) == set(registry.BUILTIN)


def test_our_own_entry_points_are_not_registered_twice() -> None:
    ours = [point(name, target) for name, target in registry.BUILTIN.items()]
    loaded = registry.load(ours)
    assert set(loaded.backends) == set(registry.BUILTIN)
    assert loaded.faults == ()


@pytest.mark.parametrize("backend", registry.load([]).backends.values(), ids=registry.names())
def test_every_backend_keeps_the_protocol(backend: Backend) -> None:
    assert isinstance(backend, Backend)
    assert all(version.backend == backend.name for version in backend.versions())


def test_a_foreign_backend_is_found_by_its_name() -> None:
    loaded = registry.load([point("theirs", "backends.llama_cpp:LLAMA_CPP")])
    assert loaded.backends["theirs"] is LLAMA_CPP


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        pytest.param(point("broken", "no_such_package:X"), "backend_not_loadable", id="package that is not there"),
        pytest.param(point("broken", "backends.llama_cpp:NOPE"), "backend_not_loadable", id="attribute not there"),
        pytest.param(point("broken", "backends.llama_cpp:WHEEL_VERSION"), "backend_not_loadable", id="no backend"),
        pytest.param(point("echo", "backends.llama_cpp:LLAMA_CPP"), "backend_name_taken", id="replaces one of ours"),
    ],
)
def test_a_broken_foreign_backend_is_reported_and_the_others_work(entry: EntryPoint, code: str) -> None:
    loaded = registry.load([entry])
    assert [fault.code for fault in loaded.faults] == [code]
    assert set(loaded.backends) == set(registry.BUILTIN)


def test_an_unknown_name_is_not_found() -> None:
    with pytest.raises(NotFound):
        registry.find("nope")


def test_a_gguf_model_is_for_llama_cpp() -> None:
    assert registry.choose(GGUF, "/m.gguf") is LLAMA_CPP


def test_a_model_that_nobody_knows_needs_a_named_backend() -> None:
    with pytest.raises(Refusal) as refused:
        registry.choose(None, "/m")
    assert refused.value.code == "no_backend_for_model"
    assert "llama_cpp" in str(refused.value.params["names"])


@pytest.mark.parametrize(
    ("spec", "offered", "chosen"),
    [
        pytest.param("1x910B3-64G", {"vllm_ascend"}, "vllm_ascend", id="Ascend"),
        pytest.param("1xA100-80G", {"vllm"}, "vllm", id="CUDA"),
        pytest.param("1x910B3-64G,1xA100-80G", {"vllm"}, "vllm", id="of both, the one that is there"),
        pytest.param("1x910B3-64G", set(), "vllm_ascend", id="a device, and no engine yet"),
        pytest.param(None, {"llama_cpp", "vllm"}, "vllm", id="a CPU with vLLM"),
    ],
)
def test_a_directory_is_for_the_vllm_of_the_devices(spec: str | None, offered: set[str], chosen: str) -> None:
    devices = declared_devices("w", parse_spec(spec)) if spec else ()
    assert registry.choose(HF, "/m", devices, offered).name == chosen


def test_a_directory_without_an_accelerator_or_vllm_is_told_what_to_do() -> None:
    with pytest.raises(Refusal, match="no_engine_for_directory"):
        registry.choose(HF, "/m", (), {"llama_cpp", "echo"})
