"""MindIE: the file that it is told everything by, and what its validator would refuse."""

import json
from dataclasses import replace
from typing import Any

import pytest

from backends.base import Backend, HasNeeds, Placed, Renames
from backends.mindie import MINDIE, model_config
from gpustack_lite.domain import BackendVersion, Device
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import text
from tests.unit.backends.models import GIB, devices, facts, placed, want

backend: Backend = MINDIE
needs: HasNeeds = MINDIE
renames: Renames = MINDIE
DAEMON = "/usr/local/Ascend/mindie/latest/mindie-service/bin/mindieservice_daemon"
VERSION = BackendVersion("mindie", "2.1", frozenset({"ascend"}), "path", installed=True, executable=DAEMON)
ON_910B = "8x910B3-64G"


INSTALLED = {
    "Version": "1.0.0",
    "FutureSection": {"kept": 1},
    "ServerConfig": {"ipAddress": "10.0.0.1", "httpsEnabled": True, "maxLinkNum": 300, "newKey": "kept"},
    "BackendConfig": {
        "npuDeviceIds": [[0, 1, 2, 3]],
        "kvPoolConfig": {"backend": "mooncake", "configPath": "/x"},
        "ModelDeployConfig": {
            "LoraModules": [{"name": "a", "path": "/a", "baseModelName": "b"}],
            "ModelConfig": [{"modelName": "old", "dp": -1, "cpuMemSize": 5, "newer": True}, {"modelName": "second"}],
        },
        "ScheduleConfig": {"maxIterTimes": 512, "templateName": "Standard_LLM"},
    },
}
"""As an image brings it: other addresses, another model's ranks, and keys that nobody here has heard of."""


def on_cards(
    context: int = 8192,
    *,
    model: str = "Qwen3-32B",
    cards: tuple[Device, ...] = devices(ON_910B)[2:4],
    texts: dict[str, str] | None = None,
    **options: object,
) -> Placed:
    made = placed(model, VERSION, cards, context, **options)
    return replace(made, more_ports=(21001, 21002, 21003, 21004), texts=texts or {})


def config(context: int = 8192, **options: object) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(MINDIE.launch(on_cards(context, **options)).files["config.json"])  # type: ignore[arg-type]
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


def test_it_listens_on_loopback_without_tls_with_a_port_for_each_door() -> None:
    server = config()["ServerConfig"]
    assert (server["ipAddress"], server["managementIpAddress"]) == ("127.0.0.1", "127.0.0.1")
    assert [server[name] for name in ("port", "managementPort", "metricsPort")] == [21000, 21001, 21002]
    assert not any(server[name] for name in ("httpsEnabled", "interCommTLSEnabled", "allowAllZeroIpListening"))
    assert not any(path.startswith("/stopService") for path in MINDIE.paths)


def test_with_one_port_alone_the_three_doors_share_it() -> None:
    spec = MINDIE.launch(placed("Qwen3-14B", VERSION, devices(ON_910B)[:1], 4096))
    server = json.loads(spec.files["config.json"])["ServerConfig"]
    assert {server["port"], server["managementPort"], server["metricsPort"]} == {21000}
    assert "managementIpAddress" not in server
    assert spec.probe.port is None


def test_busy_is_not_asked_of_an_engine_that_was_ready() -> None:
    probe = MINDIE.launch(on_cards()).probe
    assert (probe.path, probe.live_path, probe.port) == ("/v2/health/ready", "/v2/health/live", 21001)
    assert probe.dead == {500}


