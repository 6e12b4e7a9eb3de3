"""What chat templates tell: of tools, of thinking, and by which marks a family is known."""

import json
from pathlib import Path

import pytest

from gpustack_lite.domain import ModelFacts
from gpustack_lite.hub.facts import document, from_document
from gpustack_lite.hub.facts import read as read_facts
from gpustack_lite.hub.templates import read, texts_of, with_template

FACTS = ModelFacts("hf", "/m", 0)
THINKING = "{% if enable_thinking %}<think>{% endif %}{% for tool in tools %}<tool_call>{% endfor %}"


def test_marks_and_variables_are_found_as_they_stand() -> None:
    found = read([THINKING])
    assert found is not None
    assert (found.takes_tools, found.reasons) == (True, True)
    assert found.signs == ("<tool_call>", "<think>", "enable_thinking")


def test_a_variable_within_another_word_is_none() -> None:
    found = read(["{{ enable_thinking }}"])
    assert found is not None
    assert "thinking" not in found.signs


@pytest.mark.parametrize(
    ("files", "texts"),
    [
        pytest.param({"chat_template.jinja": "a", "tokenizer_config.json": '{"chat_template": "b"}'}, ["a"], id="own"),
        pytest.param({"tokenizer_config.json": '{"chat_template": "b"}'}, ["b"], id="in the tokenizer's"),
        pytest.param({"chat_template.json": '{"chat_template": "c"}'}, ["c"], id="of a processor"),
        pytest.param(
            {"tokenizer_config.json": json.dumps({"chat_template": [{"name": "x", "template": "d"}, {"name": "y"}]})},
            ["d"],
            id="several",
        ),
        pytest.param({"tokenizer_config.json": "{"}, [], id="broken"),
        pytest.param({"tokenizer_config.json": "[1]"}, [], id="no object"),
    ],
)
def test_where_it_lies(files: dict[str, str], texts: list[str]) -> None:
    assert texts_of(files) == texts


def test_without_a_tokenizer_nothing_is_said_and_with_one_there_is_none() -> None:
    assert with_template(FACTS, {}).has_chat_template is None
    assert with_template(FACTS, {"tokenizer_config.json": "{}"}).has_chat_template is False
    assert with_template(FACTS, {"chat_template.jinja": THINKING}).template_signs


def test_a_text_model_that_was_trained_to_embed_pools_and_reads_no_more_than_it_was_trained_for(tmp_path: Path) -> None:
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "max_position_embeddings": 512}
    written = {
        "config.json": {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 100, **sizes},
        "modules.json": [],
        "sentence_bert_config.json": {"max_seq_length": 256},
        "tokenizer_config.json": {"chat_template": THINKING},
    }
    for name, content in written.items():
        (tmp_path / name).write_text(json.dumps(content))
    facts = read_facts(tmp_path, [tmp_path])
    assert (facts.kind, facts.trained_context_length) == ("embedding", 256)
    assert "<tool_call>" in facts.template_signs
    assert from_document(document(facts)) == facts
