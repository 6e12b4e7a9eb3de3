"""What one limited subject has used at this gateway."""

from datetime import datetime
from typing import NamedTuple

from gpustack_lite.calendars import Calendar, calendar_of
from gpustack_lite.gateway.sharing import ALONE, Count, Others
from gpustack_lite.gateway.windows import KEPT_SECONDS, Window
from gpustack_lite.wire import Limits


class Rates(NamedTuple):
    """Requests and tokens of the last minute, and requests in flight; tokens include what those may still take."""

    requests: float = 0
    tokens: float = 0
    in_flight: float = 0


NOTHING = Rates()


_NONE = float("inf")
_FORMS = tuple(
    f"x-ratelimit-limit-{each}: %d\r\nx-ratelimit-remaining-{each}: %%d\r\nx-ratelimit-reset-{each}: %%s\r\n"
    for each in ("requests", "tokens")
)
"""As OpenAI writes them; the limit is filled in first."""


class Meter:
    __slots__ = (
        "_asked",
        "_calendar",
        "_forms",
        "_most_at_once",
        "_most_requests",
        "_most_tokens",
        "_used",
        "has_budget",
        "in_flight",
        "limits",
        "requests",
        "tokens",
    )

    def __init__(self, limits: Limits, elsewhere: Rates) -> None:
        self._asked, self._used = Window(), Window()
        self.requests, self.tokens, self.in_flight = Count(self._asked), Count(self._used), Count(None)
        self._calendar: Calendar | None = None
        self.obey(limits)
        self.heed(elsewhere)

    def obey(self, limits: Limits) -> None:
        self.limits = limits
        self.has_budget = limits.tokens_per_day is not None or limits.tokens_per_month is not None
        self._most_requests = _NONE if limits.requests_per_minute is None else limits.requests_per_minute
        self._most_tokens = _NONE if limits.tokens_per_minute is None else limits.tokens_per_minute
        self._most_at_once = _NONE if limits.concurrency is None else limits.concurrency
        each = limits.requests_per_minute, limits.tokens_per_minute
        self._forms = [(form % (limit or 0)).encode() for form, limit in zip(_FORMS, each, strict=True)]

    # --- the minute --------------------------------------------------------------------------------------------------

    def passes(self, now: float, tokens: int, others: Others) -> bool:
        """What wants more tokens than the whole limit waits until nothing else is counted."""
        amount = tokens if tokens < self._most_tokens else self._most_tokens
        if others is ALONE:
            return (
                self._asked.at(now) < self._most_requests
                and self.in_flight.held < self._most_at_once
                and self.tokens.held + self._used.at(now) + amount <= self._most_tokens
            )
        return (
            _has_room(self.requests, self.limits.requests_per_minute, 1, now, others)
            and _has_room(self.in_flight, self.limits.concurrency, 1, now, others)
            and _has_room(self.tokens, self.limits.tokens_per_minute, amount, now, others)
        )

    def enter(self, now: float, reserved: int) -> None:
        self._asked.add(now, 1)
        self.tokens.held += reserved
        self.in_flight.held += 1

    def leave(self, now: float, reserved: int, tokens: int) -> None:
        self.in_flight.held -= 1
        self.tokens.held -= reserved
        if tokens:
            self._used.add(now, tokens)

    def lines(self, now: float, others: Others, *, requests: bool = True, tokens: bool = True) -> bytes:
        """The headers of the limit on requests, and of the one on tokens."""
        lines, limits = b"", self.limits
        if requests and (limit := limits.requests_per_minute) is not None:
            lines = self._forms[0] % (self.requests.remaining(limit, now, others), _DURATIONS[self.requests.reset(now)])
        if tokens and (limit := limits.tokens_per_minute) is not None:
            lines += self._forms[1] % (self.tokens.remaining(limit, now, others), _DURATIONS[self.tokens.reset(now)])
        return lines

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


def _has_room(count: Count, limit: int | None, amount: float, now: float, others: Others) -> bool:
    return limit is None or count.room(limit, now, others) >= amount


def _duration(seconds: int) -> bytes:
    """OpenAI's spelling: 1s, 6m0s."""
    minutes, rest = divmod(seconds, 60)
    return b"%dm%ds" % (minutes, rest) if minutes else b"%ds" % rest


_DURATIONS = tuple(_duration(seconds) for seconds in range(KEPT_SECONDS + 1))
