from collections.abc import Mapping
from dataclasses import replace

import pytest

from backends.base import Backend, Estimate, Placed, Want
from backends.llama_cpp import LLAMA_CPP, LlamaCpp
from backends.llama_cpp_memory import DEFAULT_PARALLEL, MIB, Shape, memory, shapes
from backends.llama_cpp_options import BINARY_ONLY, FORBIDDEN, KNOWN
from gpustack_lite.domain import BackendVersion, LaunchSpec, ModelFacts
from gpustack_lite.errors import Refusal

SMOL = ModelFacts(
    format="gguf",
    path="/models/smol.gguf",
    size_bytes=98_362_432,
    architecture="llama",
    layer_count=30,
    embedding_length=576,
    feed_forward_length=1536,
    head_count=9,
    kv_head_counts=(3,) * 30,
    key_length=64,
    value_length=64,
    vocab_size=49152,
    trained_context_length=8192,
    weights_bytes=96_576_768,
)
"""SmolLM2-135M-Instruct Q4_1, as its header says."""
WHEEL = replace(LLAMA_CPP.versions()[0], installed=True, executable="/engines/x/bin/python")
BINARY = BackendVersion(
    "llama_cpp", "path-11434", frozenset({"cpu"}), source="path", installed=True, executable="/usr/bin/llama-server"
)


def placed(version: BackendVersion = WHEEL, facts: ModelFacts | None = SMOL, **options: object) -> Placed:
    return Placed(
        instance_id=7,
        model_name="smol",
        source_path="/models/smol.gguf",
        facts=facts,
        options={name.replace("_", "-"): value for name, value in options.items()},
        env={"TZ": "UTC"},
        devices=(),
        port=21000,
        workdir="/data/7",
        engine_key="secret-key",
        context_length=2048,
        cpu_count=2,
        version=version,
        runner_dir="/app/worker/runners",
    )


def flags(spec: LaunchSpec) -> dict[str, str | None]:
    """--name value -> name: value; a switch has None."""
    found: dict[str, str | None] = {}
    for index, part in enumerate(spec.argv):
        if part.startswith("--"):
            after = spec.argv[index + 1] if index + 1 < len(spec.argv) else "--"
            found[part.removeprefix("--")] = None if after.startswith("--") else after
    return found


def estimates(facts: ModelFacts = SMOL, **options: object) -> tuple[Estimate, ...]:
    return LLAMA_CPP.estimates(facts, Want({name.replace("_", "-"): value for name, value in options.items()}))


def test_it_is_a_backend() -> None:
    backend: Backend = LlamaCpp()
    assert backend.needs_facts


def test_the_default_version_is_a_wheel_of_one_version() -> None:
    (version,) = LLAMA_CPP.versions()
    assert version.source == "wheel"
    assert version.requirement == f"xllamacpp=={version.version}"


# --- launching ---


def test_the_wheel_is_run_by_our_runner_apart_from_our_own_packages() -> None:
    spec = LLAMA_CPP.launch(placed())
    assert spec.argv[:3] == ("/engines/x/bin/python", "-I", "/app/worker/runners/xllamacpp_server.py")


def test_the_binary_is_run_itself() -> None:
    assert LLAMA_CPP.launch(placed(BINARY)).argv[:2] == ("/usr/bin/llama-server", "--model")


def test_an_engine_listens_on_loopback_at_its_port_under_the_public_name() -> None:
    given = flags(LLAMA_CPP.launch(placed()))
    assert (given["host"], given["port"], given["alias"]) == ("127.0.0.1", "21000", "smol")
    assert given["model"] == "/models/smol.gguf"


@pytest.mark.parametrize("version", [WHEEL, BINARY], ids=["wheel", "binary"])
def test_the_key_travels_in_the_environment_only(version: BackendVersion) -> None:
    spec = LLAMA_CPP.launch(placed(version))
    assert spec.env["LLAMA_API_KEY"] == "secret-key"
    assert not any("secret-key" in part for part in spec.argv)


def test_no_accelerator_is_used_that_was_not_claimed() -> None:
    assert LLAMA_CPP.launch(placed()).env["CUDA_VISIBLE_DEVICES"] == "-1"
    assert flags(LLAMA_CPP.launch(placed(BINARY)))["device"] == "none"


def test_the_context_of_one_request_times_the_slots_is_the_engines_context() -> None:
    given = flags(LLAMA_CPP.launch(placed()))
    assert (given["ctx-size"], given["parallel"]) == (str(2048 * DEFAULT_PARALLEL), str(DEFAULT_PARALLEL))


def test_a_context_that_was_chosen_by_the_scheduler_wins_over_the_total_that_was_asked_for() -> None:
    given = flags(LLAMA_CPP.launch(placed(ctx_size=8192, parallel=4)))
    assert given["ctx-size"] == "8192"


