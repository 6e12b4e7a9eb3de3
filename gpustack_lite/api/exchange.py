"""What the gateways tell each other through the server, and what it tells them of budgets: kept in memory only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpustack_lite.calendars import Calendar, calendar_of
from gpustack_lite.wire import Limits, RoutesReply

IN_FLIGHT_SECONDS = 5.0
"""A gateway that is silent for longer has no requests in flight any more."""
MINUTE_SECONDS = 60.0
"""What it admitted counts for its minute, so that a gateway that is started anew gives nobody a second one."""
Rates = tuple[float, float, int]


@dataclass(slots=True)
class Exchange:
    _said: dict[str, tuple[float, Mapping[str, Rates]]] = field(default_factory=dict)
    _known: tuple[int, int, int] | None = None
    _budgets: dict[str, str] = field(default_factory=dict)

    def heard(self, gateway_id: str, rates: Mapping[str, Rates], now: float) -> None:
        self._said = {name: said for name, said in self._said.items() if now - said[0] < MINUTE_SECONDS}
        self._said[gateway_id] = now, rates

    def elsewhere(self, gateway_id: str, now: float) -> dict[str, Rates]:
        """The sums of all others."""
        sums: dict[str, Rates] = {}
        for name, (at, rates) in self._said.items():
            if name == gateway_id or now - at >= MINUTE_SECONDS:
                continue
            is_alive = now - at < IN_FLIGHT_SECONDS
            for subject, (requests, tokens, in_flight) in rates.items():
                before = sums.get(subject, (0.0, 0.0, 0))
                here = in_flight if is_alive else 0
                sums[subject] = before[0] + requests, before[1] + tokens, before[2] + here
        return sums

    def calendars(self, published: RoutesReply | None, wall: datetime) -> dict[str, Calendar]:
        """Of each subject with a budget the present day and month."""
        if published is None:
            return {}
        revisions = published.epoch, published.models_revision, published.credentials_revision
        if revisions != self._known:
            self._known, self._budgets = revisions, dict(_budgets(published))
        known = {zone: calendar_of(wall, zone) for zone in set(self._budgets.values())}
        return {subject: known[zone] for subject, zone in self._budgets.items()}


def _budgets(published: RoutesReply) -> Iterator[tuple[str, str]]:
    """Subject and time zone."""
    for subject, limits in _limited(published):
        if limits is not None and (limits.tokens_per_day is not None or limits.tokens_per_month is not None):
            yield subject, limits.timezone


def _limited(published: RoutesReply) -> Iterator[tuple[str, Limits | None]]:
    for credential in published.credentials or ():
        yield f"key:{credential.id}", credential.limits
        yield f"user:{credential.user_id}", credential.user_limits
    for model in published.models or ():
        yield f"model:{model.name}", model.serving.limits