def test_the_installed_file_keeps_what_is_not_ours_to_decide() -> None:
    made = config(texts={"config": json.dumps(INSTALLED)})
    assert made["FutureSection"] == {"kept": 1}
    assert (made["ServerConfig"]["maxLinkNum"], made["ServerConfig"]["newKey"]) == (300, "kept")
    (model,) = made["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]
    assert (model["newer"], model["cpuMemSize"]) == (True, 5)


def test_the_installed_file_does_not_say_where_it_listens_nor_what_it_loads() -> None:
    made = config(texts={"config": json.dumps(INSTALLED)})
    backend = made["BackendConfig"]
    (model,) = backend["ModelDeployConfig"]["ModelConfig"]
    assert made["ServerConfig"]["ipAddress"] == "127.0.0.1"
    assert made["ServerConfig"]["httpsEnabled"] is False
    assert backend["npuDeviceIds"] == [[2, 3]]
    assert (model["modelName"], model["trustRemoteCode"]) == ("served", False)
    assert "dp" not in model
    assert "kvPoolConfig" not in backend
    assert "LoraModules" not in backend["ModelDeployConfig"]


@pytest.mark.parametrize("text", ["", "{", "[]", "7"])
def test_an_installed_file_that_is_no_object_is_a_reason(text: str) -> None:
    with pytest.raises(Refusal, match="mindie_config_unreadable"):
        config(texts={"config": text})


@pytest.mark.parametrize(
    "spelling",
    ["maxBatchSize", "BackendConfig.ScheduleConfig.maxBatchSize", "max-batch-size"],
    ids=["key", "path", "ours"],
)
def test_an_option_is_a_key_of_the_file(spelling: str) -> None:
    spec = MINDIE.launch(replace(on_cards(), options={spelling: 64}))
    schedule = json.loads(spec.files["config.json"])["BackendConfig"]["ScheduleConfig"]
    assert (schedule["maxBatchSize"], schedule["maxPrefillBatchSize"]) == (64, 50)


def test_a_key_that_nobody_knows_is_written_by_its_path() -> None:
    spec = MINDIE.launch(replace(on_cards(), options={"BackendConfig.ScheduleConfig.newPolicy": 3}))
    assert json.loads(spec.files["config.json"])["BackendConfig"]["ScheduleConfig"]["newPolicy"] == 3


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({"tlsCaPath": "/etc"}, "option_unknown_here", id="TLS"),
        pytest.param({"ServerConfig.tlsCaPath": "/etc"}, "option_not_allowed", id="TLS by its path"),
        pytest.param({"ServerConfig.port": 80}, "option_not_allowed", id="where it listens"),
        pytest.param({"BackendConfig.ScheduleConfig.x": {"a": 1}}, "option_unknown_here", id="too short a name"),
        pytest.param({"BackendConfig.ScheduleConfig.newOne": "/etc/passwd"}, "option_invalid", id="a file"),
        pytest.param({"Elsewhere.newOne": 1}, "option_unknown_here", id="no section"),
        pytest.param({"npu-device-ids": "[[0]]"}, "option_not_allowed", id="which cards"),
        pytest.param({"maxSeqLen": 4096, "max-model-len": 4096}, "mindie_option_twice", id="twice"),
        pytest.param({"maxN": 9000}, "option_invalid", id="out of its range"),
        pytest.param(
            {"maxBatchSize": 8, "maxPrefillBatchSize": 9}, "mindie_config_refused", id="more prompts than slots"
        ),
        pytest.param({"maxSeqLen": 4096, "maxInputTokenLen": 4097}, "mindie_config_refused", id="longer than all"),
        pytest.param({"maxPreemptCount": 2, "cpuMemSize": 0}, "mindie_config_refused", id="nowhere to set aside"),
        pytest.param({"models": '{"qwen3": {"chat_template": "x"}}'}, "option_not_allowed", id="a template's file"),
        pytest.param({"models": '{"qwen3": {"a": ["/etc/x"]}}'}, "option_not_allowed", id="a path deep within"),
        pytest.param({"cp": 2, "dp": 2}, "mindie_config_refused", id="context and data"),
        pytest.param({"policyType": 3}, "mindie_config_refused", id="a policy that is none"),
        pytest.param(
            {"enable-multi-token-prediction": 1, "enable-split": True}, "mindie_config_refused", id="mtp and splitfuse"
        ),
        pytest.param({"dp": 2, "enable-prefix-caching": True}, "mindie_config_refused", id="data and prefix cache"),
        pytest.param({"plugin_params": '{"plugin_type": "magic"}'}, "mindie_config_refused", id="no such plugin"),
        pytest.param({"plugin_params": '{"type": "mtp"}'}, "option_invalid", id="a plugin without a type"),
    ],
)
def test_what_would_be_refused_is_refused_at_once(options: dict[str, object], code: str) -> None:
    with pytest.raises(Refusal) as caught:
        MINDIE.check(options, {})
    assert caught.value.code == code


