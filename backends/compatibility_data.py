"""Which versions go together, one row per documented statement, with where it is said. Nothing here was tried by us."""

from typing import NamedTuple

_VLLM_ASCEND = "https://docs.vllm.ai/projects/ascend/en/"
_POLICY = "vllm-project/vllm-ascend, docs/source/community/versioning_policy.md"
_CANN_910 = "https://gitcode.com/cann/release-management/blob/master/9.1.0/release-notes.md"
_CANN_850 = "https://www.hiascend.com/document/detail/en/canncommercial/850/releasenote/releasenote_0000.html"
_MINDIE_2600 = "https://gitcode.com/Ascend/release-management/blob/master/MindIE/26.0.0/release.md"
_MINDIE_21RC1 = "https://www.hiascend.com/document/detail/zh/mindie/21RC1/releasenote/releasenote_0004.html"
_VLLM = "https://docs.vllm.ai/en/"
_CUDA = "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"
_CUDA_13 = "https://docs.nvidia.com/cuda/archive/13.0.0/cuda-toolkit-release-notes/index.html"


class Build(NamedTuple):
    """One release of an Ascend engine. `cann`: the versions it is documented for, or ">=" one; None: not said."""

    backend: str
    version: str
    cann: tuple[str, ...]
    source: str
    vllm: str | None = None
    torch: str | None = None
    torch_npu: str | None = None


BUILDS: tuple[Build, ...] = (
    Build(
        *("vllm_ascend", "0.30.0rc2", ("9.2",), "https://github.com/gpustack/runner/releases/tag/v0.1.31.post2"),
        vllm="0.30.0",
    ),
    Build(
        *("vllm_ascend", "0.26.0rc1", ("9.1.0",), f"{_VLLM_ASCEND}v0.26.0rc1/installation.html"),
        *("0.26.0", "2.10.0", "2.10.0.post4"),
    ),
    Build("vllm_ascend", "0.23.0", ("9.1.0",), _POLICY, "0.23.0", "2.10.0", "2.10.0.post4"),
    Build("vllm_ascend", "0.22.1rc1", ("9.0.0",), _POLICY, "0.22.1", "2.10.0", "2.10.0"),
    Build("vllm_ascend", "0.21.0rc1", ("9.0.0",), _POLICY, "0.21.0", "2.10.0", "2.10.0"),
    Build("vllm_ascend", "0.20.2rc1", ("9.0.0",), _POLICY, "0.20.2", "2.10.0", "2.10.0"),
    Build("vllm_ascend", "0.19.1rc1", ("8.5.1",), _POLICY, "0.19.1", "2.9.0", "2.9.0"),
    Build(  # its two pages differ: the policy says 8.5.1, the installation page 9.0.0
        *("vllm_ascend", "0.18.0", ("8.5.1", "9.0.0"), f"{_POLICY}; {_VLLM_ASCEND}v0.18.0/installation.html"),
        *("0.18.0", "2.9.0", "2.9.0.post2"),
    ),
    Build("vllm_ascend", "0.13.0", ("8.5.0",), _POLICY, "0.13.0", "2.8.0", "2.8.0.post2"),
    Build("vllm_ascend", "0.11.0", ("8.3.RC2",), _POLICY, "0.11.0", "2.7.1", "2.7.1.post1"),
    Build("vllm_ascend", "0.10.0rc1", (">=8.2.RC1",), f"{_VLLM_ASCEND}v0.10.0rc1/installation.html", "0.10.0"),
    Build("vllm_ascend", "0.9.1", ("8.2.RC1",), _POLICY, "0.9.1", "2.5.1", "2.5.1"),
    Build("vllm_ascend", "0.7.3", (">=8.1.RC1",), f"{_VLLM_ASCEND}v0.7.3/_sources/installation.md", "0.7.3", "2.5.1"),
    Build("mindie", "3.0.0", ("8.5.1",), _MINDIE_2600),
    Build("mindie", "2.3.0", ("8.5.0",), _MINDIE_2600),
    Build("mindie", "2.2.RC1", ("8.3.RC2",), _MINDIE_2600),
    Build("mindie", "2.1.RC2", ("8.2.RC2",), _MINDIE_2600),
    Build("mindie", "2.1.RC1", ("8.2.RC1",), _MINDIE_21RC1),
)


