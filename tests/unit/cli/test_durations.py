import pytest

from gpustack_lite.cli.durations import seconds
from gpustack_lite.errors import Refusal


@pytest.mark.parametrize(
    ("given", "expected"), [("90", 90), ("90s", 90), ("1.5m", 90), ("12h", 43200), (" 2d ", 172800), ("0", 0)]
)
def test_a_time_is_read_as_people_write_it(given: str, expected: float) -> None:
    assert seconds(given) == expected


@pytest.mark.parametrize("given", ["", "-1h", "12 h", "h", "1w", "1h30m"])
def test_what_is_no_time_is_refused(given: str) -> None:
    with pytest.raises(Refusal) as refused:
        seconds(given)
    assert refused.value.code == "duration_not_understood"
