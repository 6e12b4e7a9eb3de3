import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpustack_lite.domain import LayerGroup, ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts
from tests.fakes.gguf import F16, F32, Q4_0, Numbers, header, write_gguf, write_tiny_gguf


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (made := tmp_path / "models").mkdir()
    return made


def tiny(root: Path, name: str = "m.gguf", **shape: Any) -> Path:
    return write_tiny_gguf(root / name, seed=None, **shape)


def read(path: Path, *roots: Path) -> ModelFacts:
    return facts.read(path, roots or (path.parent,))


def code_of(path: Path, *roots: Path) -> str:
    with pytest.raises(Refusal) as refused:
        read(path, *roots)
    return refused.value.code


def test_a_header_becomes_facts(root: Path) -> None:
    found = read(tiny(root, layers=3, embedding=64, heads=4, kv_heads=2, feed_forward=96, vocab=300, context=512))
    assert (found.format, found.architecture, found.name) == ("gguf", "llama", "tiny")
    assert (found.layer_count, found.embedding_length, found.head_count) == (3, 64, 4)
    assert (found.kv_head_counts, found.key_length, found.value_length) == ((2, 2, 2), 16, 16)
    assert (found.vocab_size, found.trained_context_length, found.feed_forward_length) == (300, 512, 96)
    assert found.has_chat_template
    assert found.pooling is None
    assert found.quantization == "F32"


@pytest.mark.parametrize(
    ("templates", "tools", "thinks"),
    [
        pytest.param({"": "{{ messages }}"}, False, False, id="neither"),
        pytest.param({"": "{% if tools %}"}, True, False, id="tools"),
        pytest.param({"": "{% if enable_thinking %}<think>"}, False, True, id="thinking"),
        pytest.param({"": "toolset", ".tool_use": "{{ tools }}"}, True, False, id="a template of its own for tools"),
    ],
)
def test_the_chat_template_tells_of_tools_and_thinking(
    root: Path, templates: dict[str, str], tools: bool, thinks: bool
) -> None:
    found = read(tiny(root, overrides={f"tokenizer.chat_template{key}": text for key, text in templates.items()}))
    assert (found.template_takes_tools, found.template_reasons) == (tools, thinks)


def test_the_weights_are_the_tensors_and_the_size_is_the_file(root: Path) -> None:
    path = tiny(root)
    found = read(path)
    assert found.size_bytes == path.stat().st_size
    assert found.weights_bytes is not None
    assert 0 < found.weights_bytes < found.size_bytes
    assert found.parameter_count == found.weights_bytes // 4


@pytest.mark.parametrize(
    ("overrides", "field", "value"),
    [
        pytest.param({"llama.attention.head_count_kv": Numbers([0, 2])}, "kv_head_counts", (0, 2), id="heads by layer"),
        pytest.param({"llama.attention.key_length": 128}, "key_length", 128, id="key length said"),
        pytest.param({"llama.full_attention_interval": 2}, "kv_head_counts", (0, 2), id="attention every second layer"),
        pytest.param({"llama.pooling_type": 1}, "pooling", "mean", id="embedding model"),
        pytest.param({"llama.pooling_type": 4}, "pooling", "rank", id="reranking model"),
        pytest.param({"general.file_type": 15}, "quantization", "Q4_K_M", id="quantisation"),
        pytest.param({"llama.block_count": "two"}, "layer_count", None, id="text for a number"),
        pytest.param({"llama.expert_used_count": 3}, "feed_forward_length", 384, id="experts of the dense width"),
        pytest.param(
            {"llama.expert_used_count": 8, "llama.expert_feed_forward_length": 100},
            *("feed_forward_length", 800),
            id="experts of a width of their own",
        ),
        pytest.param(
            {"llama.ssm.inner_size": 100, "llama.ssm.state_size": 16, "llama.ssm.conv_kernel": 4},
            *("state_bytes_per_sequence", 4 * 2 * (3 * 100 + 1600)),
            id="recurrent state",
        ),
        pytest.param(
            {"llama.attention.sliding_window": 64, "llama.attention.sliding_window_pattern": Numbers([1, 0])},
            *("sliding_window_layer_count", 1),
            id="window by layer",
        ),
        pytest.param(
            {"llama.attention.sliding_window": 64}, "sliding_window_layer_count", None, id="window nobody knows where"
        ),
        pytest.param({"llama.attention.sliding_window": 0}, "sliding_window", None, id="no window"),
    ],
)
def test_special_keys_are_understood(root: Path, overrides: dict[str, Any], field: str, value: object) -> None:
    assert getattr(read(tiny(root, overrides=overrides)), field) == value


