"""Which parsers an engine is told, and what a person should know of a model that has none that would do."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from backends.families import Engine, Family, family_of, reasoning_parser, reasons, tool_parser
from backends.options import OptionValue
from gpustack_lite.domain import ModelFacts, Sentence
from gpustack_lite.errors import Refusal

OPTIONS = frozenset({"tool-call-parser", "reasoning-parser", "enable-auto-tool-choice", "chat-template"})
OFF = "none"
"""As the value of either option: no parser, though the family has one."""


class Chosen(NamedTuple):
    tools: str | None
    reasoning: str | None


def chosen(facts: ModelFacts | None, values: Mapping[str, OptionValue], engine: Engine) -> Chosen:
    """The user's own stand before those of the family.

    Raises:
        Refusal: `tools_need_parser` where calls of tools are wanted and no parser is known.
    """
    tools = _tools(facts, values, engine)
    if values.get("enable-auto-tool-choice") is True and tools is None and facts is not None:
        name = facts.architecture or facts.path
        raise Refusal("tools_need_parser", param="options.tool-call-parser", architecture=name)
    is_said = "reasoning-parser" in values
    return Chosen(tools, _named(values, "reasoning-parser") if is_said else reasoning_parser(facts, engine))


def _named(values: Mapping[str, OptionValue], option: str) -> str | None:
    said = str(values[option])
    return None if said in {OFF, ""} else said


def _tools(facts: ModelFacts | None, values: Mapping[str, OptionValue], engine: Engine) -> str | None:
    if values.get("enable-auto-tool-choice") is False:
        return None
    if "tool-call-parser" in values:
        return _named(values, "tool-call-parser")
    if "tools" in str(values.get("chat-template", "")):
        family = family_of(facts)
        return None if family is None else family.tools.of(engine)
    return tool_parser(facts, engine)


def said(facts: ModelFacts, values: Mapping[str, OptionValue], found: Chosen, engine: Engine) -> Iterator[Sentence]:
    """What this model will not do under these options, of what its template speaks of."""
    family = family_of(facts)
    if facts.has_chat_template is False and "chat-template" not in values:
        yield Sentence("chat_template_missing")
    if facts.template_takes_tools and found.tools is None and not _is_off(values):
        yield Sentence(_why_no_tools(family, engine))
    thinks = facts.template_reasons and (family is None or reasons(family, facts))
    if thinks and found.reasoning is None and str(values.get("reasoning-parser")) != OFF:
        yield Sentence("reasoning_not_split")
    if family is not None and found.reasoning is not None and family.off_by_default is not None:
        yield Sentence("thinking_off_by_default", {"variable": family.off_by_default})


def _is_off(values: Mapping[str, OptionValue]) -> bool:
    return values.get("enable-auto-tool-choice") is False or str(values.get("tool-call-parser")) == OFF


def _why_no_tools(family: Family | None, engine: Engine) -> str:
    is_template = family is not None and family.tools.of(engine) is not None and not family.own_template
    return "tools_need_template" if is_template else "tools_not_parsed"
