"""What a chat template tells of a model: whether it takes tools, whether it thinks, and how it spells both."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gpustack_lite.domain import ModelFacts

TEMPLATE_FILES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
"""Of a directory; the first is what newer tools write."""
_TOOLS = re.compile(r"\btools\b")
_THOUGHTS = re.compile(r"<think|\b(?:enable_thinking|reasoning_content|reasoning_effort|thinking)\b|\[THINK\]")
"""The variables and marks by which templates ask for thinking (Qwen3, DeepSeek, gpt-oss, Magistral and their kin)."""
SIGNS = (
    *("<tool_call>", "<function=", "<arg_key>", "{function-name}<arg_key>", "<tool_calls>", "<function_calls>"),
    *("<|python_tag|>", "<|python_start|>", "[TOOL_CALLS]", "<|tool_call|>", "<|tool|>", "<|tool_call_start|>"),
    *("<｜tool▁calls▁begin｜>", "<｜tool_calls_begin｜>", "<｜Assistant｜>", "<|tool_calls_section_begin|>"),
    *("<minimax:tool_call>", "<seed:tool_call>", "<longcat_tool_call>", "<start_function_call>", "<|action_start|>"),
    *("<think>", "</think>", "[THINK]", "enable_thinking", "thinking", "reasoning_effort", "<|channel|>"),
)
"""The marks between which models write calls and thoughts, and the variables by which thinking is switched."""
_WORDS = {each: re.compile(rf"\b{re.escape(each)}\b") for each in SIGNS if each.isidentifier()}


class Template(NamedTuple):
    takes_tools: bool
    reasons: bool
    signs: tuple[str, ...]


def read(texts: Sequence[str]) -> Template | None:
    """Of all templates that a model has (some have one more for tools); None of none."""
    text = "\n".join(texts)
    if not text:
        return None
    return Template(bool(_TOOLS.search(text)), bool(_THOUGHTS.search(text)), tuple(filter(_found_in(text), SIGNS)))


def _found_in(text: str) -> Any:
    return lambda sign: _WORDS[sign].search(text) is not None if sign in _WORDS else sign in text


def texts_of(files: Mapping[str, str]) -> list[str]:
    """Of what lies in those of `TEMPLATE_FILES` that are there, by name."""
    jinja = files.get(TEMPLATE_FILES[0])
    return [jinja] if jinja else [text for name in TEMPLATE_FILES[1:] for text in _of_json(files.get(name))]


def _of_json(content: str | None) -> list[str]:
    """A text, or a list of {name, template}."""
    try:
        document = json.loads(content or "{}")
    except (ValueError, RecursionError):
        return []
    said = document.get("chat_template") if isinstance(document, dict) else None
    parts = [each.get("template") for each in said if isinstance(each, dict)] if isinstance(said, list) else [said]
    return [each for each in parts if isinstance(each, str)]


def with_template(facts: ModelFacts, files: Mapping[str, str]) -> ModelFacts:
    """Nothing is said of a model of which no file of the tokenizer was seen."""
    if not files:
        return facts
    found = read(texts_of(files))
    if found is None:
        return replace(facts, has_chat_template=False)
    return replace(
        facts,
        has_chat_template=True,
        template_takes_tools=found.takes_tools,
        template_reasons=found.reasons,
        template_signs=found.signs,
    )
