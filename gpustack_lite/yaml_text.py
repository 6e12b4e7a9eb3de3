"""YAML that somebody else wrote: one reader, one kind of error, and a bound on what aliases make of a short text."""

import re
from itertools import accumulate
from typing import Any

import yaml

MOST_NODES = 20_000
"""Counted as often as they are named: ten lines of aliases are a billion words."""
MOST_DEPTH = 200
"""Of brackets that are open at once: PyYAML takes a time that grows with their square."""
_TOO_DEEP = "it is nested too deeply"
_BRACKET = re.compile(r"[\[\]{}]")


class Unreadable(yaml.YAMLError):
    """Well-formed, and yet nothing can be made of it."""


def parsed(text: str) -> Any:
    """What the text says.

    Raises:
        yaml.YAMLError: it is no YAML, holds a day or a number that there is not, nests too deeply or is far too large.
    """
    if max(accumulate(1 if each in "[{" else -1 for each in _BRACKET.findall(text)), default=0) > MOST_DEPTH:
        raise Unreadable(_TOO_DEEP)
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        if tree is not None:
            _count(tree, {})
        return yaml.safe_load(text)
    except RecursionError as error:
        raise Unreadable(_TOO_DEEP) from error
    except (ValueError, OverflowError) as error:  # from PyYAML's constructors: 2024-99-99, a number of 5,000 digits
        raise Unreadable(str(error)) from error


def _count(node: yaml.Node, known: dict[int, int]) -> int:
    """How many nodes there are below this one; each is walked once. A node within itself counts as endless."""
    if (seen := known.get(id(node))) is not None:
        return seen
    known[id(node)] = MOST_NODES + 1
    count = 1 + sum(_count(each, known) for each in _inner(node))
    if count > MOST_NODES:
        raise Unreadable(f"its aliases make more than {MOST_NODES} values of it")
    known[id(node)] = count
    return count


def _inner(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
