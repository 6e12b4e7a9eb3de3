"""What a model's files may do to an engine: nothing that no administrator decided."""

import json
from dataclasses import replace

import pytest

from backends import registry, trust
from backends.base import Backend, Placed
from backends.custom import CustomBackend
from backends.mindie import MINDIE
from backends.sglang import SGLANG
from backends.vllm import VLLM
from backends.vllm_ascend import VLLM_ASCEND
from gpustack_lite.domain import BackendVersion, LaunchSpec
from gpustack_lite.hub.config_facts import facts_of_config
from tests.unit.backends.models import CONFIGS, devices, facts, placed

ENGINES: tuple[Backend, ...] = (VLLM, VLLM_ASCEND, SGLANG)


def with_code(engine: Backend, *, trusted: bool) -> Placed:
    kind = "ascend" if engine is VLLM_ASCEND else "cuda"
    version = BackendVersion(engine.name, "0.23.0", frozenset({kind}), "path", installed=True, executable="/v/bin/x")  # type: ignore[arg-type]
    on = devices("1x910B3-64G" if kind == "ascend" else "1xA100-80G")
    made = placed("Qwen3-8B", version, on, 4096)
    assert made.facts is not None
    return replace(made, facts=replace(made.facts, runs_code=True), trust_remote_code=trusted)


def words(spec: LaunchSpec) -> str:
    return "\n".join((*spec.argv, *spec.files.values()))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_an_engine_that_trusts_nobody_is_given_no_code(engine: Backend) -> None:
    spec = trust.launch(engine, with_code(engine, trusted=False))
    assert "trust-remote-code" not in words(spec)
    assert "/models/Qwen3-8B" not in words(spec)
    assert f"/data/7/{trust.WITHOUT_CODE}" in words(spec)
    assert spec.mirrors == {trust.WITHOUT_CODE: "/models/Qwen3-8B"}
    assert ".py" in spec.leaves_out


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_an_administrator_may_trust_the_authors_of_a_model(engine: Backend) -> None:
    spec = trust.launch(engine, with_code(engine, trusted=True))
    assert "trust-remote-code" in words(spec)
    assert "/models/Qwen3-8B" in words(spec)
    assert (spec.mirrors, spec.leaves_out) == ({}, ())


def test_mindie_is_told_in_its_file_and_loses_the_code_of_its_own_copy() -> None:
    version = BackendVersion("mindie", "2.0", frozenset({"ascend"}), "path", installed=True, executable="/m/daemon")
    on = tuple(replace(each, physical_id=each.index) for each in devices("1x910B3-64G"))
    made = placed("Qwen3-8B", version, on, 4096)
    assert made.facts is not None
    made = replace(
        made,
        facts=replace(made.facts, runs_code=True),
        more_ports=(21001, 21002, 21003, 21004, 21005),
        texts={"config": "{}"},
    )
    distrusting = trust.launch(MINDIE, made)
    assert '"trustRemoteCode": false' in words(distrusting)
    assert ".py" in distrusting.leaves_out
    assert '"trustRemoteCode": true' in words(trust.launch(MINDIE, replace(made, trust_remote_code=True)))


def test_a_model_without_code_is_given_as_it_is() -> None:
    plain = replace(with_code(VLLM, trusted=False), facts=facts("Qwen3-8B"))
    assert trust.launch(VLLM, plain) == VLLM.launch(plain)


@pytest.mark.parametrize("part", [{}, {"text_config": {}}])
def test_code_is_seen_wherever_engines_look_for_its_name(part: dict[str, dict[str, object]]) -> None:
    config = json.loads(json.dumps(CONFIGS["Qwen3-8B"] | part))
    assert not facts_of_config(config, "/m").runs_code
    (config["text_config"] if part else config)["auto_map"] = {"AutoModel": "modeling_x.X"}
    assert facts_of_config(config, "/m").runs_code


PICKLED = replace(facts("Qwen3-8B"), has_pickle=True)


@pytest.mark.parametrize("name", [name for name in registry.names() if registry.find(name).needs_facts])
def test_pickled_weights_are_refused_whatever_reads_them(name: str) -> None:
    refusal = trust.refuse_pickle(registry.find(name), PICKLED, {})
    assert refusal is not None
    assert (refusal.code, refusal.param) == ("model_pickle_not_allowed", "allow_pickle")


def test_an_option_that_unpickles_beside_safetensors_is_no_way_round_it() -> None:
    refusal = trust.refuse_pickle(VLLM, facts("Qwen3-8B"), {"load-format": "pt"})
    assert refusal is not None
    assert (refusal.code, refusal.param) == ("option_needs_pickle", "options.load-format")


def test_safetensors_need_no_decision_and_an_engine_that_a_person_described_is_one() -> None:
    assert trust.refuse_pickle(VLLM, facts("Qwen3-8B"), {}) is None
    assert trust.refuse_pickle(CustomBackend("mine", ("x",)), PICKLED, {}) is None
