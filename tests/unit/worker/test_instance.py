"""The pauses between attempts."""

import pytest

from worker.instance import backoff_seconds


@pytest.mark.parametrize(("failures", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 300), (1000, 300)])
def test_the_pause_doubles_up_to_five_minutes(failures: int, seconds: float) -> None:
    assert backoff_seconds(5.0, failures) == seconds
