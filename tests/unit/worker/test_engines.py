import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from backends.echo import ECHO
from backends.llama_cpp import LLAMA_CPP
from gpustack_lite.domain import BackendVersion
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Completed, Ports, SystemProcesses
from gpustack_lite.wire import Progress
from worker import engines

WHEEL = LLAMA_CPP.versions()[0]
UV_OUTPUT = """Using Python 3.11.7 environment at: /x
Resolved 2 packages in 1.20s
Downloading xllamacpp (37.1MiB)
Downloading numpy (10.0MiB)
 Downloaded numpy
"""


class Saying(SystemProcesses):
    """Every program says the same."""

    def __init__(self, returncode: int, stdout: str = "", stderr: str = "") -> None:
        super().__init__()
        self._completed = Completed(returncode, stdout, stderr)

    def run(self, *_: object, **__: object) -> Completed:
        return self._completed


def make_installed(data_dir: Path, requirement: str | None = WHEEL.requirement) -> Path:
    folder = engines.folder_of(WHEEL, data_dir)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / engines.MARKER).write_text(json.dumps({"requirement": requirement}))
    return folder


def test_an_environment_is_named_by_backend_and_version(tmp_path: Path) -> None:
    assert engines.folder_of(WHEEL, tmp_path) == tmp_path / "worker" / "engines" / f"llama_cpp-{WHEEL.version}"


def test_a_finished_environment_is_used(tmp_path: Path) -> None:
    folder = make_installed(tmp_path)
    found = engines.installed(WHEEL, tmp_path, Ports())
    assert found == replace(WHEEL, installed=True, executable=str(folder / "bin" / "python"))


@pytest.mark.parametrize("damage", ["marker", "python", "requirement", "nonsense"])
def test_what_is_not_whole_does_not_count_as_installed(tmp_path: Path, damage: str) -> None:
    folder = make_installed(tmp_path, "xllamacpp==1" if damage == "requirement" else WHEEL.requirement)
    if damage == "marker":
        (folder / engines.MARKER).unlink()
    if damage == "nonsense":
        (folder / engines.MARKER).write_bytes(b"\xff[")
    if damage == "python":
        (folder / "bin" / "python").unlink()
        (folder / "bin" / "python").symlink_to("/nonexistent")
    assert engines.installed(WHEEL, tmp_path, Ports()) is None


def test_what_is_built_in_runs_on_our_own_python(tmp_path: Path) -> None:
    found = engines.installed(ECHO.versions()[0], tmp_path, Ports())
    assert found is not None
    assert found.executable == sys.executable


async def test_a_program_that_left_the_path_is_refused(tmp_path: Path) -> None:
    gone = BackendVersion("llama_cpp", "path-1", frozenset({"cpu"}), source="path", installed=True, executable="/nope")
    with pytest.raises(Refusal) as refused:
        await engines.ensure(gone, tmp_path, Ports())
    assert refused.value.code == "engine_not_on_path"


def test_progress_is_the_share_of_what_uv_downloads() -> None:
    total = int(37.1 * 1024**2) + 10 * 1024**2
    made = engines.progress_of(UV_OUTPUT)
    assert (made.phase, made.bytes_done, made.bytes_total) == ("engine", 10 * 1024**2, total)


@pytest.mark.parametrize("output", ["", "Resolved 1 package in 5ms\nInstalled 1 package in 2ms\n", "Downloading ("])
def test_progress_that_nobody_knows_is_unknown(output: str) -> None:
    assert engines.progress_of(output).model_copy(update={"line": None}) == Progress(phase="engine")


def test_the_installers_last_line_is_told() -> None:
    assert engines.progress_of(UV_OUTPUT + "\n").line == "Downloaded numpy"


@pytest.fixture
def llama_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return program


def test_an_engine_on_path_is_found_with_its_version(llama_server: Path) -> None:
    said = "version: 11434 (abc)\nbuilt with GCC"
    (found,) = engines.find_on_path(Ports(processes=Saying(0, stderr=said)))
    assert (found.version, found.source, found.executable) == ("path-11434", "path", os.path.realpath(llama_server))


@pytest.mark.parametrize(
    "saying", [Saying(127, stderr="libgomp.so.1: not found"), Saying(0, "hello")], ids=["dies", "else"]
)
@pytest.mark.usefixtures("llama_server")
def test_an_engine_on_path_that_cannot_say_its_version_is_left_out(saying: Saying) -> None:
    assert engines.find_on_path(Ports(processes=saying)) == ()


def test_without_an_engine_on_path_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert engines.find_on_path(Ports()) == ()


@pytest.mark.parametrize(
    ("output", "said"),
    [
        pytest.param(
            "  × No solution found when resolving dependencies:\n"
            "  ╰─▶ Because there is no version of xllamacpp==0.0.0.1 and you require\n"
            "      xllamacpp==0.0.0.1, we can conclude that your requirements are\n"
            "      unsatisfiable.\n",
            "Because there is no version of xllamacpp==0.0.0.1 and you require xllamacpp==0.0.0.1, "
            "we can conclude that your requirements are unsatisfiable.",
            id="a message broken at a width",
        ),
        pytest.param("Resolved 1 package\nerror: No space left\n", "error: No space left", id="an error line"),
        pytest.param("one\ntwo\n", "two", id="no message of uv's"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_uvs_last_message_is_told_whole_and_in_one_line(output: str, said: str) -> None:
    assert engines.last_words(output) == said


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("Available devices:\n  CUDA0: NVIDIA A10 (22589 MiB, 22292 MiB free)\n", {"cuda"}),
        ("Available devices:\n  CANN0: Ascend910B3 (62420 MiB, 62000 MiB free)\n", {"ascend"}),
        ("Available devices:\n  Vulkan0: NVIDIA A10 (22589 MiB, 22292 MiB free)\n", set()),
        ("Available devices:\n", set()),
        ("error: invalid argument: --list-devices", set()),
    ],
)
def test_a_build_serves_the_kinds_of_which_it_sees_a_device(said: str, kinds: set[str]) -> None:
    assert engines.kinds_listed(said) == kinds
