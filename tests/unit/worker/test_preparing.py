"""Which version of an engine runs."""

import pytest

from gpustack_lite.domain import BackendVersion, DeviceKind
from gpustack_lite.errors import Refusal
from gpustack_lite.recipes import Recipe
from worker.preparing import choose_version

WHEEL = BackendVersion("llama_cpp", "1", frozenset({"cpu"}), "wheel", installed=False, requirement="x==1")
ON_PATH = BackendVersion("llama_cpp", "path-7", frozenset({"cpu"}), "path", installed=True, executable="/bin/x")
OTHER = BackendVersion("other", "path-8", frozenset({"cpu"}), "path", installed=True, executable="/bin/y")


class Llama:
    name = "llama_cpp"

    def versions(self) -> tuple[BackendVersion, ...]:
        return (WHEEL,)


@pytest.mark.parametrize(
    ("wanted", "on_path", "installed", "expected"),
    [
        pytest.param(None, [], set(), WHEEL, id="the default is fetched"),
        pytest.param(None, [ON_PATH], {ON_PATH}, ON_PATH, id="what is here spares a download"),
        pytest.param(None, [ON_PATH], {ON_PATH, WHEEL}, WHEEL, id="the default when it is here"),
        pytest.param("path-7", [ON_PATH], {ON_PATH, WHEEL}, ON_PATH, id="what was asked for"),
        pytest.param(None, [OTHER], {OTHER}, WHEEL, id="another engine does not count"),
    ],
)
def test_the_version(
    wanted: str | None, on_path: list[BackendVersion], installed: set[BackendVersion], expected: BackendVersion
) -> None:
    assert choose_version(wanted, Llama(), on_path, installed.__contains__) == expected  # type: ignore[arg-type]


def test_an_unknown_version_names_the_known_ones() -> None:
    with pytest.raises(Refusal) as caught:
        choose_version("9", Llama(), [ON_PATH], lambda _: False)  # type: ignore[arg-type]
    assert caught.value.params == {"version": "9", "backend": "llama_cpp", "known": "1, path-7"}


def build(version: str, kind: DeviceKind, *, is_default: bool = False) -> BackendVersion:
    kinds = frozenset({kind})
    return BackendVersion("llama_cpp", version, kinds, "venv", False, recipe=Recipe(), is_default=is_default)


def test_what_somebody_chose_for_a_kind_comes_before_what_is_installed() -> None:
    builds = [build("2", "cpu"), build("3", "cpu", is_default=True), build("4", "cuda", is_default=True)]
    chosen = choose_version(None, Llama(), [ON_PATH], lambda _: True, builds=builds, kinds=frozenset({"cpu"}))  # type: ignore[arg-type]
    assert chosen.version == "3"


def test_of_one_version_for_two_kinds_the_one_for_the_device_is_taken() -> None:
    builds = [build("2", "cpu"), build("2", "cuda")]
    chosen = choose_version("2", Llama(), [], lambda _: True, builds=builds, kinds=frozenset({"cuda"}))  # type: ignore[arg-type]
    assert chosen.device_kinds == {"cuda"}


def test_a_build_for_another_kind_of_device_is_refused_with_what_to_do() -> None:
    with pytest.raises(Refusal) as refused:
        choose_version("2", Llama(), [], lambda _: True, builds=[build("2", "cpu")], kinds=frozenset({"cuda"}))  # type: ignore[arg-type]
    assert refused.value.code == "engine_build_other_kind"