@pytest.mark.parametrize(
    "installed",
    [
        pytest.param({"ServerConfig": 5, "BackendConfig": [], "LogConfig": None}, id="sections of another kind"),
        pytest.param(
            {"BackendConfig": {"ModelDeployConfig": {"ModelConfig": {}}, "ScheduleConfig": None}}, id="no list"
        ),
        pytest.param({"BackendConfig": {"ModelDeployConfig": {"ModelConfig": ["x"]}}}, id="no model"),
    ],
)
def test_an_installed_file_of_another_shape_is_made_whole(installed: dict[str, object]) -> None:
    made = config(texts={"config": json.dumps(installed)})
    assert made["ServerConfig"]["port"] == 21000
    assert made["BackendConfig"]["ModelDeployConfig"]["ModelConfig"][0]["modelName"] == "served"


@pytest.mark.parametrize(("name", "value"), [("maxPreemptCount", "none"), ("maxPreemptCount", True), ("maxN", None)])
def test_a_value_of_another_kind_in_the_installed_file_is_a_reason(name: str, value: object) -> None:
    with pytest.raises(Refusal) as caught:
        config(texts={"config": json.dumps({"BackendConfig": {"ScheduleConfig": {name: value}}})})
    assert (caught.value.code, caught.value.params["option"]) == ("mindie_config_refused", name)


