"""vLLM and vLLM-Ascend: what is claimed, what is launched, what is refused, what their last words mean."""

from dataclasses import replace

import pytest

from backends.base import Backend, Extent, Mate, Team, Want
from backends.vllm import VLLM
from backends.vllm_ascend import VLLM_ASCEND
from gpustack_lite.domain import BackendVersion
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import CATALOGUE
from tests.unit.backends.models import GIB, devices, facts, placed, want

ON_910B = "8x910B3-64G"
backend: Backend = VLLM
VERSION = BackendVersion(
    "vllm_ascend", "0.23.0", frozenset({"ascend"}), "path", installed=True, executable="/v/bin/vllm"
)
VENV = BackendVersion("vllm", "0.32.0", frozenset({"cuda"}), "wheel", installed=True, executable="/v/bin/python")


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("DeepSeek-R1-Distill-Qwen-7B", 1),
        ("Qwen3-14B", 1),
        ("DeepSeek-R1-Distill-Qwen-32B", 2),
        ("Qwen3-32B", 2),
    ],
)
def test_the_fewest_cards_of_64_gib_that_do(model: str, count: int) -> None:
    best = VLLM_ASCEND.estimates(facts(model), want(ON_910B))[0]
    assert best.claim.device_count == count
    assert best.context_length == facts(model).trained_context_length
    assert best.claim.bytes_per_device == int(0.9 * 64 * GIB)
    assert best.claim.chips == {"910B3"}


def test_two_cards_by_option_or_by_hand() -> None:
    by_option = VLLM_ASCEND.estimates(facts("Qwen3-14B"), want(ON_910B, tensor_parallel_size=2))
    by_hand = VLLM_ASCEND.estimates(facts("Qwen3-14B"), want(ON_910B, picked=2))
    assert [each.claim.device_count for each in (*by_option, *by_hand)] == [2, 2]
    assert by_hand[0].parallel == {"tensor": 2}


@pytest.mark.parametrize("asked", [{"tensor_parallel_size": 3}, {"picked": 3}])
def test_three_cards_are_refused_with_the_numbers(asked: dict[str, int]) -> None:
    with pytest.raises(Refusal) as refused:
        VLLM_ASCEND.estimates(facts("Qwen3-32B"), want(ON_910B, **asked))  # type: ignore[arg-type]
    assert refused.value.code == "heads_not_divisible"
    assert refused.value.params == {"heads": 64, "size": 3, "allowed": "1, 2, 4, 8, 16"}


def test_14b_on_one_card_of_32_gib_leaves_nothing_for_its_cache() -> None:
    """B13: the engine died there with -0.87 GiB, eager; budget 28.8, weights 27.51, cache 0.63 GiB."""
    one = want("1x910B4-32G", tensor_parallel_size=1, max_model_len=4096, enforce_eager=True)
    with pytest.raises(Refusal) as refused:
        VLLM_ASCEND.estimates(facts("Qwen3-14B"), one)
    said = {name: value / GIB for name, value in refused.value.params.items() if name.endswith("_bytes")}  # type: ignore[operator]
    assert refused.value.code == "does_not_fit"
    assert said["budget_bytes"] == pytest.approx(28.8, rel=0.03)
    assert said["weights_bytes"] == pytest.approx(27.51, rel=0.03)
    assert said["cache_bytes"] == pytest.approx(0.63, rel=0.03)
    assert said["budget_bytes"] - said["weights_bytes"] - said["rest_bytes"] == pytest.approx(-0.87, abs=0.05)
    assert VLLM_ASCEND.estimates(facts("Qwen3-14B"), want(ON_910B, max_model_len=4096))[0].claim.device_count == 1


def test_three_cards_would_hold_it_but_four_are_taken() -> None:
    """B01: 64 heads; two cards are too few by memory, three would do."""
    counts = [each.claim.device_count for each in VLLM_ASCEND.estimates(facts("Qwen3-32B"), want("8x910B4-32G"))]
    assert counts == [4, 8, 16]


