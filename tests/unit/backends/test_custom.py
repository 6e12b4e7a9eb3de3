from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from backends.base import Backend, Mate, Placed, Team, Want
from backends.custom import CUSTOM, CustomBackend, from_spec
from gpustack_lite.domain import Abilities, Device, DeviceKind, LaunchSpec
from gpustack_lite.errors import Refusal

SPEC: dict[str, Any] = {
    "name": "mine",
    "command": ["prog", "--port", "{port}", "--model", "{model_path}", "--name", "{model_name}"],
    "env": {"MODE": "fast"},
    "device_kinds": ["cpu"],
    "probe": {"path": "/ready", "deadline_seconds": 90},
    "claim": {"device_count": 0, "bytes_per_device": 0, "ram_bytes": 100_000_000},
}


def made(**changes: Any) -> Backend:
    return from_spec({**SPEC, **changes})


def launched(
    command: list[str],
    *,
    options: Mapping[str, object] | None = None,
    kind: DeviceKind = "ascend",
    devices: tuple[int, ...] = (),
    source_path: str | None = "/models/a b.gguf",
    context_length: int | None = 4096,
    team: Team | None = None,
) -> LaunchSpec:
    backend = made(command=command, device_kinds=["cpu", kind])
    return backend.launch(
        Placed(
            instance_id=1,
            model_name="qwen",
            source_path=source_path,
            facts=None,
            options=options or {},
            env={"TZ": "UTC"},
            devices=tuple(Device("w", index, kind, "910B3", 2**30) for index in devices),
            port=21000,
            workdir="/data/1",
            engine_key="k",
            context_length=context_length,
            cpu_count=2,
            version=backend.versions()[0],
            runner_dir="/r",
            team=team,
        )
    )


def test_it_is_a_backend() -> None:
    backend: Backend = CustomBackend(name="x", command=("prog",))
    assert isinstance(backend, Backend)


def test_the_template_becomes_a_command_without_any_shell() -> None:
    spec = launched(SPEC["command"])
    assert spec.argv == ("prog", "--port", "21000", "--model", "/models/a b.gguf", "--name", "qwen")


def test_a_placeholder_may_be_a_part_of_an_argument() -> None:
    assert launched(["prog", "http://127.0.0.1:{port}/{model_name}"]).argv[1] == "http://127.0.0.1:21000/qwen"


def test_a_brace_is_written_twice() -> None:
    assert launched(["prog", '{{"port": {port}}}']).argv[1] == '{"port": 21000}'


def test_devices_and_their_number_are_filled_in() -> None:
    spec = launched(["prog", "{devices}", "{tensor_parallel_size}", "{context_length}"], devices=(2, 5))
    assert spec.argv == ("prog", "2,5", "2", "4096")


def test_options_become_arguments_of_their_own() -> None:
    options = {"max-len": 5, "fast": True, "slow": False, "none": None, "lora": ["a", "b"]}
    assert launched(["prog", "{options}"], options=options).argv == (
        *("prog", "--max-len", "5", "--fast", "--lora", "a", "b"),
    )


@pytest.mark.parametrize(
    ("kind", "variables"),
    [
        pytest.param("ascend", {"ASCEND_RT_VISIBLE_DEVICES": "1,3"}, id="ascend"),
        pytest.param("cuda", {"CUDA_VISIBLE_DEVICES": "1,3"}, id="cuda"),
        pytest.param("rocm", {"HIP_VISIBLE_DEVICES": "1,3"}, id="rocm"),
        pytest.param("mlu", {"MLU_VISIBLE_DEVICES": "1,3"}, id="cambricon"),
    ],
)
def test_an_engine_sees_its_devices_only(kind: DeviceKind, variables: dict[str, str]) -> None:
    spec = launched(["prog"], kind=kind, devices=(1, 3))
    assert spec.env == {"PORT": "21000", "MODE": "fast", "TZ": "UTC", **variables}


