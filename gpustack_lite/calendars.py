"""The day and the month that a moment lies in, by the calendar of a time zone."""

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo


class Period(NamedTuple):
    """A day or a month of one calendar: its name there, and the moments (UTC) between which it lies."""

    name: str
    begins_at: datetime
    ends_at: datetime


class Calendar(NamedTuple):
    """The day and the month that a moment lies in."""

    zone: ZoneInfo
    day: Period
    month: Period

    def holds(self, wall: datetime, timezone: str) -> bool:
        return self.zone.key == timezone and self.day.begins_at <= wall < self.day.ends_at


def calendar_of(wall: datetime, timezone: str) -> Calendar:
    """A day has 23 to 25 hours where clocks are moved, and begins at its first moment where there is no midnight."""
    zone = ZoneInfo(timezone)
    today = wall.astimezone(zone).date()
    month = today.replace(day=1)
    next_month = (month + timedelta(days=32)).replace(day=1)

    def begin(day: date) -> datetime:
        return datetime.combine(day, time.min, zone).astimezone(UTC)

    return Calendar(
        zone,
        Period(f"{today:%Y-%m-%d}", begin(today), begin(today + timedelta(days=1))),
        Period(f"{today:%Y-%m}", begin(month), begin(next_month)),
    )
