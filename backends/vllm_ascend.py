"""vLLM-Ascend: vLLM on Huawei's NPUs through its platform plugin."""

from collections.abc import Mapping
from dataclasses import dataclass

from backends import vllm_failures
from backends.base import Backend
from backends.failures import Failure
from backends.memory.vllm import Reserving
from backends.memory.vllm_ascend import reserving
from backends.options import OptionValue
from backends.vllm import Vllm
from gpustack_lite.domain import DeviceKind

_ENV = (
    ("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True"),
    ("TASK_QUEUE_ENABLE", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    ("TOKENIZERS_PARALLELISM", "false"),
)
"""Thread pools of one: each rank would start one thread per core, and hosts of Ascend cards have hundreds."""


@dataclass(frozen=True, slots=True)
class VllmAscend(Vllm):
    name: str = "vllm_ascend"
    device_kinds: frozenset[DeviceKind] = frozenset({"ascend"})
    visible: str = "ASCEND_RT_VISIBLE_DEVICES"
    env: tuple[tuple[str, str], ...] = _ENV
    failures: tuple[Failure, ...] = (*vllm_failures.CANN, *vllm_failures.VLLM)

    def arithmetic(self, values: Mapping[str, OptionValue]) -> Reserving:
        return reserving(values)


VLLM_ASCEND: Backend = VllmAscend()
