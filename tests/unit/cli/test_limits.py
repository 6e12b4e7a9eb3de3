from typing import Any

import pytest

from gpustack_lite.cli.limits import limits_of

NOTHING: dict[str, Any] = dict.fromkeys(("rpm", "tpm", "concurrency", "tokens_per_day", "tokens_per_month", "timezone"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"rpm": 60, "timezone": "UTC"}, {"requests_per_minute": 60, "timezone": "UTC"}, id="what is given"
        ),
        pytest.param({"tpm": 0, "concurrency": 1}, {"tokens_per_minute": None, "concurrency": 1}, id="0 takes it away"),
        pytest.param({"tokens_per_day": 5}, {"tokens_per_day": 5}, id="a budget"),
    ],
)
def test_the_options_make_a_merge_patch(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert limits_of(**(NOTHING | given)) == expected
