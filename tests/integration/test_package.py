"""The distribution: what is in the wheel, what it weighs, and that it installs from wheels alone where users are."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import uv

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
UV = uv.find_uv_bin()
OUR_NAMES = {"gpustack_lite", "backends", "scheduler", "worker"}


def run(*argv: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(each) for each in argv], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--wheel", "--quiet", "--python", sys.executable, "--out-dir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its dependencies, from wheels only: no compiler is asked for."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    run(UV, "pip", "install", "--quiet", "--only-binary", ":all:", "--python", folder / "bin/python", wheel)
    return folder


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_console(wheel: Path) -> None:
    assert "gpustack_lite/ui/index.html" in names(wheel)
    assert any(name.startswith("gpustack_lite/ui/assets/") and name.endswith(".js") for name in names(wheel))


def test_the_wheel_owns_its_four_names_and_no_other(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == OUR_NAMES
    assert not [name for name in names(wheel) if name.endswith(".pth")]


def test_the_wheel_carries_migrations_and_runners(wheel: Path) -> None:
    assert any(name.startswith("gpustack_lite/db/migrations/versions/") for name in names(wheel))
    assert "worker/runners/xllamacpp_server.py" in names(wheel)


def test_the_installed_package_with_its_dependencies_stays_under_200_mb(installed: Path) -> None:
    seen: set[int] = set()
    total = 0
    for folder, _, files in os.walk(installed):
        for name in files:
            stat = os.lstat(os.path.join(folder, name))
            total += 0 if stat.st_ino in seen else stat.st_blocks * 512
            seen.add(stat.st_ino)
    assert total < 200e6, f"{total / 1e6:.0f} MB"


def test_the_installed_command_runs_and_knows_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "bin/gpustack-lite", "--version", cwd=tmp_path).strip() == "gpustack-lite 0.1.0"


ENGINES = {"torch", "vllm", "xllamacpp", "transformers", "numpy"}


@pytest.mark.parametrize("role", ["gpustack_lite.server.main", "gpustack_lite.gateway.main", "worker.main"])
def test_the_control_plane_never_imports_torch_or_an_engine(installed: Path, tmp_path: Path, role: str) -> None:
    code = f"import sys, {role}; print(sorted({ENGINES} & set(sys.modules)))"
    assert run(installed / "bin/python", "-I", "-c", code, cwd=tmp_path).strip() == "[]"


@pytest.mark.parametrize("platform", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_every_dependency_has_a_wheel(platform: str, python: str, tmp_path: Path) -> None:
    run(
        *(UV, "pip", "compile", "--quiet", "--no-header", "--only-binary", ":all:", "--python-platform", platform),
        *("--python-version", python, "--all-extras", "-o", tmp_path / "resolved.txt", ROOT / "pyproject.toml"),
    )
    assert "fastapi==" in (tmp_path / "resolved.txt").read_text()
