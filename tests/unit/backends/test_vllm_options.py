"""vLLM's command line by model, device and option: parsers, pooling, inner objects, the CPU, chips of Ascend."""

import json
from dataclasses import replace

import pytest

from backends.base import Placed, Warns
from backends.vllm import VLLM
from backends.vllm_ascend import VLLM_ASCEND, merged
from backends.vllm_cpu import threads
from gpustack_lite.domain import BackendVersion, ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.templates import with_template
from tests.unit.backends.models import GIB, devices, facts, placed, want

VERSION = BackendVersion("vllm", "0.32.0", frozenset({"cpu"}), "path", installed=True, executable="/v/bin/vllm")
AS_RERANKER = {"architectures": ["Qwen3ForSequenceClassification"]}
QWEN3 = {"chat_template.jinja": "{{ tools }}<tool_call><think>"}


def thinking() -> ModelFacts:
    return with_template(facts("Qwen3-14B"), QWEN3)


def on(spec: str, model: ModelFacts, **options: object) -> Placed:
    made = placed("Qwen3-14B", VERSION, devices(spec) if spec else (), 8192, **options)
    return replace(made, facts=model, source_path=model.path)


def flags(spec: str, model: ModelFacts, **options: object) -> dict[str, str]:
    backend = VLLM_ASCEND if "910" in spec or "310" in spec else VLLM
    argv = backend.launch(on(spec, model, **options)).argv
    return dict(each.partition("=")[::2] for each in argv if each.startswith("--"))


def test_parsers_of_the_family_are_told_and_abilities_follow() -> None:
    told = flags("1xA100-80G", thinking())
    assert (told["--tool-call-parser"], told["--reasoning-parser"]) == ("hermes", "qwen3")
    assert "--enable-auto-tool-choice" in told
    abilities = VLLM.abilities(thinking(), {})
    assert (abilities.tools, abilities.reasoning, abilities.spelling) == (True, True, "reasoning")


def test_no_parser_is_told_where_the_user_wants_none() -> None:
    off = {"tool_call_parser": "none", "reasoning_parser": "none"}
    assert not [each for each in flags("1xA100-80G", thinking(), **off) if "parser" in each or "tool" in each]
    abilities = VLLM.abilities(thinking(), {"tool-call-parser": "none", "reasoning-parser": "none"})
    assert (abilities.tools, abilities.reasoning, abilities.spelling) == (False, False, None)


def test_a_template_is_a_file_of_its_own() -> None:
    text = "{{ tools }}\n" * 2000
    spec = VLLM.launch(on("1xA100-80G", facts("Qwen3-14B"), chat_template=text))
    assert "--chat-template=/data/7/chat_template.jinja" in spec.argv
    assert spec.files == {"chat_template.jinja": text}


@pytest.mark.parametrize(
    ("model", "options", "paths"),
    [
        ("bge-m3", {}, {"/v1/embeddings", "/v1/rerank", "/v1/score"}),
        ("bge-reranker-v2-m3", {}, {"/v1/rerank", "/v1/score"}),
        ("Qwen3-0.6B", {"runner": "pooling"}, {"/v1/embeddings", "/v1/rerank", "/v1/score"}),
        ("Qwen3-0.6B", {"hf_overrides": AS_RERANKER}, {"/v1/rerank", "/v1/score"}),
        ("Qwen3-0.6B", {"convert": "classify"}, {"/v1/classify"}),
    ],
)  # fmt: skip
def test_what_pools_is_run_so_and_serves_that(model: str, options: dict[str, object], paths: set[str]) -> None:
    assert flags("1xA100-80G", facts(model), **options)["--runner"] == "pooling"
    given = {name.replace("_", "-"): value for name, value in options.items()}
    assert VLLM.abilities(facts(model), given).paths == paths


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("compilation-config", {"inductor_compile_config": {}}, "compilation-config.inductor_compile_config"),
        ("speculative-config", {"method": "eagle", "model": "/m"}, "speculative-config.model"),
        ("additional-config", {"eplb_config": {"expert_map_path": "/x"}}, "additional-config.expert_map_path"),
        ("additional-config", {"dump_config": True}, "additional-config.dump_config"),
    ],
)
def test_objects_may_not_reach_files_or_code(option: str, value: dict[str, object], said: str) -> None:
    with pytest.raises(Refusal) as refused:
        VLLM.check({option: value}, {})
    assert (refused.value.code, refused.value.params["option"]) == ("option_not_allowed", said)


def test_draft_layers_are_of_the_model_itself() -> None:
    VLLM.check({"speculative-config": {"method": "deepseek_mtp", "num_speculative_tokens": 3}}, {})
    VLLM.check({"compilation-config": {"cudagraph_mode": "FULL_DECODE_ONLY"}}, {})
    with pytest.raises(Refusal, match="option_invalid"):
        VLLM.check({"speculative-config": {"method": "medusa"}}, {})


def test_a_template_is_no_path() -> None:
    with pytest.raises(Refusal, match="option_invalid"):
        VLLM.check({"chat-template": "/etc/passwd"}, {})


def test_what_nobody_here_knows_is_passed_on_and_said() -> None:
    assert isinstance(VLLM, Warns)
    (said,) = VLLM.cautions(facts("Qwen3-14B"), {"enable-dbo": True, "max-model-len": 4096}, [])
    assert (said.code, said.params["options"]) == ("options_passed_on", "enable-dbo")


