"""What one limited subject has used at this gateway."""

from datetime import datetime
from typing import NamedTuple

from gpustack_lite.calendars import Calendar, calendar_of
from gpustack_lite.gateway.sharing import Count, Others
from gpustack_lite.gateway.windows import Window
from gpustack_lite.wire import Limits


class Rates(NamedTuple):
    """Requests and tokens of the last minute, and requests in flight; tokens include what those may still take."""

    requests: float = 0
    tokens: float = 0
    in_flight: float = 0


NOTHING = Rates()


class Meter:
    __slots__ = ("_calendar", "has_budget", "in_flight", "limits", "requests", "tokens")

    def __init__(self, limits: Limits, elsewhere: Rates) -> None:
        self.requests, self.tokens, self.in_flight = Count(Window()), Count(Window()), Count(None)
        self._calendar: Calendar | None = None
        self.obey(limits)
        self.heed(elsewhere)

    def obey(self, limits: Limits) -> None:
        self.limits = limits
        self.has_budget = limits.tokens_per_day is not None or limits.tokens_per_month is not None

    # --- the minute --------------------------------------------------------------------------------------------------

    def passes(self, now: float, tokens: int, others: Others) -> bool:
        """What wants more tokens than the whole limit waits until nothing else is counted."""
        limits = self.limits
        if (limit := limits.requests_per_minute) is not None and self.requests.room(limit, now, others) < 1:
            return False
        if (limit := limits.tokens_per_minute) is not None:
            amount = tokens if tokens < limit else limit
            if self.tokens.room(limit, now, others) < amount:
                return False
        limit = limits.concurrency
        return limit is None or self.in_flight.room(limit, now, others) >= 1

    def enter(self, now: float, reserved: int) -> None:
        self.requests.window.add(now, 1)  # type: ignore[union-attr]
        self.tokens.held += reserved
        self.in_flight.held += 1

    def leave(self, now: float, reserved: int, tokens: int) -> None:
        self.in_flight.held -= 1
        self.tokens.held -= reserved
        if tokens:
            self.tokens.window.add(now, tokens)  # type: ignore[union-attr]

    # --- the other gateways ------------------------------------------------------------------------------------------

    def tell(self, now: float) -> Rates:
        return Rates(self.requests.tell(now), self.tokens.tell(now), self.in_flight.tell(now))

    def heed(self, elsewhere: Rates) -> None:
        self.requests.heed(elsewhere.requests)
        self.tokens.heed(elsewhere.tokens)
        self.in_flight.heed(elsewhere.in_flight)

    # --- the calendar ------------------------------------------------------------------------------------------------

    def calendar(self, wall: datetime) -> Calendar:
        known = self._calendar
        if known is None or not known.holds(wall, self.limits.timezone):
            known = self._calendar = calendar_of(wall, self.limits.timezone)
        return known
