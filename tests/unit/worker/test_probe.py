"""How long an engine may take to start, as arithmetic."""

import pytest

from gpustack_lite.domain import HttpProbe
from worker.probe import LONGEST_START_SECONDS, Readings, StartDeadline, budget_seconds, has_progress, interval_seconds

MIB = 1024**2


def deadline(bytes_to_read: int | None = None) -> StartDeadline:
    return StartDeadline.of(1000.0, HttpProbe("/health", 60.0), bytes_to_read)


@pytest.mark.parametrize(
    ("bytes_to_read", "seconds"),
    [
        pytest.param(None, 60.0, id="unknown size gives the base"),
        pytest.param(0, 60.0, id="nothing to read"),
        pytest.param(140_000_000_000, 7060.0, id="140 GB at 20 MB/s take two hours more"),
    ],
)
def test_the_budget_grows_with_the_bytes(bytes_to_read: int | None, seconds: float) -> None:
    assert budget_seconds(60.0, bytes_to_read) == seconds


def test_without_progress_the_deadline_stands() -> None:
    silent = deadline().noted(1059.0, Readings(), is_answering=False)
    assert not silent.is_over(1059.9)
    assert silent.is_over(1060.0)


@pytest.mark.parametrize(
    "readings",
    [
        pytest.param(Readings(log_bytes=1), id="its log grew"),
        pytest.param(Readings(read_bytes=MIB), id="it read"),
        pytest.param(Readings(rss_bytes=MIB), id="it holds more memory"),
    ],
)
def test_progress_extends_the_deadline_by_its_base(readings: Readings) -> None:
    extended = deadline().noted(1050.0, readings, is_answering=False)
    assert extended.expires_at == 1110.0


def test_the_same_reading_twice_is_no_progress() -> None:
    once = deadline().noted(1050.0, Readings(rss_bytes=MIB), is_answering=False)
    assert once.noted(1100.0, Readings(rss_bytes=MIB), is_answering=False) == once


def test_memory_that_goes_up_and_down_is_no_progress() -> None:
    high = deadline().noted(1010.0, Readings(rss_bytes=10 * MIB), is_answering=False)
    low = high.noted(1020.0, Readings(rss_bytes=2 * MIB), is_answering=False)
    assert low.noted(1030.0, Readings(rss_bytes=9 * MIB), is_answering=False).expires_at == high.expires_at


def test_a_log_that_only_notes_our_own_questions_is_no_progress() -> None:
    assert not has_progress(Readings(log_bytes=10), Readings(log_bytes=900), is_answering=True)
    assert has_progress(Readings(log_bytes=10), Readings(log_bytes=900), is_answering=False)


def test_progress_does_not_extend_for_ever() -> None:
    last = 1000.0 + LONGEST_START_SECONDS
    chatty = deadline().noted(last - 1, Readings(log_bytes=5), is_answering=False)
    assert chatty.expires_at == last


def test_progress_never_shortens_a_long_budget() -> None:
    large = deadline(bytes_to_read=140_000_000_000)
    assert large.noted(1001.0, Readings(log_bytes=5), is_answering=False).expires_at == large.expires_at


def test_questions_come_quickly_at_first() -> None:
    assert interval_seconds(0.0) == 0.05
    assert interval_seconds(60.0) == 0.25
