"""`--option K=V` and its kin as dictionaries."""

import json
import re
from collections.abc import Sequence

import typer

from gpustack_lite.cli.say import say

_RANGE = re.compile(r"^\s*(?:auto\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)|(\d+)\s*\.\.\s*(\d+))\s*$")


def options_of(pairs: Sequence[str]) -> dict[str, object]:
    """Engine options: numbers, true, false and JSON are taken as such, a name alone is a switch that is on."""
    return {key.lstrip("-"): True if value is None else _as_json(value) for key, value in map(_split, pairs)}


def labels_of(pairs: Sequence[str], option: str) -> dict[str, str]:
    """Texts only; raises BadParameter (exit code 2) where there is no value."""
    split = [_split(pair) for pair in pairs]
    if any(value is None for _, value in split):
        raise typer.BadParameter(say("needs_key_value", option=option))
    return {key: value or "" for key, value in split}


def replicas_of(text: str) -> int | dict[str, int]:
    """ "3", "auto(1,4)" or "1..4"; raises BadParameter (exit code 2) for anything else."""
    if text.isascii() and text.isdigit():
        return int(text)
    found = _RANGE.match(text)
    if found is None:
        raise typer.BadParameter(say("needs_replicas", given=text))
    return {"min": int(found[1] or found[3]), "max": int(found[2] or found[4])}


def _split(pair: str) -> tuple[str, str | None]:
    key, equals, value = pair.partition("=")
    if not key:
        raise typer.BadParameter(say("needs_key_value", option=pair))
    return key, value if equals else None


def _as_json(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
