"""The two catalogues say the same, with the same params, and every code in the program is in them."""

import ast
import re
import string
from pathlib import Path

import pytest

from gpustack_lite import messages
from gpustack_lite.domain import Sentence
from gpustack_lite.messages import CATALOGUE, text

ROOT = Path(__file__).parents[2]
AREAS = sorted(path.stem for path in (ROOT / "gpustack_lite/messages").glob("*.py") if path.stem != "__init__")


def fields(template: str) -> set[str]:
    return {name.partition("!")[0] for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_both_languages_are_filled_from_the_same_params(code: str) -> None:
    english, chinese = CATALOGUE[code]
    assert fields(english) == fields(chinese)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_both_languages_are_written(code: str) -> None:
    english, chinese = CATALOGUE[code]
    assert english.strip()
    assert has_chinese(chinese) or not words(english)
    assert not has_chinese(english)


HALF_WIDTH = re.compile(r"[\u4e00-\u9fff](?:[,;!?()]|:(?![\u4e00-\u9fff]))|[,;!?()][\u4e00-\u9fff]")
"""A colon between two words is a notation, as in host:port."""


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_chinese_has_marks_of_its_own_width(code: str) -> None:
    assert HALF_WIDTH.findall(CATALOGUE[code][1]) == []


def has_chinese(template: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in template)


def words(template: str) -> str:
    return "".join(literal for literal, *_ in string.Formatter().parse(template)).strip(
        string.punctuation + string.whitespace
    )


def test_a_code_is_defined_in_one_area_only() -> None:
    areas = [getattr(messages, area).SENTENCES for area in AREAS]
    assert sum(len(area) for area in areas) == len(CATALOGUE)


def codes_raised(path: Path) -> set[tuple[str, int]]:
    """Literal first arguments of the calls that carry a code."""
    carriers = {"Refusal", "Sentence", "Said", "say", "fail", "warn"}
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in carriers:
            first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "code"), None)
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add((first.value, node.lineno))
    return found


def columns_shown(path: Path) -> set[tuple[str, int]]:
    """The titles of tables: `column_NAME` of each `Column("NAME")`."""
    return {
        (f"column_{node.args[0].value}", node.lineno)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"Column", "bytes_column"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def sources() -> list[Path]:
    return [
        p
        for top in ("gpustack_lite", "backends", "scheduler", "worker")
        for p in (ROOT / top).rglob("*.py")
        if "runners" not in p.parts
    ]


def test_every_code_that_the_program_names_has_its_sentences() -> None:
    missing = [
        f"{path.relative_to(ROOT)}:{line} {code}"
        for path in sources()
        for code, line in codes_raised(path) | columns_shown(path)
        if code not in CATALOGUE
    ]
    assert missing == []


def test_bytes_are_written_with_a_unit_and_control_characters_are_not_written() -> None:
    shown = text(Sentence("unreachable", {"where": "a\x1b[31mb\nc", "why": "\u202e"}))
    assert (
        shown == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}c did not answer: \N{REPLACEMENT CHARACTER}."
    )
    assert messages.size(1536) == "1.5 KiB"
    assert messages.size(14 * 1024**3) == "14 GiB"


def test_a_long_value_is_cut_rather_than_filling_the_screen() -> None:
    assert len(text(Sentence("unknown_chip", {"chip": "x" * 40_000}))) < 1_000


@pytest.mark.parametrize(
    ("wanted", "language"),
    [("zh-CN,zh;q=0.9", "zh"), ("zh_CN.UTF-8", "zh"), ("en-US", "en"), (None, "en"), ("C", "en")],
)
def test_the_language_follows_the_reader(wanted: str | None, language: str) -> None:
    assert messages.language_of(wanted) == language
