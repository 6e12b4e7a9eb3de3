"""Rates and times that are left out until they are known."""

from worker.downloads.pace import Pace


def test_nothing_is_said_in_the_first_moments() -> None:
    pace = Pace()
    pace.note(100.0, 500)
    pace.note(101.0, 1500)
    assert (pace.per_second(101.0), pace.eta_seconds(101.0, 10)) == (None, None)


def test_bytes_that_lay_there_are_no_speed() -> None:
    pace = Pace()
    pace.note(100.0, 5000)
    pace.note(104.0, 5400)
    assert (pace.per_second(104.0), pace.eta_seconds(104.0, 1000)) == (100.0, 10.0)


def test_the_last_seconds_count() -> None:
    pace = Pace()
    for second in range(60):
        pace.note(float(second), second * 10 if second < 40 else 400 + (second - 40) * 100)
    assert pace.per_second(59.0) == 100.0


def test_a_download_that_stands_still_has_no_end() -> None:
    pace = Pace()
    pace.note(0.0, 100)
    pace.note(5.0, 100)
    assert pace.eta_seconds(5.0, 10) is None


def test_a_file_that_was_begun_anew_begins_the_measuring_anew() -> None:
    pace = Pace()
    pace.note(0.0, 1000)
    pace.note(5.0, 0)
    assert pace.per_second(5.0) is None