@pytest.mark.parametrize(
    ("thinks", "options", "expected"),
    [
        pytest.param(True, {}, {"qwen3": {"enable_reasoning": True}}, id="its template thinks"),
        pytest.param(False, {}, None, id="its template does not"),
        pytest.param(True, {"enable-reasoning": False}, None, id="not wanted"),
        pytest.param(False, {"enable-reasoning": True}, {"qwen3": {"enable_reasoning": True}}, id="wanted"),
        pytest.param(True, {"models": '{"qwen3": {}}'}, {"qwen3": {}}, id="the user's own word"),
    ],
)
def test_thinking_is_told_apart_where_the_family_can(
    thinks: bool, options: dict[str, object], expected: dict[str, object] | None
) -> None:
    known = replace(facts("Qwen3-32B"), template_reasons=thinks)
    spec = MINDIE.launch(replace(on_cards(), options=options, facts=known))
    (model,) = json.loads(spec.files["config.json"])["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]
    assert model.get("models") == expected
    if "models" not in options:
        assert MINDIE.abilities(known, options).spelling == ("reasoning_content" if expected else None)


def test_thinking_apart_that_a_family_does_not_have_is_said_before_it_is_placed() -> None:
    with pytest.raises(Refusal, match="option_invalid"):
        MINDIE.estimates(facts("Llama-3.1-8B"), want(ON_910B, enable_reasoning=True))


@pytest.mark.parametrize("options", [{"dp": 2}, {"enable-multi-token-prediction": 1}, {"maxBatchSize": 3000}])
def test_310p_lacks_what_910b_has(options: dict[str, object]) -> None:
    MINDIE.launch(replace(on_cards(), options=options))
    with pytest.raises(Refusal, match="mindie_config_refused"):
        MINDIE.launch(replace(on_cards(cards=devices("4x310P3-44G")[:2]), options=options))


@pytest.mark.parametrize(
    ("cards", "wanted", "expected"),
    [
        pytest.param("2x310P3-44G", "auto", "float16", id="310P computes no bfloat16"),
        pytest.param("2x910B3-64G", "auto", "bfloat16", id="910B does"),
        pytest.param("2x910B3-64G", "float16", "float16", id="as the user says"),
    ],
)
def test_the_data_type_is_written_into_a_copy_of_the_models_own_config(cards: str, wanted: str, expected: str) -> None:
    texts = {"model": json.dumps({"torch_dtype": "bfloat16", "vocab_size": 7, "else": "kept"})}
    spec = MINDIE.launch(on_cards(cards=devices(cards), texts=texts, dtype=wanted))
    assert json.loads(spec.files["model/config.json"]) == {"torch_dtype": expected, "vocab_size": 7, "else": "kept"}
    assert spec.mirrors == {"model": "/models/Qwen3-32B"}
    (model,) = json.loads(spec.files["config.json"])["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]
    assert model["modelWeightPath"] == "/data/7/model"


def test_what_mindie_reads_of_a_vision_model_lies_one_level_deeper() -> None:
    text = json.dumps({"text_config": {"dtype": "bfloat16", "vocab_size": 9}})
    made = json.loads(model_config(text, "auto", is_310p=False))
    assert (made["torch_dtype"], made["vocab_size"]) == ("bfloat16", 9)


def test_bfloat16_on_310p_is_refused_with_what_to_do() -> None:
    with pytest.raises(Refusal, match="mindie_bfloat16_asked"):
        model_config("{}", "bfloat16", is_310p=True)


def test_a_model_that_sees_is_told_how_large_its_cache_may_be() -> None:
    spec = MINDIE.launch(on_cards(4096, model="Qwen2.5-VL-7B-Instruct", cards=devices(ON_910B)[:1]))
    (model,) = json.loads(spec.files["config.json"])["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]
    assert 1 <= model["npuMemSize"] < 52
    assert "NPU_MEMORY_FRACTION" not in spec.env


def test_a_prompt_may_always_be_worked_on_in_one_piece() -> None:
    schedule = config(8192, maxPrefillTokens=1024)["BackendConfig"]["ScheduleConfig"]
    assert schedule["maxPrefillTokens"] == 8192
    schedule = config(8192, maxPrefillTokens=1024, maxInputTokenLen=2048)["BackendConfig"]["ScheduleConfig"]
    assert schedule["maxPrefillTokens"] == 2048


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, {"tp": 4}, id="all for each layer"),
        pytest.param({"dp": 2}, {"tp": 2, "dp": 2}, id="two copies"),
        pytest.param({"cp": 2}, {"tp": 2, "cp": 2}, id="two share a prompt"),
        pytest.param({"moe_ep": 2}, {"tp": 4, "moe_tp": 2, "moe_ep": 2}, id="experts in two groups"),
    ],
)
def test_the_sizes_multiply_to_the_devices(options: dict[str, object], expected: dict[str, int]) -> None:
    spec = MINDIE.launch(replace(on_cards(model="Qwen3-30B-A3B", cards=devices(ON_910B)[:4]), options=options))
    (model,) = json.loads(spec.files["config.json"])["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]
    assert {name: model[name] for name in ("tp", "dp", "cp", "moe_tp", "moe_ep") if name in model} == expected


@pytest.mark.parametrize(
    ("name", "served"),
    [("org/model", "org-model"), ("-x", "x"), ("Qwen3.5", "Qwen3.5"), ("模型", "model"), ("a" * 300, "a" * 256)],
)
def test_a_name_that_it_does_not_take_is_written_otherwise(name: str, served: str) -> None:
    assert MINDIE.served_name(name) == served


def test_plugins_are_json_in_a_string() -> None:
    (model,) = config(enable_prefix_caching=True, enable_multi_token_prediction=1)["BackendConfig"][
        "ModelDeployConfig"
    ]["ModelConfig"]
    assert json.loads(model["plugin_params"]) == {"plugin_type": "mtp,prefix_cache", "num_speculative_tokens": 1}


def test_the_daemon_is_started_in_its_environment_and_what_was_decided_stands_above_it() -> None:
    spec = MINDIE.launch(on_cards(npu_memory_fraction=0.7))
    shell, flag, script, _, kept, count, *sourced, program = spec.argv
    assert (shell, flag, program) == ("/bin/bash", "-c", DAEMON)
    assert int(count) == len(sourced)
    assert sourced[0] == "/usr/local/Ascend/ascend-toolkit/set_env.sh"
    assert sourced[-1] == "/usr/local/Ascend/mindie/latest/mindie-service/set_env.sh"
    assert kept.split() == sorted(spec.env)
    assert "ASCEND_RT_VISIBLE_DEVICES" in script
    assert spec.env["MIES_INSTALL_PATH"] == "/usr/local/Ascend/mindie/latest/mindie-service"
    assert spec.env["MIES_CONFIG_JSON_PATH"] == "/data/7/config.json"
    assert spec.env["NPU_MEMORY_FRACTION"] == "0.7"
    assert spec.file_mode == 0o640


def test_the_package_of_an_environment_is_another_layout() -> None:
    in_venv = replace(VERSION, executable="/v/bin/python")
    spec = MINDIE.launch(replace(on_cards(), version=in_venv))
    assert spec.argv[-1] == "/v/bin/mindie_llm_server"
    assert "MIES_INSTALL_PATH" not in spec.env
    (config_path, *_) = MINDIE.needs(in_venv, None).texts["config"]
    assert config_path == "/v/lib/python3.10/site-packages/mindie_llm/conf/config.json"


def test_what_a_worker_is_to_read_and_how_many_ports_it_gives() -> None:
    needs = MINDIE.needs(VERSION, "/models/m")
    assert needs.ports == 4
    assert needs.texts == {
        "config": ("/usr/local/Ascend/mindie/latest/mindie-service/conf/config.json",),
        "model": ("/models/m/config.json",),
    }


@pytest.mark.parametrize("options", [{"cache-block-size": 100}, {"cache-block-size": 256}, {"max-batch-size": 0}])
def test_what_its_validator_refuses_is_refused_before(options: dict[str, int]) -> None:
    with pytest.raises(Refusal) as caught:
        MINDIE.check(options, {})
    assert caught.value.code in {"option_invalid", "mindie_config_refused"}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (
            "[ERROR] [http_server.cpp:163] : [MIE04E02041C] [endpoint] Failed to listen 10.0.0.1:1025",
            "engine_port_in_use",
        ),
        ("NotImplementedError: This device does not support bfloat16.Please change", "mindie_bfloat16"),
        ("[llm] [ERROR] missing compulsory field: supportSelectBatch", "mindie_key_missing"),
        ("The type of param maxBatchSize should be uint32_t, but got string", "mindie_key_wrong"),
        ("The maxPreemptCount cannot be set greater than maxBatchsize, please set", "mindie_key_above"),
        ("serverConfig.tokenTimeout is out of range", "mindie_key_outside"),
        ("The values of npu_ids should not be less than 0, but got -1", "mindie_device_ids"),
        ("Available shared memory size is not enough.", "mindie_shared_memory"),
        ("Init tokenizer processes failed, maybe timeout.", "mindie_tokenizer"),
        ("RuntimeError: NPU out of memory. Tried to allocate", "mindie_out_of_memory"),
        ("out of memory, need block 12", "mindie_blocks"),
        ("LLMPythonModel initializes fail", "mindie_python"),
        ("check path: config.json failed, by: check other group permission failed", "mindie_permission"),
        ("dcmi model initialized failed, because the device is used. ret is -8020", "engine_device_occupied"),
        ("libboundscheck.so: cannot open shared object file: No such file", "engine_library_missing"),
        ("./lib.so: undefined symbol: _ZN3atb", "mindie_versions_differ"),
        ("[MIE05E030001] [llm] something new", "mindie_said"),
        ("Ranktable file is invalid. Please check json format!", "mindie_rank_table"),
    ],
)
def test_its_last_words(line: str, code: str) -> None:
    said = MINDIE.last_error(["Daemon starts", line, "[system] [Start mindie server] [fail]"])
    assert said is not None
    assert said.code == code
    assert "{" not in text(said)
    assert "{" not in text(said, "zh")


def test_a_warning_of_permissions_is_not_taken_for_the_cause() -> None:
    warning = (
        "[WARN] [param_checker.cpp:98]  Check Other group permission failed: /m/config.json current permission is 4"
    )
    said = MINDIE.last_error([warning, "RuntimeError: NPU out of memory"])
    assert said is not None
    assert said.code == "mindie_out_of_memory"