def test_the_window_of_a_known_architecture_has_its_pattern(root: Path) -> None:
    path = tiny(root, layers=12, architecture="gemma3", overrides={"gemma3.attention.sliding_window": 512})
    assert read(path).sliding_window_layer_count == 10


def test_weights_that_get_re_ordered_cost_more(root: Path) -> None:
    plain, repacked = (read(tiny(root, f"{type_id}.gguf", type_id=type_id)) for type_id in (F16, Q4_0))
    assert plain.repack_extra_bytes == 0
    assert repacked.repack_bytes > (repacked.weights_bytes or 0) // 2
    assert 0 < repacked.repack_extra_bytes < repacked.repack_bytes


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({"llama.block_count": 2**40}, id="layers without end"),
        pytest.param({"llama.block_count": -1}, id="negative layers"),
        pytest.param({"llama.embedding_length": 2**60}, id="endless width"),
    ],
)
def test_impossible_numbers_are_damage(root: Path, overrides: dict[str, Any]) -> None:
    assert code_of(tiny(root, overrides=overrides)) == "gguf_invalid"


def test_a_directory_with_one_model_is_that_model(root: Path) -> None:
    path = tiny(root)
    (root / "README.md").write_text("hello")
    shutil.copy(path, root / "mmproj-m.gguf")
    assert read(root, root).path == str(path)


def test_a_directory_with_several_models_is_refused_naming_them(root: Path) -> None:
    tiny(root, "a.gguf")
    tiny(root, "b.gguf")
    with pytest.raises(Refusal) as refused:
        read(root, root)
    assert (refused.value.code, refused.value.params["names"]) == ("several_models", "a.gguf, b.gguf")


def split(root: Path, count: int = 3) -> list[Path]:
    """As llama-gguf-split does: the metadata in the first part, tensors in all."""
    paths = [root / f"m-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
    for index, path in enumerate(paths):
        metadata = {"general.architecture": "llama", "llama.block_count": 2} if index == 0 else {"split.no": index}
        write_gguf(path, metadata, [(f"t{index}", (8, 8), F32)])
    return paths


def test_the_parts_of_a_split_model_are_summed(root: Path) -> None:
    paths = split(root)
    found = read(paths[0])
    assert found.weights_bytes == 3 * 256
    assert found.size_bytes == sum(path.stat().st_size for path in paths)


def test_any_part_leads_to_the_first_and_so_does_the_directory(root: Path) -> None:
    paths = split(root)
    assert read(paths[1]).path == read(root, root).path == str(paths[0])


def test_a_missing_part_is_named(root: Path) -> None:
    paths = split(root)
    paths[1].unlink()
    with pytest.raises(Refusal) as refused:
        read(paths[0])
    assert (refused.value.code, refused.value.params["missing"]) == ("gguf_part_missing", paths[1].name)


def test_a_truncated_part_is_named(root: Path) -> None:
    paths = split(root)
    os.truncate(paths[2], paths[2].stat().st_size - 64)
    with pytest.raises(Refusal) as refused:
        read(paths[0])
    assert (refused.value.code, refused.value.params["path"]) == ("gguf_truncated", str(paths[2]))


def test_links_within_the_roots_are_followed(root: Path) -> None:
    blob = tiny(root, "blob")
    (root / "m.gguf").symlink_to(blob)
    assert read(root / "m.gguf").path == str(blob)


def test_a_split_model_of_links_is_found_by_its_names(root: Path) -> None:
    """The cache of a hub: names are links to files named by their digest."""
    for number, path in enumerate(split(root)):
        path.rename(root / f"digest{number}")
        path.symlink_to(root / f"digest{number}")
    assert read(root / "m-00001-of-00003.gguf").weights_bytes == 3 * 256


def test_outside_of_the_roots_nothing_is_told(root: Path, tmp_path: Path) -> None:
    there = tiny(tmp_path, "outside.gguf")
    for path in (there, tmp_path / "missing.gguf", root / ".." / "outside.gguf"):
        with pytest.raises(Refusal) as refused:
            read(path, root)
        assert (refused.value.code, refused.value.params["roots"]) == ("path_outside_roots", str(root))


def test_a_link_out_of_the_roots_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "link.gguf").symlink_to(tiny(tmp_path, "outside.gguf"))
    assert code_of(root / "link.gguf", root) == "path_outside_roots"


