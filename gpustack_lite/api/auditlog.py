"""Reading the audit log: checked, and in one piece for elsewhere."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

from gpustack_lite.api import failing
from gpustack_lite.api.context import Context
from gpustack_lite.audit import Noted
from gpustack_lite.db.queries import audit, audit_check
from gpustack_lite.db.queries.audit import Sought
from gpustack_lite.errors import Refusal

COLUMNS = (
    *("id", "at", "actor", "actor_id", "carrier", "credential_id", "address", "request_id"),
    *("action", "kind", "object_id", "name", "before", "after", "digest"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NOTED = re.compile(r"^([1-9][0-9]{0,17}):([0-9a-f]{64})$")
Format = Literal["csv", "jsonl"]


async def verify(context: Context, noted: str | None) -> dict[str, Any]:
    await failing.flush(context)
    async with context.db.read() as session:
        return await audit_check.verify(session, noted_of(noted))


def noted_of(text: str | None) -> Noted | None:
    """From ROW:DIGEST, as `verify` told it once.

    Raises:
        Refusal: `audit_noted_malformed`.
    """
    if text is None:
        return None
    found = _NOTED.match(text)
    if found is None:
        raise Refusal("audit_noted_malformed", param="noted")
    return Noted(int(found[1]), found[2])


async def exported(context: Context, sought: Sought, shape: Format) -> AsyncIterator[str]:
    """All rows that are sought, the oldest first, in pieces. What is appended meanwhile may be among them."""
    line: Callable[[Mapping[str, Any]], str] = _csv_line if shape == "csv" else _json_line
    if shape == "csv":
        yield _csv([*COLUMNS])
    last = 0
    while True:
        async with context.db.read() as session:
            rows = [audit.document(each) for each in await audit.after(session, last, sought.conditions())]
        if not rows:
            return
        yield "".join(map(line, rows))
        last = rows[-1]["id"]


def _json_line(row: Mapping[str, Any]) -> str:
    return json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False) + "\n"


def _csv_line(row: Mapping[str, Any]) -> str:
    return _csv([_cell(row[name]) for name in COLUMNS])


def _cell(value: Any) -> str:
    """A cell that begins like a formula is one in a spreadsheet: an apostrophe before it makes it a text."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _csv(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