def test_the_wanted_context_is_kept_and_none_beyond_training() -> None:
    assert VLLM_ASCEND.estimates(facts("Qwen3-14B"), want(ON_910B, max_model_len=8192))[0].context_length == 8192
    with pytest.raises(Refusal, match="context_beyond_training"):
        VLLM_ASCEND.estimates(facts("Qwen3-14B"), want(ON_910B, max_model_len=99999))
    stretched = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}
    best = VLLM_ASCEND.estimates(facts("Qwen3-14B"), want(ON_910B, max_model_len=99840, hf_overrides=stretched))[0]
    assert best.context_length == 99840


def test_without_a_device_of_its_kind_the_claim_says_what_is_needed() -> None:
    (needed,) = VLLM_ASCEND.estimates(facts("Qwen3-14B"), want(""))
    assert needed.claim.device_kinds == {"ascend"}
    assert needed.claim.bytes_per_device > 28 * GIB
    (on_cpu,) = VLLM.estimates(facts("Qwen2.5-0.5B"), want(""))
    assert on_cpu.claim.device_count == 0
    assert 3 * GIB < on_cpu.claim.ram_bytes < 6 * GIB


def test_gguf_is_not_for_vllm() -> None:
    with pytest.raises(Refusal, match="model_format_differs"):
        VLLM.estimates(replace(facts("Qwen3-14B"), format="gguf"), want(""))


def test_what_is_launched_on_two_cards() -> None:
    spec = VLLM_ASCEND.launch(placed("Qwen3-32B", VERSION, devices(ON_910B)[2:4], 40960, seed=1, enforce_eager=True))
    shell, flag, _, _, kept, count, *rest = spec.argv
    assert (shell, flag, kept.split()) == ("/bin/bash", "-c", sorted(spec.env))
    assert rest[: int(count)] == [f"/usr/local/Ascend/{each}/set_env.sh" for each in ("ascend-toolkit", "nnal/atb")]
    assert tuple(rest[int(count) :]) == (
        *("/v/bin/vllm", "serve", "/models/Qwen3-32B", "--served-model-name=served", "--host=127.0.0.1"),
        *(
            "--port=21000",
            "--enable-prompt-tokens-details",
            "--seed=1",
            "--enforce-eager",
            "--tensor-parallel-size=2",
            "--max-model-len=40960",
        ),
        *("--max-num-batched-tokens=2048", "--max-num-seqs=256"),
    )
    assert spec.env["ASCEND_RT_VISIBLE_DEVICES"] == "2,3"
    assert spec.env["VLLM_API_KEY"] == "secret-key"
    assert not any("secret-key" in each for each in spec.argv)
    assert spec.probe.path == "/health"


def test_modelslim_weights_are_announced_and_no_others() -> None:
    slim, plain = (
        VLLM_ASCEND.launch(placed(model, VERSION, devices(ON_910B)[:1], 8192)).argv
        for model in ("Qwen3-8B-W8A8-ascend", "Qwen3-8B")
    )
    assert "--quantization=ascend" in slim
    assert not any("quantization" in each for each in plain)


def test_a_310p_computes_in_float16_unless_the_user_knows_better() -> None:
    on = devices("1x310P3-44G")
    assert "--dtype=float16" in VLLM_ASCEND.launch(placed("Qwen3-8B", VERSION, on, 4096)).argv
    assert "--dtype=float32" in VLLM_ASCEND.launch(placed("Qwen3-8B", VERSION, on, 4096, dtype="float32")).argv


def test_a_gpu_in_use_may_be_shared_by_as_little_as_does() -> None:
    """The engine is told the share that was claimed; an Ascend card is taken whole, and a wanted share is kept."""
    model = facts("Qwen2.5-0.5B")
    whole, less, *_ = VLLM.estimates(model, want("8xA100-80G"))
    assert (whole.claim.device_count, less.claim.device_count) == (1, 1)
    assert whole.claim.bytes_per_device == int(0.9 * 80 * GIB)
    assert less.claim.bytes_per_device < 5 * GIB
    assert less.context_length == whole.context_length
    on = devices("1xA100-80G")
    spec = VLLM.launch(replace(placed("Qwen2.5-0.5B", VENV, on, 32768), claim=less.claim))
    (told,) = (each for each in spec.argv if each.startswith("--gpu-memory-utilization="))
    assert float(told.partition("=")[2]) * 80 * GIB == pytest.approx(less.claim.bytes_per_device, abs=2)
    fixed = VLLM.estimates(model, want("8xA100-80G", gpu_memory_utilization=0.5))
    assert {each.claim.bytes_per_device for each in fixed} == {40 * GIB}
    assert len({each.claim.bytes_per_device for each in VLLM_ASCEND.estimates(model, want(ON_910B))}) == 1


