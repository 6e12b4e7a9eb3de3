"""A minute that slides, in slots of a second."""

from collections import deque

MINUTE_SECONDS = 60
KEPT_SECONDS = MINUTE_SECONDS + 1
"""An amount counts for 60 to 61 seconds: slots are whole seconds, and no minute may hold more than its limit."""


_NEVER = float("inf")


class Window:
    """Amounts of the last minute. `now` is monotonic and never goes back."""

    __slots__ = ("_changes_at", "_newest", "_slots", "_total")

    def __init__(self) -> None:
        self._slots: deque[list[int]] = deque()
        self._total = 0
        self._newest: list[int] = [-KEPT_SECONDS, 0]
        self._changes_at = _NEVER
        """When the oldest slot leaves."""

    def at(self, now: float) -> int:
        """What counts at this moment."""
        if now >= self._changes_at:
            self._let_go(int(now) - MINUTE_SECONDS)
        return self._total

    def _let_go(self, oldest: int) -> None:
        slots = self._slots
        while slots and slots[0][0] < oldest:
            self._total -= slots.popleft()[1]
        self._changes_at = slots[0][0] + KEPT_SECONDS if slots else _NEVER

    def add(self, now: float, amount: int) -> None:
        newest = self._newest
        if newest[0] == int(now):
            newest[1] += amount
        else:
            self._newest = [int(now), amount]
            self._slots.append(self._newest)
            self._changes_at = self._slots[0][0] + KEPT_SECONDS
        self._total += amount

    def seconds_until_free(self, now: float, amount: int) -> float:
        """Until so much of what counts has left, or all of it."""
        freed, wait = 0, 0.0
        for slot, used in self._slots:
            if freed >= amount:
                break
            freed += used
            wait = slot + KEPT_SECONDS - now
        return max(0.0, wait)

    def seconds_until_empty(self, now: float) -> int:
        """Whole ones, the last of them begun."""
        left = self._newest[0] + KEPT_SECONDS - int(now)
        return left if left > 0 else 0
