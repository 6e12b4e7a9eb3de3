import json

import pytest

from gpustack_lite.cli.output import Column, Format, aligned, plain, show_document, show_list, stripped

LISTED = {"items": [{"name": "a", "size": None}], "next_cursor": None, "total": 1, "revision": 7}


def test_columns_are_as_wide_as_their_widest_cell_and_chinese_counts_twice() -> None:
    assert aligned([["名称", "X"], ["abcdef", "y"], ["模", "z"]]) == ["名称    X", "abcdef  y", "模      z"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("", "-"),
        ([], "-"),
        (0, "0"),
        (False, "no"),
        (0.123456, "0.123"),
        (["a", 1], "a,1"),
        ({"a": 1}, '{"a": 1}'),
        ("a\x1b[31m\n\u202e", "a\ufffd[31m\ufffd\ufffd"),
    ],
)
def test_a_cell_is_one_harmless_line(value: object, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUSTACK_LITE_LANG", "en")
    assert plain(value) == shown


def test_json_is_the_documents_own(capsys: pytest.CaptureFixture[str]) -> None:
    show_list(LISTED, [Column("name")], Format.JSON)
    assert json.loads(capsys.readouterr().out) == LISTED


def test_yaml_keeps_chinese_and_order(capsys: pytest.CaptureFixture[str]) -> None:
    show_document({"b": "名称", "a": 1}, Format.YAML)
    assert capsys.readouterr().out == "b: 名称\na: 1\n"


def test_a_table_has_titles_in_the_readers_language(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUSTACK_LITE_LANG", "zh")
    show_list(LISTED, [Column("name"), Column("message", lambda item: item["size"])], Format.TABLE)
    assert capsys.readouterr().out.split() == ["名称", "说明", "a", "-"]


def test_what_a_model_writes_cannot_steer_the_terminal() -> None:
    assert stripped("a\tb\n\x1b[2J\x07c\x9b") == "a\tb\n[2Jc"
