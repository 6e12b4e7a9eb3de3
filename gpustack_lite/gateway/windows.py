"""A minute that slides, in slots of a second."""

from collections import deque

MINUTE_SECONDS = 60
KEPT_SECONDS = MINUTE_SECONDS + 1
"""An amount counts for 60 to 61 seconds: slots are whole seconds, and no minute may hold more than its limit."""


class Window:
    """Amounts of the last minute. `now` is monotonic and never goes back."""

    __slots__ = ("_slots", "_total")

    def __init__(self) -> None:
        self._slots: deque[list[int]] = deque()
        self._total = 0

    def at(self, now: float) -> int:
        """What counts at this moment."""
        slots, oldest = self._slots, int(now) - MINUTE_SECONDS
        while slots and slots[0][0] < oldest:
            self._total -= slots.popleft()[1]
        return self._total

    def add(self, now: float, amount: int) -> None:
        slot, slots = int(now), self._slots
        if slots and slots[-1][0] == slot:
            slots[-1][1] += amount
        else:
            slots.append([slot, amount])
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

    def seconds_until_empty(self, now: float) -> float:
        return max(0.0, self._slots[-1][0] + KEPT_SECONDS - now) if self._slots else 0.0
