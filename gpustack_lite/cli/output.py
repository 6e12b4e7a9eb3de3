"""Prints API documents: as they are (JSON, YAML), or as a table in columns that fit their content."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from gpustack_lite.cli.say import say, tell, write
from gpustack_lite.messages import size

Document = Mapping[str, Any]
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Output = Annotated[Format, typer.Option("-o", "--output", metavar="table|json|yaml", help=say("help_output"))]


@dataclass(frozen=True, slots=True)
class Column:
    """Its title is the sentence `column_NAME`; its cells are the field NAME, or what `cell` makes of a document."""

    name: str
    cell: Callable[[Document], object] | None = None

    @property
    def title(self) -> str:
        return say(f"column_{self.name}")

    def shown(self, document: Document) -> str:
        return plain(document.get(self.name) if self.cell is None else self.cell(document))


def bytes_column(name: str) -> Column:
    return Column(name, lambda document: shown_size(document.get(name)))


def shown_size(byte_count: float | None) -> str | None:
    return None if byte_count is None else size(byte_count)


def show_list(listed: Document, columns: Sequence[Column], output: Format) -> None:
    """`listed` is a list's document: its `items` are the rows of the table."""
    if output is not Format.TABLE:
        show_document(listed, output)
        return
    titles = [column.title for column in columns]
    rows = [titles, *([column.shown(item) for column in columns] for item in listed["items"])]
    for line in aligned(rows):
        write(line)


def show_document(document: Document, output: Format) -> None:
    if output is Format.JSON:
        write(json.dumps(document, indent=2, ensure_ascii=False))
    elif output is Format.YAML:
        import yaml

        write(yaml.safe_dump(dict(document), allow_unicode=True, sort_keys=False).rstrip("\n"))
    else:
        for line in aligned([[key, plain(value)] for key, value in document.items() if value not in (None, [], {})]):
            write(line)


def show_done(document: Document, output: Format, code: str, **params: str | int) -> None:
    """What was done: one sentence for a person, the document for a program."""
    if output is Format.TABLE:
        tell(code, **params)
    else:
        show_document(document, output)


def plain(value: object) -> str:
    """One line of text for a terminal, without control characters; "-" for what is unknown."""
    if value in (None, "", [], {}):
        return "-"
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if isinstance(value, float):
        value = round(value, 3)
    text = value if isinstance(value, str) else _as_text(value)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def stripped(text: str) -> str:
    """What a model wrote, without the control characters that a terminal would obey."""
    return _NO_TEXT.sub("", text)


def _as_text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(each, str | int) for each in value):
        return ",".join(map(str, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with two spaces between columns; wide characters count as two cells."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell + " " * (widths[index] - width(cell)) for index, cell in enumerate(row)).rstrip() for row in rows
    ]


def width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
