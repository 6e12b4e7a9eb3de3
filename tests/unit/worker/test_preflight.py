"""Before an engine is launched the worker asks once more whether its host can run it."""

import pytest

from gpustack_lite.domain import BackendVersion, Device
from gpustack_lite.errors import Refusal
from gpustack_lite.wire import HostReport
from worker.devices.cpu import Machine
from worker.devices.detect import Inventory
from worker.preparing import check_host

CARD = Device("w1", 0, "ascend", "910B3", None)
BUILD = BackendVersion("vllm_ascend", "0.23.0", frozenset({"ascend"}), "path", installed=True)


def seen(**host: str) -> Inventory:
    return Inventory((CARD,), Machine(1, 1, 0), host=HostReport(**host))


def test_a_build_that_the_host_cannot_run_is_not_launched() -> None:
    with pytest.raises(Refusal) as refused:
        check_host(seen(cann="8.2.RC1"), (CARD,), "vllm_ascend", BUILD)
    assert refused.value.sentence.code == "cann_differs"
    assert refused.value.sentence.params["host"] == "w1"


@pytest.mark.parametrize("host", [{}, {"driver": "25.5.1", "cann": "9.1.0"}, {"driver": "99.0.0", "cann": "9.1.0"}])
def test_what_fits_or_is_not_documented_is_launched(host: dict[str, str]) -> None:
    check_host(seen(**host), (CARD,), "vllm_ascend", BUILD)
