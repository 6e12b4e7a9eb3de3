"""MindIE: the file that it is told everything by, and what its validator would refuse."""

import json
from dataclasses import replace
from typing import Any

import pytest

from backends.base import Backend
from backends.mindie import MINDIE
from gpustack_lite.domain import BackendVersion
from gpustack_lite.errors import Refusal
from tests.unit.backends.models import GIB, devices, facts, placed, want

backend: Backend = MINDIE
DAEMON = "/usr/local/Ascend/mindie/latest/mindie-service/bin/mindieservice_daemon"
VERSION = BackendVersion("mindie", "2.1", frozenset({"ascend"}), "path", installed=True, executable=DAEMON)
ON_910B = "8x910B3-64G"


def config(context: int = 8192, **options: object) -> dict[str, Any]:
    spec = MINDIE.launch(placed("Qwen3-32B", VERSION, devices(ON_910B)[2:4], context, **options))
    content: dict[str, Any] = json.loads(spec.files["config.json"])
    return content


@pytest.mark.parametrize(("model", "count"), [("Qwen3-14B", 1), ("Qwen3-32B", 2)])
def test_the_fewest_cards_that_do(model: str, count: int) -> None:
    best = MINDIE.estimates(facts(model), want(ON_910B))[0]
    assert best.claim.device_count == count
    assert best.claim.bytes_per_device == int(0.8 * 64 * GIB)


def test_a_cache_of_so_many_gb_bounds_the_context() -> None:
    """Qwen3-14B keeps 160 KiB a token: 2 GiB are 13107 tokens."""
    best = MINDIE.estimates(facts("Qwen3-14B"), want(ON_910B, npu_mem_size=2, tensor_parallel_size=1))[0]
    assert best.context_length == 13056
    with pytest.raises(Refusal, match="does_not_fit"):
        MINDIE.estimates(facts("Qwen3-14B"), want(ON_910B, npu_mem_size=2, max_seq_len=16384, tensor_parallel_size=1))


def test_the_devices_are_those_that_were_placed() -> None:
    made = config()["BackendConfig"]
    assert made["npuDeviceIds"] == [[2, 3]]
    assert (made["ModelDeployConfig"]["ModelConfig"][0]["worldSize"], made["modelInstanceNumber"]) == (2, 1)


def test_nothing_is_cut_off_and_nothing_ends_early() -> None:
    made = config()
    deploy, schedule, server = (
        made["BackendConfig"]["ModelDeployConfig"],
        made["BackendConfig"]["ScheduleConfig"],
        made["ServerConfig"],
    )
    assert (deploy["maxSeqLen"], deploy["maxInputTokenLen"], deploy["truncation"]) == (8192, 8191, False)
    assert schedule["maxIterTimes"] == 8192
    assert schedule["maxPrefillTokens"] >= deploy["maxInputTokenLen"]
    assert schedule["maxPrefillBatchSize"] <= schedule["maxBatchSize"]
    assert (server["tokenTimeout"], server["e2eTimeout"]) == (3600, 65535)


def test_it_listens_on_loopback_without_tls_at_one_port() -> None:
    server = config()["ServerConfig"]
    assert server["ipAddress"] == "127.0.0.1"
    assert "managementIpAddress" not in server
    assert {server["port"], server["managementPort"], server["metricsPort"]} == {21000}
    assert not server["httpsEnabled"]
    assert not server["interCommTLSEnabled"]
    assert "/stopService" not in MINDIE.paths


def test_plugins_are_json_in_a_string() -> None:
    (model,) = config(enable_prefix_caching=True, enable_multi_token_prediction=1)["BackendConfig"][
        "ModelDeployConfig"
    ]["ModelConfig"]
    assert json.loads(model["plugin_params"]) == {"plugin_type": "mtp,prefix_cache", "num_speculative_tokens": 1}


@pytest.mark.parametrize("name", ["org/model", "-x", "x.", "模型", "a" * 257])
def test_names_that_it_does_not_take_are_refused(name: str) -> None:
    with pytest.raises(Refusal, match="mindie_name_invalid"):
        MINDIE.launch(replace(placed("Qwen3-14B", VERSION, devices(ON_910B)[:1], 4096), model_name=name))


def test_the_daemon_and_its_environment() -> None:
    spec = MINDIE.launch(placed("Qwen3-14B", VERSION, devices(ON_910B)[:1], 4096, npu_memory_fraction=0.7))
    assert spec.argv == (DAEMON,)
    assert spec.env["MIES_CONFIG_JSON_PATH"] == "/data/7/config.json"
    assert spec.env["NPU_MEMORY_FRACTION"] == "0.7"
    in_venv = replace(VERSION, executable="/v/bin/python")
    assert MINDIE.launch(placed("Qwen3-14B", in_venv, (), 4096)).argv == ("/v/bin/mindie_llm_server",)


@pytest.mark.parametrize("options", [{"cache-block-size": 100}, {"cache-block-size": 256}, {"max-batch-size": 0}])
def test_what_its_validator_refuses_is_refused_before(options: dict[str, int]) -> None:
    with pytest.raises(Refusal, match="option_invalid"):
        MINDIE.check(options, {})


def test_its_last_words() -> None:
    said = MINDIE.last_error(["[ERROR] MIE04E02041C Failed to listen 10.0.0.1:1025"])
    assert said is not None
    assert said.code == "engine_port_in_use"