def test_the_module_runs_in_the_python_of_a_venv() -> None:
    spec = VLLM.launch(placed("Qwen3-14B", VENV, devices("1xA100-80G"), 8192))
    assert spec.argv[:4] == ("/v/bin/python", "-m", "vllm.entrypoints.cli.main", "serve")
    assert spec.env["CUDA_VISIBLE_DEVICES"] == "0"


@pytest.mark.parametrize(
    "name",
    [
        *("host", "port", "api-key", "trust-remote-code", "no-trust-remote-code", "trust_remote_code", "--host"),
        *("worker-cls", "tool-parser-plugin", "middleware", "chat-template.x", "kv-transfer-config"),
        *("compilation-config.inductor_passes", "ssl-keyfile", "some-new-path", "new-plugin-dir", "load-plugins"),
        *("device-memory-utilization", "device-ids", "enable-prompt-embeds", "spec-model"),
    ],
)
def test_what_reaches_files_code_or_hosts_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match="option_not_allowed"):
        VLLM.check({name: "x"}, {})


@pytest.mark.parametrize(
    "name",
    [
        "hos",
        "por",
        "api",
        "data-parallel-a",
        "otlp-t",
        "device-mem",
        "ssl-k",
        "tensor-parallel",
        "max-model",
        "Max-Model-Len",
        "-c",
        "a b",
    ],
)
def test_what_argparse_could_take_for_another_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match=r"option_unknown|option_not_allowed"):
        VLLM.check({name: "x"}, {})


def test_an_option_that_nobody_here_knows_is_passed_on() -> None:
    VLLM.check({"max-num-partial-prefills": 2, "enable-dbo": True}, {})
    spec = VLLM.launch(placed("Qwen3-14B", VENV, devices("1xA100-80G"), 8192, enable_dbo=True, mm_cache={"a": 1}))
    assert "--enable-dbo" in spec.argv
    assert '--mm-cache={"a": 1}' in spec.argv
    with pytest.raises(Refusal, match="option_invalid"):
        VLLM.check({"enable-dbo": "--host=0.0.0.0"}, {})


@pytest.mark.parametrize("name", ["VLLM_API_KEY", "VLLM_PLUGINS", "VLLM_ALLOW_INSECURE_SERIALIZATION", "HF_TOKEN"])
def test_variables_that_open_doors_are_refused(name: str) -> None:
    with pytest.raises(Refusal, match="env_not_allowed"):
        VLLM.check({}, {name: "x"})
    VLLM.check({}, {"VLLM_USE_V1": "1", "VLLM_LOGGING_LEVEL": "DEBUG"})


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ValueError: Total number of attention heads (64) must be divisible by tensor parallel size (3).",
         "engine_heads_indivisible"),
        ("(EngineCore) INFO Available KV cache memory: -0.87 GiB", "engine_no_cache_left"),
        ("torch.OutOfMemoryError: NPU out of memory. Tried to allocate 1.2 GiB", "engine_out_of_memory"),
        ("dcmi module initialize failed. ret is -8005", "engine_driver_not_ready"),
        ("dcmi model initialized failed, because the device is used. ret is -8020", "engine_device_occupied"),
        ("OSError: libatb.so: cannot open shared object file: No such file or directory", "engine_library_missing"),
        ("RuntimeError: Failed to infer device type", "engine_no_device"),
        ("OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 64", "engine_threads_refused"),
        ("vllm: error: unrecognized arguments: --enable-dbx", "engine_option_refused"),
        ("User-specified max_model_len (512) is greater than the derived max_model_len (max_seq_length=256 in model's)",
         "engine_context_too_long"),
    ],
)  # fmt: skip
def test_its_last_words(line: str, code: str) -> None:
    said = VLLM_ASCEND.last_error(["INFO starting", line, "Traceback ends"])
    assert said is not None
    assert said.code == code
    assert code in CATALOGUE