class Drivers(NamedTuple):
    """Drivers (Ascend HDK) that a CANN runs on. Older than `oldest` is documented not to; what is neither is unknown.

    `listed` are families: 25.2 is 25.2.RC1, 25.2.0, 25.2.1 ...
    """

    cann: str
    listed: tuple[str, ...]
    oldest: str | None
    source: str


_SINCE_252 = ("25.2", "25.3", "25.5", "25.7", "26.0", "26.1")
CANN_DRIVERS: tuple[Drivers, ...] = (
    Drivers("9.1", _SINCE_252, "25.2.RC1", _CANN_910),
    Drivers("9.0", ("25.0", *_SINCE_252), "25.0.RC1", _CANN_910),
    Drivers("8.5.2", ("25.0", *_SINCE_252), "25.0.RC1", _CANN_910),
    Drivers("8.5", ("25.0", "25.2", "25.3", "25.5"), "25.0.RC1", f"{_CANN_850}; of 8.5.1: {_MINDIE_2600}"),
    Drivers(
        *("8.3.RC1", ("25.3",), None),
        "https://gitcode.com/Ascend/ascend-deployer, ascend_deployer/downloader/software/CANN_8.3.RC1.json",
    ),
    Drivers("8.2.RC1", ("24.1", "25.0", "25.2"), "24.1.RC2", _MINDIE_21RC1),
    Drivers("8.1.RC1", ("24.1", "25.0"), "24.1.RC1", f"{_VLLM_ASCEND}v0.7.3/_sources/installation.md"),
)

CHIPS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "vllm_ascend": (
        ("910B", "910C", "910_93", "A2", "A3", "310P", "950"),
        ("310B", "910A", "910PRO"),
        f"{_VLLM_ASCEND}latest/installation.html and its supported hardware",
    ),
    "mindie": (
        ("910B", "910C", "910_93", "A2", "A3", "310P"),
        ("310B",),
        "Ascend/MindIE-LLM, docs/zh/user_guide",
    ),
}
"""By engine: how the names of chips begin on which it runs, those on which it does not, and where that is said."""


class Wheels(NamedTuple):
    """From this version of vLLM on, the wheels of PyPI are made with this CUDA."""

    since: str
    cuda: str
    source: str


VLLM_WHEELS: tuple[Wheels, ...] = (
    Wheels("0.20.0", "13.0", "https://github.com/vllm-project/vllm/releases/tag/v0.20.0"),
    Wheels("0.9.0", "12.8", f"{_VLLM}v0.9.0/getting_started/installation/gpu.html"),
    Wheels("0.3.3", "12.1", f"{_VLLM}v0.3.3/getting_started/installation.html"),
)


class Cuda(NamedTuple):
    """The oldest NVIDIA driver and the lowest compute capability for a major version of CUDA."""

    major: int
    driver: str
    capability: float | None
    source: str


CUDAS: tuple[Cuda, ...] = (
    Cuda(13, "580", 7.5, f"{_CUDA}; Maxwell, Pascal and Volta were dropped: {_CUDA_13}"),
    Cuda(12, "525", None, _CUDA),
    Cuda(11, "450", None, _CUDA),
)

VLLM_CAPABILITY: tuple[tuple[str, float, str], ...] = (
    ("0.21.0", 7.5, "vllm-project/vllm v0.21.0, docs/getting_started/installation/gpu.cuda.inc.md"),
    ("0.3.3", 7.0, f"{_VLLM}v0.9.0/getting_started/installation/gpu.html"),
)
"""From this version on, the lowest compute capability."""

CAPABILITIES: dict[str, float] = {
    "P100": 6.0,
    "P40": 6.1,
    "P4": 6.1,
    "V100": 7.0,
    "T4": 7.5,
    "2080": 7.5,
    "A100": 8.0,
    "A800": 8.0,
    "A30": 8.0,
    "A10": 8.6,
    "A16": 8.6,
    "A40": 8.6,
    "A6000": 8.6,
    "3090": 8.6,
    "L4": 8.9,
    "L20": 8.9,
    "L40": 8.9,
    "L40S": 8.9,
    "4090": 8.9,
    "H20": 9.0,
    "H100": 9.0,
    "H200": 9.0,
    "H800": 9.0,
    "GH200": 9.0,
    "B200": 10.0,
    "GB200": 10.0,
    "B300": 10.3,
    "5090": 12.0,
}
"""By a word of the chip's name. Source: https://developer.nvidia.com/cuda-gpus."""