def test_slots_that_share_one_cache_share_the_context() -> None:
    given = flags(LLAMA_CPP.launch(placed(kv_unified=True)))
    assert given["ctx-size"] == "2048"
    assert "kv-unified" in given


def test_options_become_flags() -> None:
    given = flags(LLAMA_CPP.launch(placed(temp=0.2, warmup=False, jinja=True, flash_attn="off", threads=1)))
    assert given["temp"] == "0.2"
    assert given["flash-attn"] == "off"
    assert given["threads"] == "1"
    assert "no-warmup" in given
    assert "jinja" in given


def test_a_switch_without_a_negation_is_left_out_when_it_is_off() -> None:
    given = flags(LLAMA_CPP.launch(placed(BINARY, metrics=False)))
    assert not {"metrics", "no-metrics"} & set(given)


def test_prompts_are_not_kept_in_ram_that_nobody_claimed() -> None:
    assert flags(LLAMA_CPP.launch(placed()))["cache-ram"] == "0"
    assert flags(LLAMA_CPP.launch(placed(cache_ram=512)))["cache-ram"] == "512"


def test_weights_that_get_re_ordered_are_read_rather_than_mapped() -> None:
    repacked = replace(SMOL, repack_bytes=70_000_000)
    assert flags(LLAMA_CPP.launch(placed(facts=repacked)))["load-mode"] == "none"
    assert "load-mode" not in flags(LLAMA_CPP.launch(placed()))
    assert flags(LLAMA_CPP.launch(placed(facts=repacked, load_mode="mmap")))["load-mode"] == "mmap"


def test_an_embedding_model_takes_a_whole_text_at_once() -> None:
    given = flags(LLAMA_CPP.launch(placed(facts=replace(SMOL, pooling="mean"))))
    assert "embeddings" in given
    assert (given["ubatch-size"], given["batch-size"]) == ("2048", "2048")


def test_a_model_that_does_not_say_how_it_pools_still_gives_vectors() -> None:
    assert flags(LLAMA_CPP.launch(placed(embeddings=True)))["pooling"] == "mean"
    assert flags(LLAMA_CPP.launch(placed(embeddings=True, pooling="last")))["pooling"] == "last"
    assert "pooling" not in flags(LLAMA_CPP.launch(placed(facts=replace(SMOL, pooling="cls"))))


def test_a_reranking_model_reranks() -> None:
    assert "reranking" in flags(LLAMA_CPP.launch(placed(facts=replace(SMOL, pooling="rank"))))


@pytest.mark.parametrize("option", sorted(BINARY_ONLY))
def test_what_the_wheel_cannot_do_is_refused_and_the_binary_gets_it(option: str) -> None:
    value = True if KNOWN[option].kind == "bool" else "1"
    wanted = {option.replace("-", "_"): value}
    with pytest.raises(Refusal) as refused:
        LLAMA_CPP.launch(placed(**wanted))
    assert (refused.value.code, refused.value.param) == ("option_needs_binary", f"options.{option}")
    assert option in flags(LLAMA_CPP.launch(placed(BINARY, **wanted)))


@pytest.mark.parametrize("option", sorted(FORBIDDEN))
def test_options_that_leave_the_sandbox_or_are_ours_are_refused(option: str) -> None:
    with pytest.raises(Refusal) as refused:
        LLAMA_CPP.check({option: "x"}, {})
    assert refused.value.code == "option_not_allowed"


def test_no_option_is_both_known_and_forbidden() -> None:
    assert not FORBIDDEN & set(KNOWN)