def test_a_usage_that_names_flags_is_no_cause() -> None:
    said = VLLM.last_error(
        ["usage: vllm serve [--trust-remote-code]", "vllm serve: error: unrecognized arguments: --x"]
    )
    assert said is not None
    assert said.code == "engine_option_refused"


def test_every_failure_has_its_sentence() -> None:
    assert {each.code for each in VLLM_ASCEND.failures} <= set(CATALOGUE)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("model", "path"),
    [("Qwen3-14B", "/v1/chat/completions"), ("bge-m3", "/v1/embeddings"), ("bge-reranker-v2-m3", "/v1/rerank")],
)
def test_paths_follow_what_the_model_is_for(model: str, path: str) -> None:
    assert path in VLLM.abilities(facts(model), {}).paths


# --- several workers


def over(model: str, spec: str, workers: int, each: int, **options: object) -> list[tuple[int, int]]:
    """(workers, devices of each) of every way, where so many workers have so many devices."""
    asked = replace(want(spec, **options), extent=Extent(workers, each))
    claims = [each.claim for each in VLLM.estimates(facts(model), asked)]
    return list(dict.fromkeys((claim.worker_count, claim.device_count) for claim in claims))


def test_stages_on_several_workers_are_for_what_fits_on_none() -> None:
    assert {workers for workers, _ in over("Qwen3-32B", "1xL20-48G", 4, 8)} == {1}
    assert over("Qwen3-32B", "1xL20-48G", 4, 1) == [(1, 2), (1, 4), (1, 8), (1, 16), (2, 1), (3, 1), (4, 1)]
    assert over("DeepSeek-R1", "1xA100-80G", 2, 8)[-1] == (2, 8)


def test_who_asks_for_stages_may_have_them_on_several_workers() -> None:
    found = over("Qwen3-8B", "1xL20-48G", 2, 8, pipeline_parallel_size=2, tensor_parallel_size=4)
    assert found == [(1, 8), (2, 4)]
    assert over("Qwen3-8B", "1xL20-48G", 1, 8, pipeline_parallel_size=2, tensor_parallel_size=4) == [(1, 8)]


def test_devices_picked_on_two_workers_are_a_stage_each() -> None:
    asked = replace(want("1xL20-48G", picked=4), extent=Extent(2, 8))
    found = [each for each in VLLM.estimates(facts("Qwen3-8B"), asked) if each.claim.worker_count == 2]
    assert {each.claim.device_count for each in found} == {2}
    assert found[0].parallel == {"tensor": 2, "pipeline": 2}


def test_an_engine_that_cannot_is_not_asked_to() -> None:
    asked = Want({}, devices("1x910B4-32G"), extent=Extent(8, 1))
    assert {each.claim.worker_count for each in VLLM_ASCEND.estimates(facts("Qwen3-32B"), asked)} == {1}


@pytest.mark.parametrize("rank", [0, 1])
def test_what_is_launched_on_each_of_two_workers(rank: int) -> None:
    version = replace(VERSION, backend="vllm", executable="/v/bin/vllm")
    team = Team(rank, (Mate("w1", "10.0.0.1", (0, 1)), Mate("w2", "10.0.0.2", (0, 1))), 21001)
    spec = VLLM.launch(replace(placed("Qwen3-32B", version, devices("2xL20-48G"), 4096), team=team))
    said = set(spec.argv)
    assert {"--tensor-parallel-size=2", "--pipeline-parallel-size=2", "--nnodes=2", f"--node-rank={rank}"} <= said
    assert {"--master-addr=10.0.0.1", "--master-port=21001", "--distributed-executor-backend=mp"} <= said
    assert ("--headless" in said, spec.probe.path) == ((False, "/health") if rank == 0 else (True, ""))
    assert spec.env["VLLM_HOST_IP"] == f"10.0.0.{rank + 1}"
