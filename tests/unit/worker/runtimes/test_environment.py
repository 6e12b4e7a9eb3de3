"""What an engine finds in its environment."""

import pytest

from gpustack_lite.errors import Refusal
from worker.runtimes.environment import MARKER, environment, inherited


def test_secrets_of_ours_stay_with_us() -> None:
    ours = {
        "PATH": "/bin",
        "http_proxy": "http://proxy",
        "LC_ALL": "C",
        "CUDA_HOME": "/cuda",
        "ASCEND_HOME_PATH": "/a",
        "HF_ENDPOINT": "https://hub",
        "HF_TOKEN": "secret",
        "GPUSTACK_LITE_CHILD": "secret",
        "GPUSTACK_LITE_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "LD_PRELOAD": "/x.so",
        "GPUSTACK_LITE_INSTANCE": "somebody:1",
    }
    assert inherited(ours) == {
        "PATH": "/bin",
        "http_proxy": "http://proxy",
        "LC_ALL": "C",
        "CUDA_HOME": "/cuda",
        "ASCEND_HOME_PATH": "/a",
        "HF_ENDPOINT": "https://hub",
    }


def test_the_backend_says_which_devices_are_seen_and_the_marker_is_ours() -> None:
    made = environment({"PATH": "/bin"}, {"A": "1", "CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "3"}, "w:1")
    fixed = {"SPT_NOENV": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert made == {"PATH": "/bin", "A": "1", "CUDA_VISIBLE_DEVICES": "3", MARKER: "w:1"} | fixed


@pytest.mark.parametrize("name", ["GPUSTACK_LITE_INSTANCE", "gpustack_lite_x", "LD_PRELOAD", "LD_AUDIT", "A=B", "A\0B"])
def test_a_model_may_not_set(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        environment({}, {name: "x"}, {}, "w:1")
    assert caught.value.code == "env_not_allowed"
