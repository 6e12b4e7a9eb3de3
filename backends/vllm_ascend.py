"""vLLM-Ascend: vLLM on Huawei's NPUs through its platform plugin."""

from collections.abc import Mapping
from dataclasses import dataclass

from backends import vllm_failures
from backends.base import Backend, Placed
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

_ON_310P: Mapping[str, OptionValue] = {
    "dtype": "float16",
    "enable-prefix-caching": False,
    "additional-config": '{"ascend_compilation_config": {"enable_npugraph_ex": false}}',
}
"""It computes in float16 only, and has neither that graph compiler nor kernels for a shared beginning."""


@dataclass(frozen=True, slots=True)
class VllmAscend(Vllm):
    name: str = "vllm_ascend"
    device_kinds: frozenset[DeviceKind] = frozenset({"ascend"})
    visible: str = "ASCEND_RT_VISIBLE_DEVICES"
    env: tuple[tuple[str, str], ...] = _ENV
    failures: tuple[Failure, ...] = (*vllm_failures.CANN, *vllm_failures.VLLM)

    def by_device(self, placed: Placed) -> dict[str, OptionValue]:
        """ModelSlim's weights must be announced, others must not be; of the 310P its own page of the documentation."""
        is_slim = placed.facts is not None and placed.facts.quantization_method == "ascend"
        is_310p = any(each.chip.upper().removeprefix("ASCEND").startswith("310P") for each in placed.devices)
        return {**({"quantization": "ascend"} if is_slim else {}), **(_ON_310P if is_310p else {})}

    def arithmetic(self, values: Mapping[str, OptionValue]) -> Reserving:
        return reserving(values)


VLLM_ASCEND: Backend = VllmAscend()