def test_the_probe_is_the_described_one() -> None:
    spec = launched(SPEC["command"])
    assert (spec.probe.path, spec.probe.deadline_seconds) == ("/ready", 90.0)


def test_the_claim_is_the_described_one() -> None:
    backend = made(device_kinds=["ascend", "cpu"], claim={"device_count": 2, "bytes_per_device": 5, "ram_bytes": 7})
    (estimate,) = backend.estimates(None, Want())
    claim = estimate.claim
    assert (claim.device_count, claim.bytes_per_device, claim.ram_bytes) == (2, 5, 7)
    assert claim.device_kinds == frozenset({"ascend"})
    assert estimate.memory is None


def test_max_model_len_is_advertised() -> None:
    backend = made(command=["prog", "{port}", "{options}"])
    assert backend.estimates(None, Want({"max-model-len": 512}))[0].context_length == 512


def test_a_value_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        launched(["prog", "{model_path}"], source_path=None)
    assert refused.value.code == "custom_value_missing"


@pytest.mark.parametrize(
    ("changes", "param", "code"),
    [
        pytest.param({"name": "Mine!"}, "name", "custom_name_invalid", id="name with capitals"),
        pytest.param({"name": "x" * 40_000}, "name", "custom_name_invalid", id="40 kB name"),
        pytest.param({"name": None}, "name", "custom_name_invalid", id="no name"),
        pytest.param({"command": "prog {port}"}, "command", "custom_command_invalid", id="shell line"),
        pytest.param({"command": []}, "command", "custom_command_invalid", id="empty command"),
        pytest.param({"command": ["prog", 5]}, "command", "custom_command_invalid", id="number as argument"),
        pytest.param({"command": ["prog", "a\0"]}, "command", "custom_command_invalid", id="NUL"),
        pytest.param({"command": ["prog"] * 300}, "command", "custom_command_invalid", id="too many arguments"),
        pytest.param({"command": ["{model_path}"]}, "command", "custom_program_invalid", id="program from a model"),
        pytest.param({"command": [" "]}, "command", "custom_program_invalid", id="blank program"),
        pytest.param({"command": ["p", "{prot}"]}, "command", "custom_unknown_placeholder", id="misspelled"),
        pytest.param({"command": ["p", "{}"]}, "command", "custom_unknown_placeholder", id="nameless"),
        pytest.param({"command": ["p", "{port"]}, "command", "custom_unknown_placeholder", id="not closed"),
        pytest.param({"command": ["p", "{port!r}"]}, "command", "custom_unknown_placeholder", id="format tricks"),
        pytest.param({"command": ["p", "x{options}"]}, "command", "custom_unknown_placeholder", id="options inside"),
        pytest.param({"env": ["A=1"]}, "env", "custom_env_invalid", id="env as a list"),
        pytest.param({"env": {"A": 1}}, "env", "custom_env_invalid", id="number in env"),
        pytest.param({"env": {"LD_PRELOAD": "x"}}, "env.LD_PRELOAD", "env_not_allowed", id="preload"),
        pytest.param({"device_kinds": []}, "device_kinds", "custom_kinds_invalid", id="no kind"),
        pytest.param({"device_kinds": ["tpu"]}, "device_kinds", "custom_kinds_invalid", id="unknown kind"),
        pytest.param({"device_kinds": [["a"]]}, "device_kinds", "custom_kinds_invalid", id="nested kind"),
        pytest.param({"probe": []}, "probe", "custom_not_a_mapping", id="probe as a list"),
        pytest.param({"probe": {"path": "health"}}, "probe.path", "custom_probe_path_invalid", id="relative path"),
        pytest.param({"probe": {"path": "/a\r\nX: y"}}, "probe.path", "custom_probe_path_invalid", id="header trick"),
        pytest.param({"probe": {"deadline_seconds": 0}}, "probe.deadline_seconds", "custom_number_invalid", id="0 s"),
        pytest.param({"probe": {"tries": 3}}, "probe.tries", "custom_unknown_key", id="unknown key of the probe"),
        pytest.param({"claim": {"ram_bytes": -1}}, "claim.ram_bytes", "custom_number_invalid", id="negative bytes"),
        pytest.param({"claim": {"ram_bytes": True}}, "claim.ram_bytes", "custom_number_invalid", id="boolean bytes"),
        pytest.param({"claim": {"device_count": 1}}, "device_kinds", "custom_claim_without_kind", id="device of a CPU"),
        pytest.param({"image": "x"}, "image", "custom_unknown_key", id="unknown key"),
    ],
)
def test_a_description_that_does_not_hold_is_refused_where_it_fails(
    changes: dict[str, Any], param: str, code: str
) -> None:
    with pytest.raises(Refusal) as refused:
        made(**changes)
    assert (refused.value.code, refused.value.param) == (code, param)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({"a b": 1}, "option_unknown_here", id="name with a space"),
        pytest.param({"-x": 1}, "option_unknown_here", id="name with a dash in front"),
        pytest.param({"x": {"a": 1}}, "option_invalid", id="object"),
        pytest.param({"x": "a\0"}, "option_invalid", id="NUL"),
    ],
)
def test_options_that_are_no_arguments_are_refused(options: dict[str, object], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        made(command=["p", "{options}"]).check(options, {})
    assert refused.value.code == code


def test_options_are_refused_where_the_template_has_no_place_for_them() -> None:
    with pytest.raises(Refusal) as refused:
        made().check({"x": 1}, {})
    assert refused.value.code == "option_unknown_here"


def test_the_bare_template_serves_nothing() -> None:
    with pytest.raises(Refusal) as refused:
        CUSTOM.check({}, {})
    assert refused.value.code == "custom_needs_definition"


def test_of_an_engine_that_nobody_described_further_nothing_is_known() -> None:
    assert made().abilities(None, {}) == Abilities()


def test_what_a_description_says_of_paths_and_reasoning_is_told() -> None:
    able = made(paths=["/v1/score", "/v2/rerank"], reasoning="reasoning").abilities(None, {})
    assert able == Abilities(paths=frozenset({"/v1/score", "/v2/rerank"}), spelling="reasoning")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            ("paths", value)
            for value in ("/v1/score", [], ["v1/score"], ["/v1/score/"], ["/health"], [1], {"/v1/x": 1})
        ),
        *(("reasoning", value) for value in ("both", "", 1, True, ["reasoning"])),
    ],
    ids=str,
)
def test_paths_and_reasoning_are_what_a_gateway_knows(field: str, value: object) -> None:
    with pytest.raises(Refusal) as refused:
        made(**{field: value})
    assert (refused.value.code, refused.value.param) == (f"custom_{field}_invalid", field)


WIDE = ["prog", "{rank}/{ranks}", "{leader_address}:{leader_port}", "{members}"]


def test_several_workers_are_told_of_each_other() -> None:
    team = Team(1, (Mate("w1", "10.0.0.1"), Mate("w2", "10.0.0.2")), 21001)
    spec = launched(WIDE, team=team)
    assert spec.argv[1:] == ("1/2", "10.0.0.1:21001", "10.0.0.1,10.0.0.2")
    assert spec.probe.path == ""
    assert launched(WIDE, team=replace(team, rank=0)).probe.path == "/ready"


def test_one_worker_is_a_team_of_one() -> None:
    assert launched(WIDE).argv[1] == "0/1"


def test_a_claim_may_be_on_several_workers() -> None:
    (estimate,) = made(claim={"worker_count": 3}).estimates(None, Want())
    assert estimate.claim.worker_count == 3
    with pytest.raises(Refusal, match="custom_number_invalid"):
        made(claim={"worker_count": 0})
