from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.calendars import calendar_of

ZONES = ("UTC", "Europe/Berlin", "Asia/Shanghai", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe")


@pytest.mark.parametrize(
    ("wall", "timezone", "day", "hours"),
    [
        pytest.param("2026-11-30T16:00:00", "Asia/Shanghai", "2026-12-01", 24, id="Shanghai is eight hours ahead"),
        pytest.param("2026-03-29T12:00:00", "Europe/Berlin", "2026-03-29", 23, id="the day without an hour"),
        pytest.param("2026-10-25T12:00:00", "Europe/Berlin", "2026-10-25", 25, id="the day with an hour twice"),
        pytest.param("2026-10-24T22:00:00", "Europe/Berlin", "2026-10-25", 25, id="its first moment"),
        pytest.param("2026-10-25T22:59:59", "Europe/Berlin", "2026-10-25", 25, id="its last second"),
        pytest.param("2026-12-31T23:00:00", "Europe/Berlin", "2027-01-01", 24, id="the year turns early"),
    ],
)
def test_a_day_is_that_of_its_zone(wall: str, timezone: str, day: str, hours: int) -> None:
    now = datetime.fromisoformat(wall).replace(tzinfo=UTC)
    calendar = calendar_of(now, timezone)
    assert (calendar.day.name, calendar.month.name) == (day, day[:7])
    assert calendar.day.ends_at - calendar.day.begins_at == timedelta(hours=hours)
    assert calendar.day.begins_at <= now < calendar.day.ends_at
    assert calendar.holds(now, timezone)
    assert not calendar.holds(now, "UTC")
    assert not calendar.holds(calendar.day.ends_at, timezone)


@given(st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)), st.sampled_from(ZONES))
def test_days_and_months_follow_each_other_without_a_gap(moment: datetime, timezone: str) -> None:
    now = moment.replace(tzinfo=UTC)
    today = calendar_of(now, timezone)
    assert today.day.begins_at <= now < today.day.ends_at
    assert today.month.begins_at <= today.day.begins_at < today.day.ends_at <= today.month.ends_at
    tomorrow = calendar_of(today.day.ends_at, timezone)
    assert tomorrow.day.begins_at == today.day.ends_at
    assert calendar_of(today.month.ends_at, timezone).month.begins_at == today.month.ends_at
    assert int(today.day.begins_at.timestamp()) % 900 == 0
