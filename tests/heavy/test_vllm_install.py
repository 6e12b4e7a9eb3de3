"""vLLM for the CPU, really installed by our recipe: gigabytes from the index, minutes."""

import subprocess
from pathlib import Path

import pytest

from tests.harness import Platform, cli

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def test_vllm_for_the_cpu_is_installed_and_says_its_version(tmp_path: Path) -> None:
    with Platform(tmp_path) as platform:
        asked = ("backends", "install", "vllm==0.32.0", "--for", "cpu")
        done = cli(*asked, env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)}, timeout=3000)
        assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr}"
        python = platform.data_dir / "worker" / "engines" / "vllm-0.32.0-cpu" / "bin" / "python"
        argv = [str(python), "-m", "vllm.entrypoints.cli.main", "--version"]
        said = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
        assert said.returncode == 0, said.stderr[-2000:]
        assert "0.32.0+cpu" in said.stdout
