"""The environment of an engine: what it needs of ours by an allow-list, never a secret, always the marker."""

import re
from collections.abc import Mapping

from backends.options import check_env

MARKER = "GPUSTACK_LITE_INSTANCE"
_NAMES = frozenset(
    {
        *("PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "MODELSCOPE_ENDPOINT", "MODELSCOPE_DOMAIN"),
    }
)
"""Never a home: there lie the credentials of hubs, clouds and registries."""
_PREFIXES = (
    *("LC_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_"),
    *("CUDA_", "NVIDIA_", "NCCL_", "ROCM_", "HIP_", "HSA_", "RCCL_", "MUSA_", "MACA_", "NEUWARE_"),
    *("ASCEND_", "HCCL_", "ATB_", "ASDOPS_", "LCCL_", "MINDIE_", "MIES_", "RANK_TABLE"),
    *("TRANSFORMERS_", "TORCH_", "PYTORCH_"),
)
"""What vendors' toolkits are set up by: CUDA, ROCm, CANN with its libraries, and threads."""
_SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "PRIVATE_KEY", "ACCESS_KEY", "AUTH")
_FIXED = {"SPT_NOENV": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
"""SPT_NOENV keeps setproctitle (vLLM) from writing its title over the marker.

CUDA numbers the fastest GPU first unless told otherwise; nvidia-smi, where our indices come from, goes by bus.
"""
_WITH_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@|://[^/@\s:]+@")


def marker_value(worker_uid: str, instance_id: int) -> str:
    return f"{worker_uid}:{instance_id}"


def inherited(ours: Mapping[str, str]) -> dict[str, str]:
    """What an engine gets of our own environment. Lower-case proxies count too."""
    return {name: value for name, value in ours.items() if _may_inherit(name.upper(), value)}


def _may_inherit(name: str, value: str) -> bool:
    """An address with a name and a password in it is a secret under any name."""
    if _WITH_PASSWORD.search(value):
        return False
    if name in _NAMES:
        return True
    return name.startswith(_PREFIXES) and not any(word in name for word in _SECRET_WORDS)


def check_model_env(env: Mapping[str, str]) -> None:
    """Raises:
    Refusal: `env_invalid` or `env_not_allowed`, whatever the backend and the server think of it.
    """
    check_env(env)


def environment(
    ours: Mapping[str, str],
    model: Mapping[str, str],
    spec: Mapping[str, str],
    marker: str,
    private: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The backend's own variables win over the model's: they say which devices the engine may see.

    `private` is where its home and its caches are; a container has those of its image.

    Raises:
        Refusal: `env_not_allowed`.
    """
    check_model_env(model)
    return {**inherited(ours), **(private or {}), **model, **spec, **_FIXED, MARKER: marker}
