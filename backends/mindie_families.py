"""What MindIE does for a family of models beyond plain text: reasoning apart from the answer, calls of tools.

Which families, and their key below `models` in config.json, is in the table of `backends.families`.
"""

from collections.abc import Mapping

from backends.families import FAMILIES
from backends.options import OptionValue
from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal

REASONING: Mapping[str, str] = {name: key for each in FAMILIES for name, key in each.mindie_keys.items()}
"""Architecture -> its key below `models` in config.json."""
TOOLS = frozenset(name for each in FAMILIES for name in each.mindie_tools)


def reasoning_key(facts: ModelFacts | None, values: Mapping[str, OptionValue]) -> str | None:
    """Where reasoning is switched on: by the option, else where the model's own template speaks of thinking.

    Raises:
        Refusal: `option_invalid` where it was asked for and this family has none.
    """
    wanted = values.get("enable-reasoning")
    key = REASONING.get((facts.architecture if facts is not None else None) or "")
    if wanted is True and key is None and facts is not None:
        name, expected = "enable-reasoning", ", ".join(sorted(REASONING))
        raise Refusal("option_invalid", param=f"options.{name}", option=name, value="true", expected=expected)
    is_wanted = wanted is True or (wanted is None and facts is not None and facts.template_reasons is True)
    return key if is_wanted else None


def takes_tools(facts: ModelFacts) -> bool | None:
    """None where nobody says so."""
    return (facts.architecture in TOOLS and facts.template_takes_tools) or None
