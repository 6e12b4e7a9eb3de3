"""SGLang: its fraction, and the file of flags that holds its key."""

import json

import pytest

from backends.base import Backend
from backends.sglang import SGLANG
from gpustack_lite.domain import BackendVersion
from gpustack_lite.errors import Refusal
from tests.unit.backends.models import GIB, devices, facts, placed, want

backend: Backend = SGLANG
VERSION = BackendVersion("sglang", "0.5", frozenset({"cuda"}), "wheel", installed=True, executable="/v/bin/python")


def test_what_it_claims_leaves_the_reserve_of_a_device() -> None:
    best = SGLANG.estimates(facts("Qwen3-14B"), want("8xH100-80G"))[0]
    assert best.claim.device_count == 1
    assert 0.9 * 80 * GIB < best.claim.bytes_per_device < 0.98 * 80 * GIB


def test_a_smaller_fraction_takes_more_devices() -> None:
    fractions = [want("8xH100-80G", mem_fraction_static=share) for share in (0.8, 0.3)]
    assert [SGLANG.estimates(facts("Qwen3-14B"), each)[0].claim.device_count for each in fractions] == [1, 2]


def test_its_key_is_in_a_file_and_the_fraction_is_said() -> None:
    spec = SGLANG.launch(placed("Qwen3-32B", VERSION, devices("2xH100-80G"), 40960, disable_radix_cache=True))
    assert spec.argv == ("/v/bin/python", "-m", "sglang.launch_server", "--config", "/data/7/sglang.yaml")
    said = json.loads(spec.files["sglang.yaml"])
    assert said["api-key"] == "secret-key"
    assert (said["tensor-parallel-size"], said["context-length"], said["host"]) == (2, 40960, "127.0.0.1")
    assert 0.8 < said["mem-fraction-static"] < 0.88
    assert said["disable-radix-cache"] is True
    assert spec.env["CUDA_VISIBLE_DEVICES"] == "0,1"


@pytest.mark.parametrize("name", ["host", "api-key", "trust-remote-code", "config"])
def test_what_the_platform_says_itself_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match="option_not_allowed"):
        SGLANG.check({name: "x"}, {})