@pytest.mark.parametrize("name", ["LLAMA_API_KEY", "LLAMA_ARG_HOST", "GGML_BACKEND_PATH", "LD_PRELOAD"])
def test_variables_cannot_do_what_options_may_not(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        LLAMA_CPP.check({}, {name: "x"})
    assert refused.value.code == "env_not_allowed"


# --- estimates ---


def test_the_cpu_claims_memory_and_no_device() -> None:
    for estimate in estimates():
        assert estimate.memory is not None
        assert estimate.claim.device_count == 0
        assert estimate.claim.device_kinds == frozenset({"cpu"})
        assert estimate.claim.ram_bytes == estimate.memory.total_bytes


def test_the_kv_cache_of_a_real_model_is_what_the_engine_allocates() -> None:
    """xllamacpp printed "CPU KV buffer size = 720.00 MiB" for -c 32768 -np 4."""
    (estimate,) = estimates(max_model_len=8192)
    assert estimate.memory is not None
    assert estimate.memory.kv_bytes == 720 * MIB


@pytest.mark.parametrize(
    ("options", "measured_mib"),
    [
        pytest.param({"max_model_len": 2048}, 350, id="2048 x 4"),
        pytest.param({"max_model_len": 4096}, 522, id="4096 x 4"),
        pytest.param({"max_model_len": 8192}, 882, id="8192 x 4"),
        pytest.param({"max_model_len": 2048, "cache_type_k": "q8_0", "cache_type_v": "q8_0"}, 258, id="q8_0 cache"),
        pytest.param({"max_model_len": 1024, "parallel": 1}, 184, id="one slot"),
        pytest.param({"max_model_len": 2048, "embeddings": True}, 810, id="embeddings of long texts"),
    ],
)
def test_an_estimate_is_never_much_below_what_was_measured(options: Mapping[str, object], measured_mib: int) -> None:
    """Peak RSS of the process under load, SmolLM2 on x86-64."""
    (estimate,) = estimates(**options)
    assert estimate.memory is not None
    assert 0.97 * measured_mib * MIB < estimate.memory.total_bytes < 1.25 * measured_mib * MIB


@pytest.mark.parametrize(
    ("embedding", "feed_forward", "heads", "measured_mib"),
    [
        pytest.param(576, 1536, 9, 7.45, id="135M"),
        pytest.param(896, 4864, 14, 18.76, id="0.5B"),
        pytest.param(4096, 11008, 32, 52.38, id="7B"),
        pytest.param(4096, 14336, 32, 62.13, id="8B"),
        pytest.param(3584, 18944, 28, 73.13, id="7B, wide"),
    ],
)
def test_compute_buffers_are_what_the_engine_reserves(
    embedding: int, feed_forward: int, heads: int, measured_mib: float
) -> None:
    """ "CPU compute buffer size" for 256 cells, where the physical batch is cut to 256 as well."""
    facts = replace(SMOL, embedding_length=embedding, feed_forward_length=feed_forward, head_count=heads)
    shape = Shape(context_length=256, parallel=1, streams=1, ubatch=256, pools=False)
    assert memory(facts, {}, shape).activation_bytes / MIB == pytest.approx(measured_mib, rel=0.01)


@pytest.mark.parametrize(
    ("trained", "contexts"),
    [
        pytest.param(8192, (8192, 4096, 2048), id="halves down to 2048"),
        pytest.param(131_072, (32_768, 16_384, 8192, 4096, 2048), id="capped"),
        pytest.param(5000, (5000, 2304, 2048), id="no power of two"),
        pytest.param(1024, (1024,), id="short model"),
        pytest.param(None, (4096, 2048), id="unknown"),
    ],
)
def test_contexts_to_try_begin_with_the_trained_one(trained: int | None, contexts: tuple[int, ...]) -> None:
    found = estimates(replace(SMOL, trained_context_length=trained))
    assert tuple(each.context_length for each in found) == contexts


def test_inputs_to_embed_to_try_are_shorter() -> None:
    found = estimates(embeddings=True)
    assert tuple(each.context_length for each in found) == (2048, 1024, 512)


def test_a_model_without_a_head_embeds_without_logits() -> None:
    with_head, without = (replace(SMOL, pooling="mean", architecture=name) for name in ("llama", "nomic-bert"))
    more = estimates(with_head)[0].claim.ram_bytes - estimates(without)[0].claim.ram_bytes
    assert more == (4 * (49152 - 3 * 1536) + 49152 // 2) * 2048


@pytest.mark.parametrize(
    ("options", "context"),
    [
        pytest.param({"max_model_len": 4096}, 4096, id="per request"),
        pytest.param({"ctx_size": 8192}, 2048, id="total over the default slots"),
        pytest.param({"ctx_size": 8192, "parallel": 2}, 4096, id="total over two slots"),
        pytest.param({"ctx_size": 8192, "kv_unified": True}, 8192, id="total that all share"),
        pytest.param({"ctx_size": 8192, "max_model_len": 2048}, 2048, id="both, in agreement"),
    ],
)
def test_a_wanted_context_is_the_only_candidate(options: Mapping[str, object], context: int) -> None:
    (estimate,) = estimates(**options)
    assert estimate.context_length == context


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({"max_model_len": 8193}, "context_beyond_training", id="longer than trained"),
        pytest.param({"ctx_size": 8192, "max_model_len": 4096}, "options_conflict", id="contradiction"),
        pytest.param({"parallel": 0}, "option_invalid", id="no slot"),
        pytest.param({"parallel": -1}, "option_invalid", id="negative slots"),
        pytest.param({"ctx_size": 3}, "option_invalid", id="less than a token for each slot"),
        pytest.param({"host": "0.0.0.0"}, "option_not_allowed", id="forbidden option"),
    ],
)
def test_a_context_that_cannot_be_is_refused(options: Mapping[str, object], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        estimates(**options)
    assert refused.value.code == code


def test_ctx_size_zero_means_the_trained_context_as_in_llama_server() -> None:
    assert estimates(ctx_size=0)[0].context_length == 8192


@pytest.mark.parametrize("field", ["kv_head_counts", "key_length", "value_length", "embedding_length", "weights_bytes"])
def test_unknown_is_an_answer_and_never_zero(field: str) -> None:
    unknown = replace(SMOL, **{field: () if field == "kv_head_counts" else None})
    with pytest.raises(Refusal) as refused:
        estimates(unknown)
    assert refused.value.code == "cannot_estimate"


@pytest.mark.parametrize("facts", [None, ModelFacts(format="hf", path="/m", size_bytes=1)], ids=["none", "hf"])
def test_only_a_gguf_header_can_be_estimated(facts: ModelFacts | None) -> None:
    with pytest.raises(Refusal) as refused:
        LLAMA_CPP.estimates(facts, Want())
    assert refused.value.code == "cannot_estimate"


def test_layers_behind_a_window_keep_only_the_window() -> None:
    """llama-kv-cache-iswa.cpp: window + physical batch, padded to 256, per slot."""
    windowed = replace(SMOL, sliding_window=1024, sliding_window_layer_count=25)
    full, cut = (memory(facts, {}, shapes(facts, {})[0]).kv_bytes for facts in (SMOL, windowed))
    per_cell = full // 30 // (8192 * 4)
    assert cut == per_cell * 4 * (5 * 8192 + 25 * 1536)


def test_a_window_of_which_nobody_says_where_it_is_counts_in_full() -> None:
    unsaid = replace(SMOL, sliding_window=1024)
    assert memory(unsaid, {}, shapes(unsaid, {})[0]).kv_bytes == memory(SMOL, {}, shapes(SMOL, {})[0]).kv_bytes


def test_layers_that_keep_no_keys_cost_their_state_per_slot() -> None:
    hybrid = replace(SMOL, kv_head_counts=(0, 3) * 15, state_bytes_per_sequence=1_000_000)
    (estimate,) = estimates(hybrid, max_model_len=2048)
    assert estimate.memory is not None
    assert estimate.memory.kv_bytes == 15 * 3 * 256 * 2048 * 4 + 4_000_000


@pytest.mark.parametrize(
    ("options", "more"),
    [
        pytest.param({"cache_ram": 100}, 100 * MIB, id="prompts kept in RAM"),
        pytest.param({"flash_attn": "off"}, 4 * 512 * (9 * 8192 + 4 * 576 - 3 * 1536), id="scores of all heads"),
    ],
)
def test_options_that_cost_memory_are_counted(options: Mapping[str, object], more: int) -> None:
    plain, costly = (found[0].claim.ram_bytes for found in (estimates(), estimates(**options)))
    assert costly - plain == more


def test_a_model_that_generates_does_not_embed() -> None:
    able = LLAMA_CPP.abilities(replace(SMOL, template_takes_tools=True, template_reasons=False), {})
    assert "/v1/chat/completions" in able.paths
    assert "/v1/embeddings" not in able.paths
    assert (able.tools, able.reasoning, able.json_schema, able.embedding_dimensions) == (True, False, True, None)
    assert (able.input_modalities, able.output_modalities) == (("text",), ("text",))


@pytest.mark.parametrize(
    ("facts", "options", "paths", "dimensions"),
    [
        (replace(SMOL, pooling="mean"), {}, {"/v1/embeddings"}, 576),
        (SMOL, {"embeddings": True}, {"/v1/embeddings"}, 576),
        (replace(SMOL, pooling="rank"), {}, {"/v1/rerank"}, None),
    ],
    ids=["embedding model", "asked to embed", "reranking model"],
)
def test_a_model_that_pools_does_nothing_else(
    facts: ModelFacts, options: dict[str, object], paths: set[str], dimensions: int | None
) -> None:
    able = LLAMA_CPP.abilities(facts, options)
    assert (able.paths, able.embedding_dimensions, able.tools) == (paths, dimensions, False)


@pytest.mark.parametrize("options", [{"reasoning": "off"}, {"reasoning-budget": 0}], ids=str)
def test_thinking_that_is_switched_off_is_not_told_of(options: dict[str, object]) -> None:
    thinking = replace(SMOL, template_reasons=True)
    assert LLAMA_CPP.abilities(thinking, {}).reasoning is True
    assert LLAMA_CPP.abilities(thinking, options).reasoning is False


def test_without_facts_nothing_is_made_up() -> None:
    able = LLAMA_CPP.abilities(None, {})
    assert (able.paths, able.tools, able.reasoning, able.json_schema) == (LlamaCpp.paths, None, None, None)