def test_a_part_that_is_a_link_out_of_the_roots_is_refused(root: Path, tmp_path: Path) -> None:
    part = split(root)[1]
    shutil.move(part, tmp_path / "outside")
    part.symlink_to(tmp_path / "outside")
    assert code_of(root / "m-00001-of-00003.gguf", root) == "path_outside_roots"


def test_a_root_that_only_begins_alike_is_another_place(root: Path, tmp_path: Path) -> None:
    (tmp_path / "models-secret").mkdir()
    assert code_of(tiny(tmp_path / "models-secret"), root) == "path_outside_roots"


def test_a_path_that_is_not_there_is_missing(root: Path) -> None:
    assert code_of(root / "nope.gguf") == "source_missing"


def test_a_link_to_nothing_is_missing(root: Path) -> None:
    (root / "m.gguf").symlink_to(root / "gone")
    assert code_of(root / "m.gguf") == "source_missing"


def test_a_link_to_itself_is_refused(root: Path) -> None:
    (root / "m.gguf").symlink_to(root / "m.gguf")
    assert code_of(root / "m.gguf") in {"source_unreadable", "source_missing"}


def test_a_pipe_is_no_model_and_does_not_block(root: Path) -> None:
    os.mkfifo(root / "m.gguf")
    assert code_of(root / "m.gguf") == "not_a_model"


def test_an_empty_directory_is_no_model(root: Path) -> None:
    assert code_of(root, root) == "not_a_model"


def test_a_path_with_nul_is_unreadable(root: Path) -> None:
    assert code_of(root / "a\0b", root) == "source_unreadable"


@pytest.mark.parametrize("length", [300, 5000])
def test_a_name_that_is_too_long_for_the_disk_is_refused(root: Path, length: int) -> None:
    assert code_of(root / ("x" * length), root) in {"source_unreadable", "source_missing"}


def test_a_config_says_the_little_that_is_certain(root: Path) -> None:
    config = {"architectures": ["QwenForCausalLM"], "text_config": {"num_hidden_layers": 5, "hidden_size": 64}}
    (root / "config.json").write_text(json.dumps(config))
    header = json.dumps({"w": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}).encode()
    (root / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    found = read(root, root)
    assert (found.format, found.architecture, found.size_bytes) == ("hf", "QwenForCausalLM", 16 + len(header))
    assert (found.weights_from, found.weights_bytes) == ("headers", 8)
    assert (found.layer_count, found.embedding_length) == (5, 64)


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"architectures": 5}' * 2],
    ids=["cut", "list", "no UTF-8", "deep", "two objects"],
)
def test_a_broken_config_is_refused(root: Path, content: bytes) -> None:
    (root / "config.json").write_bytes(content)
    assert code_of(root, root) == "hf_config_invalid"


def test_facts_survive_the_wire(root: Path) -> None:
    found = read(tiny(root))
    sent = json.loads(json.dumps(facts.document(found)))
    assert facts.from_document({**sent, "of_a_later_version": 1}) == found


METADATA, DATA_BYTES = header(
    {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.embedding_length": 8,
        "llama.attention.head_count": 2,
        "llama.attention.sliding_window": 3,
        "llama.attention.head_count_kv": Numbers([1, 1]),
        "llama.ssm.inner_size": 4,
    },
    [("a", (8, 4), F32)],
)
CONTENT = METADATA + bytes(DATA_BYTES)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, len(CONTENT) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_damaged_header_gives_facts_or_a_refusal_and_nothing_else(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(CONTENT)
    for position, byte in changes:
        content[position] = byte
    (tmp_path / "m.gguf").write_bytes(content)
    try:
        found = facts.read(tmp_path / "m.gguf", [tmp_path])
    except Refusal:
        return
    assert json.dumps(facts.document(found))


def test_latent_attention_is_told_apart(root: Path) -> None:
    """Files of before latents were cached name no lengths of heads beside them, and keep whole heads."""
    new = {"key_length": 576, "value_length": 512, "key_length_mla": 192, "value_length_mla": 128}
    old = {"key_length": 192, "value_length": 128}
    found = [
        read(
            tiny(
                root, f"{name}.gguf", layers=2, overrides={f"llama.attention.{key}": size for key, size in said.items()}
            )
        )
        for name, said in (("new", new), ("old", old))
    ]
    assert [each.layers for each in found] == [(LayerGroup(2, "latent", latent_length=576),), ()]
