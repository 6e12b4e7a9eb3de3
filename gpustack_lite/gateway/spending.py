"""Tokens against day and month budgets: what the server has on disk, and what of ours is not there yet."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

QUARTER_SECONDS = 900
"""Every time zone of today begins its days at a quarter of an hour of UTC."""


class Spent(msgspec.Struct):
    """The part of a row that budgets are about."""

    model: str
    started_at: datetime
    key_id: int | None = None
    user_id: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def tokens(self) -> int:
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)


_spent = msgspec.json.Decoder(Spent)


def of_rows(rows: Iterable[bytes]) -> list[Spent]:
    """From the JSON of UsageRows; one that cannot be read is the server's to refuse."""
    return [found for row in rows if (found := _read(row)) is not None]


def _read(row: bytes) -> Spent | None:
    try:
        return _spent.decode(row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def subjects_of(row: Spent) -> tuple[str, ...]:
    """Whose limits a row counts against."""
    key = () if row.key_id is None else (f"key:{row.key_id}",)
    user = () if row.user_id is None else (f"user:{row.user_id}",)
    return (*key, *user, f"model:{row.model}")


class Tally:
    """Tokens by subject and quarter of an hour."""

    __slots__ = ("_tokens",)

    def __init__(self) -> None:
        self._tokens: dict[str, dict[int, int]] = {}

    def add(self, subject: str, at: datetime, tokens: int) -> None:
        """What falls to nothing, or below, is forgotten."""
        quarters, quarter = self._tokens.setdefault(subject, {}), _quarter(at)
        left = quarters.get(quarter, 0) + tokens
        if left > 0:
            quarters[quarter] = left
        elif quarters.pop(quarter, None) is None or not quarters:
            self._tokens.pop(subject, None)

    def since(self, subject: str, begin: datetime) -> int:
        quarters = self._tokens.get(subject)
        if not quarters:
            return 0
        first = _quarter(begin)
        return sum(tokens for quarter, tokens in quarters.items() if quarter >= first)

    def take_all(self, other: "Tally") -> None:
        for subject, quarters in other._tokens.items():
            mine = self._tokens.setdefault(subject, {})
            for quarter, tokens in quarters.items():
                mine[quarter] = mine.get(quarter, 0) + tokens
        other.clear()

    def clear(self) -> None:
        self._tokens = {}


def _quarter(at: datetime) -> int:
    return int(at.astimezone(UTC).timestamp()) // QUARTER_SECONDS


class Spending:
    """A row is `pending` until the server took it, and counted here until a word of the server includes it.

    The server's answer to a status includes what it took before the status was sent: so `tell` marks, `heed` forgets.
    """

    def __init__(self) -> None:
        self.on_server: Mapping[str, Mapping[str, int]] = {}
        self._pending, self._taken, self._asked, self._inherited = Tally(), Tally(), Tally(), Tally()

    def note(self, row: Spent, subjects: Iterable[str]) -> None:
        for subject in subjects:
            self._pending.add(subject, row.started_at, row.tokens)

    def was_taken(self, row: Spent, subjects: Iterable[str]) -> None:
        for subject in subjects:
            self._pending.add(subject, row.started_at, -row.tokens)
            self._taken.add(subject, row.started_at, row.tokens)

    def inherit(self, rows: Iterable[Spent]) -> None:
        """What a predecessor left on disk."""
        for row in rows:
            for subject in subjects_of(row):
                self._inherited.add(subject, row.started_at, row.tokens)

    def disinherit(self) -> None:
        """The server is there again, so whoever found those rows has delivered them."""
        self._inherited.clear()

    def tell(self) -> None:
        self._asked.take_all(self._taken)

    def heed(self, on_server: Mapping[str, Mapping[str, int]]) -> None:
        self.on_server = on_server
        self._asked.clear()

    def ours(self, subject: str, begin: datetime) -> int:
        """Since the beginning of a period, what the server has not said yet."""
        parts = (self._pending, self._taken, self._asked, self._inherited)
        return sum(each.since(subject, begin) for each in parts)

    def said(self, subject: str, period: str) -> int:
        return self.on_server.get(subject, {}).get(period, 0)
