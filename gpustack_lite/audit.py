"""The chain of the audit log: how a row is bound to all rows before it, and how that is checked. Pure.

The digest of a row is the SHA-256 of the digest before it, a line feed, and the row's content as canonical JSON (keys
sorted, no spaces, ASCII). The number of rows and the last digest are kept beside the table, as the head.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpustack_lite.domain import Sentence

GENESIS = "0" * 64
"""What stands before the first row."""
TRIM = "trim"
"""The action of the row that says which rows were forgotten; it vouches for the anchor."""
MASK = "***"
MOST_BYTES = 64 * 1024
"""Of `before` or `after`: what is longer is told by the names of its fields alone."""
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API.?KEY|PRIVATE.?KEY|AUTHORIZATION", re.IGNORECASE)

Content = Mapping[str, Any]
"""A row without its digest; its `id` counts from 1 without a gap."""


def linked(previous: str, content: Content) -> str:
    """The digest of a row."""
    return hashlib.sha256(f"{previous}\n{canonical(content)}".encode("ascii")).hexdigest()


def canonical(content: Content) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def masked(value: Any) -> Any:
    """A copy for the log: what is named like a secret, and every value of an environment, is `***`."""
    if isinstance(value, Mapping):
        return {str(name): _masked(str(name), each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return value


def _masked(name: str, value: Any) -> Any:
    if name == "env" and isinstance(value, Mapping):
        return {str(each): MASK for each in value}
    if _SECRET_NAME.search(name) and isinstance(value, str | bytes):
        return MASK
    return masked(value)


def bounded(document: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """As JSON holds it, and not longer than a row may be."""
    if document is None:
        return None
    text = canonical(document)
    if len(text) > MOST_BYTES:
        return {"too_long_bytes": len(text), "fields": sorted(document)}
    kept: dict[str, Any] = json.loads(text)
    return kept


@dataclass(frozen=True, slots=True)
class Head:
    """`rows` were written ever, the first `trimmed` are forgotten; `anchor` is the digest of the last of those."""

    rows: int = 0
    digest: str = GENESIS
    trimmed: int = 0
    anchor: str = GENESIS


@dataclass(frozen=True, slots=True)
class Noted:
    """The digest of a row as somebody wrote it down elsewhere: no change of the database reaches that."""

    row: int
    digest: str


@dataclass(slots=True)
class Walk:
    """Is shown every row in its order, and says what is wrong with the first that does not fit."""

    head: Head
    noted: Noted | None = None
    seen: int = 0
    _row: int = field(init=False)
    _digest: str = field(init=False)
    _trim: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        self._row, self._digest = self.head.trimmed, self.head.anchor

    def step(self, content: Content, digest: str) -> Sentence | None:
        row = int(content["id"])
        if fault := self._misplaced(row):
            return fault
        if linked(self._digest, content) != digest:
            return Sentence("audit_row_changed", {"row": row})
        if self.noted is not None and self.noted.row == row and self.noted.digest != digest:
            return Sentence("audit_noted_differs", {"row": row})
        if content["action"] == TRIM:
            after = content["after"] or {}
            self._trim = int(after.get("row", 0)), str(after.get("digest", ""))
        self._row, self._digest, self.seen = row, digest, self.seen + 1
        return None

    def _misplaced(self, row: int) -> Sentence | None:
        if row > self.head.rows:
            return Sentence("audit_row_added", {"row": row, "rows": self.head.rows})
        if row > self._row + 1:
            return Sentence("audit_row_missing", {"row": self._row + 1})
        if row <= self._row:
            return Sentence("audit_row_added", {"row": row, "rows": self.head.rows})
        return None

    def end(self) -> Sentence | None:
        """After the last row."""
        if self._row < self.head.rows:
            return Sentence("audit_tail_missing", {"row": self._row + 1, "rows": self.head.rows})
        if self._digest != self.head.digest:
            return Sentence("audit_head_differs", {"row": self._row})
        if self.head.trimmed and self._trim != (self.head.trimmed, self.head.anchor):
            return Sentence("audit_anchor_differs", {"row": self.head.trimmed})
        if self.noted is not None and not self.head.trimmed < self.noted.row <= self.head.rows:
            return Sentence("audit_noted_gone", {"row": self.noted.row, "first": self.head.trimmed + 1})
        return None
