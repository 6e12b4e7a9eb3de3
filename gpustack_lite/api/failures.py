"""Counts what failed, by account and address, and says what is to be written; bounded in rows and in memory."""

from dataclasses import dataclass, field

WINDOW_SECONDS = 60.0
MOST_OPEN = 32
"""Accounts and addresses that are told apart in one minute; what comes beside them is counted together."""
MANY = "(many)"


@dataclass(frozen=True, slots=True)
class Failed:
    account: str
    address: str
    count: int = 1


@dataclass(slots=True)
class _Window:
    began: float
    uncounted: int = 0
    """Attempts that no row tells of yet."""


@dataclass(slots=True)
class Failures:
    """Each window writes one row when it opens and one when it ends, if more came."""

    _windows: dict[tuple[str, str], _Window] = field(default_factory=dict)

    def heard(self, account: str, address: str, now: float) -> list[Failed]:
        """Count one. Answers the rows that are due."""
        due = self.over(now)
        key = (account, address)
        if key not in self._windows and len(self._windows) >= MOST_OPEN:
            key = (MANY, MANY)
        if (window := self._windows.get(key)) is not None:
            window.uncounted += 1
            return due
        self._windows[key] = _Window(now)
        return [*due, Failed(*key)]

    def over(self, now: float, *, at_end: bool = False) -> list[Failed]:
        """What was counted in windows that have ended, or in all of them."""
        ended = [key for key, each in self._windows.items() if at_end or now - each.began >= WINDOW_SECONDS]
        windows = [(key, self._windows.pop(key)) for key in ended]
        return [Failed(*key, window.uncounted) for key, window in windows if window.uncounted]