def test_on_the_cpu_it_is_told_its_cache_and_captures_nothing() -> None:
    spec = VLLM.launch(on("", facts("Qwen2.5-0.5B")))
    assert spec.env["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert "VLLM_CPU_OMP_THREADS_BIND" not in spec.env
    assert {"--enforce-eager", "--max-num-seqs=256"} <= set(spec.argv)
    assert not any("gpu-memory" in each for each in spec.argv)
    assert "--no-enforce-eager" in VLLM.launch(on("", facts("Qwen2.5-0.5B"), enforce_eager=False)).argv


def test_two_ranks_on_the_cpu_hold_a_cache_each_and_cores_of_their_own() -> None:
    one, two = (VLLM.estimates(facts("Qwen2.5-0.5B"), want("", tensor_parallel_size=size))[0] for size in (1, 2))
    assert two.claim.ram_bytes - one.claim.ram_bytes > 1.5 * GIB
    assert two.parallel == {"tensor": 2}
    spec = VLLM.launch(on("", facts("Qwen2.5-0.5B"), tensor_parallel_size=2))
    assert spec.env["VLLM_CPU_OMP_THREADS_BIND"] == "0|1"
    with pytest.raises(Refusal, match="heads_not_divisible"):
        VLLM.estimates(facts("Qwen2.5-0.5B"), want("", tensor_parallel_size=3))


@pytest.mark.parametrize(
    ("ranks", "cores", "bound"), [(2, 2, "0|1"), (2, 8, "0-3|4-7"), (4, 2, "0|1|0|1"), (2, 5, "0-1|2-3")]
)
def test_cores_are_shared_out(ranks: int, cores: int, bound: str) -> None:
    assert threads(ranks, cores) == bound


def test_a_910b_sums_on_its_vector_units_and_a_310p_does_not() -> None:
    for chip, mode in (("1x910B3-64G", "AIV"), ("1x310P3-44G", None)):
        env = VLLM_ASCEND.launch(on(chip, facts("Qwen3-14B"))).env
        assert env.get("HCCL_OP_EXPANSION_MODE") == mode
        assert {env[f"{each}_NUM_THREADS"] for each in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")} == {"1"}
        assert env["TOKENIZERS_PARALLELISM"] == "false"


def test_cann_is_sourced_from_where_the_worker_has_it() -> None:
    argv = VLLM_ASCEND.launch(replace(on("1x910B3-64G", facts("Qwen3-14B")), ascend_root="/opt/cann")).argv
    assert "/opt/cann/ascend-toolkit/set_env.sh" in argv
    assert "/opt/cann/nnal/atb/set_env.sh" in argv


def test_what_the_user_configures_is_laid_over_what_a_310p_needs() -> None:
    given = {"ascend_compilation_config": {"fuse_muls_add": True}, "enable_kv_nz": True}
    told = json.loads(flags("1x310P3-44G", facts("Qwen3-8B"), additional_config=given)["--additional-config"])
    compilation = {"enable_npugraph_ex": False, "fuse_muls_add": True}
    assert told == {"ascend_compilation_config": compilation, "enable_kv_nz": True}
    assert merged({"a": {"b": 1}}, {"a": 2}) == {"a": 2}
    assert json.loads(flags("1x910B3-64G", facts("Qwen3-8B"), additional_config=given)["--additional-config"]) == given


def test_modelslim_is_announced_for_its_own_weights_only() -> None:
    with pytest.raises(Refusal, match="quantization_needs_modelslim"):
        VLLM_ASCEND.estimates(facts("Qwen3-14B"), want("8x910B3-64G", quantization="ascend"))
    assert VLLM_ASCEND.estimates(facts("Qwen3-8B-W8A8-ascend"), want("8x910B3-64G", quantization="ascend"))


@pytest.mark.parametrize(
    ("model", "options", "codes"),
    [
        ("Qwen3-8B", {"max-model-len": 16384}, []),
        ("Qwen3-8B", {}, ["context_beyond_documented"]),
        ("Qwen3-30B-A3B", {"enable-lora": True, "max-model-len": 4096}, ["option_not_on_chip"]),
        ("Llama-3.1-8B", {}, ["model_unlisted_on_chip"]),
    ],
)
def test_what_is_documented_for_a_310p_is_little(model: str, options: dict[str, object], codes: list[str]) -> None:
    assert isinstance(VLLM_ASCEND, Warns)
    assert [each.code for each in VLLM_ASCEND.cautions(facts(model), options, ["310P3", "910B3"])] == codes


def test_an_adapter_is_served_under_the_models_name_and_its_own() -> None:
    given = {"poet": "/models/poet"}
    spec = VLLM.launch(on("1xA100-80G", facts("Qwen3-14B"), lora_adapters=given))
    at = spec.argv.index("--lora-modules")
    assert [json.loads(each) for each in spec.argv[at + 1 :]] == [
        {"name": "served:poet", "path": "/models/poet", "base_model_name": "served"}
    ]
    assert "--enable-lora" in spec.argv
    assert not any("lora-adapters" in each for each in spec.argv)
    assert VLLM.abilities(facts("Qwen3-14B"), {"lora-adapters": given}).adapters == ("poet",)
    plain, adapted = (
        VLLM.estimates(facts("Qwen3-14B"), want("8xA100-80G", **more))[0] for more in ({}, {"lora_adapters": given})
    )
    assert plain.memory is not None
    assert adapted.memory is not None
    assert adapted.memory.overhead_bytes > plain.memory.overhead_bytes
