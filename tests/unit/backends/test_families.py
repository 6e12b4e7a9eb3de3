"""Which family a model is of, and which parsers engines are told."""

from dataclasses import replace

import pytest

from backends.families import FAMILIES, family_of
from backends.parsing import Chosen, chosen, said
from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.templates import SIGNS, with_template
from tests.fixtures.vllm_names import REASONING_PARSERS, TOOL_PARSERS
from tests.unit.backends.models import facts

TOOLS = "{% for tool in tools %}{% endfor %}"
R1 = "<｜Assistant｜>{% set c = c.split('</think>') %}<｜tool▁calls▁begin｜>"


def with_text(architecture: str, text: str) -> ModelFacts:
    model = ModelFacts("hf", "/m", 0, architecture=architecture, kind="llm")
    return with_template(model, {"chat_template.jinja": text})


@pytest.mark.parametrize(
    ("architecture", "text", "vllm", "sglang"),
    [
        ("Qwen2ForCausalLM", TOOLS + "<tool_call>", ("hermes", None), ("hermes", None)),
        ("Qwen2ForCausalLM", TOOLS + "<tool_call></think>", ("hermes", "deepseek_r1"), ("qwen25", "deepseek-r1")),
        ("Qwen3ForCausalLM", TOOLS + "<tool_call><think>", ("hermes", "qwen3"), ("qwen25", "qwen3")),
        ("Qwen3ForCausalLM", TOOLS + "<tool_call>", ("hermes", None), ("qwen25", None)),
        ("Qwen3MoeForCausalLM", TOOLS + "<tool_call>\n<function=", ("qwen3_xml", None), ("qwen3_coder", None)),
        ("Qwen3_5ForConditionalGeneration", TOOLS + "<tool_call><function=<think>", ("qwen3_xml", "qwen3"), None),
        ("Qwen2ForCausalLM", TOOLS + R1, (None, "deepseek_r1"), (None, "deepseek-r1")),
        ("DeepseekV3ForCausalLM", TOOLS + R1, (None, "deepseek_r1"), (None, "deepseek-r1")),
        ("DeepseekV3ForCausalLM", TOOLS + R1 + "{% if thinking %}", (None, "deepseek_v3"), (None, "deepseek-v3")),
        ("Glm4MoeForCausalLM", TOOLS + "<tool_call>{n}\n<arg_key><think>", ("glm45", "glm45"), ("glm45", "glm45")),
        ("Glm4MoeForCausalLM", TOOLS + "<tool_call>{function-name}<arg_key><think>", ("glm47", "glm45"), None),
        ("LlamaForCausalLM", TOOLS + "<|python_tag|>", ("llama3_json", None), ("llama3", None)),
        ("MistralForCausalLM", TOOLS + "[TOOL_CALLS]", ("mistral", None), ("mistral", None)),
        ("GptOssForCausalLM", TOOLS + "<|channel|>", ("openai", "openai_gptoss"), ("gpt-oss", "gpt-oss")),
        ("MiniMaxM2ForCausalLM", TOOLS + "<minimax:tool_call><think>", ("minimax_m2", "minimax_m2"), None),
        ("LlamaForCausalLM", "{{ messages }}", (None, None), (None, None)),
    ],
)
def test_the_template_decides_and_then_the_architecture(
    architecture: str, text: str, vllm: tuple[str | None, ...], sglang: tuple[str | None, ...] | None
) -> None:
    model = with_text(architecture, text)
    assert chosen(model, {}, "vllm") == vllm
    assert sglang is None or chosen(model, {}, "sglang") == sglang


def test_a_model_whose_template_nobody_read_gets_none() -> None:
    assert family_of(facts("Qwen3-32B")) is None
    assert chosen(facts("Qwen3-32B"), {}, "vllm") == Chosen(None, None)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tool-call-parser": "xlam"}, Chosen("xlam", "qwen3")),
        ({"tool-call-parser": "none", "reasoning-parser": "none"}, Chosen(None, None)),
        ({"enable-auto-tool-choice": False}, Chosen(None, "qwen3")),
        ({"enable-auto-tool-choice": True, "reasoning-parser": "deepseek_r1"}, Chosen("hermes", "deepseek_r1")),
    ],
)
def test_the_users_own_stand_first(options: dict[str, str | bool], expected: Chosen) -> None:
    assert chosen(with_text("Qwen3ForCausalLM", TOOLS + "<tool_call><think>"), options, "vllm") == expected


def test_tools_that_nobody_can_read_are_refused_before_the_engine_does() -> None:
    with pytest.raises(Refusal, match="tools_need_parser"):
        chosen(with_text("LlamaForCausalLM", "{{ messages }}"), {"enable-auto-tool-choice": True}, "vllm")


@pytest.mark.parametrize(
    ("model", "options", "codes"),
    [
        (with_text("NewForCausalLM", TOOLS + "<think>"), {}, ["tools_not_parsed", "reasoning_not_split"]),
        (with_text("NewForCausalLM", TOOLS), {"tool-call-parser": "none"}, []),
        (with_text("Qwen2ForCausalLM", TOOLS + R1), {}, ["tools_need_template"]),
        (with_text("Qwen2ForCausalLM", TOOLS + R1), {"chat-template": "{{ tools }}"}, []),
        (
            with_text("DeepseekV3ForCausalLM", TOOLS + R1 + "thinking"),
            {},
            ["tools_need_template", "thinking_off_by_default"],
        ),
        (with_template(facts("Llama-3.1-8B"), {"tokenizer_config.json": "{}"}), {}, ["chat_template_missing"]),
        (facts("Qwen3-32B"), {}, []),
    ],
)
def test_what_it_will_not_do_is_said(model: ModelFacts, options: dict[str, str], codes: list[str]) -> None:
    found = chosen(model, options, "vllm")
    assert [each.code for each in said(model, options, found, "vllm")] == codes


def test_a_template_of_ones_own_brings_the_calls_back() -> None:
    model = with_text("DeepseekV3ForCausalLM", TOOLS + R1)
    assert chosen(model, {"chat-template": "{{ tools }}"}, "vllm").tools == "deepseek_v3"
    assert replace(model, has_chat_template=False).template_takes_tools


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.name)
def test_every_row_names_what_there_is_and_where_it_is_from(family: object) -> None:
    """Marks that are looked for, parsers that vLLM 0.23 and 0.32 register, and a source."""
    row = next(each for each in FAMILIES if each is family)
    assert row.signs | row.without | row.reasons <= set(SIGNS)
    assert row.tools.vllm is None or row.tools.vllm in TOOL_PARSERS
    assert row.reasoning.vllm is None or row.reasoning.vllm in REASONING_PARSERS
    assert row.source
