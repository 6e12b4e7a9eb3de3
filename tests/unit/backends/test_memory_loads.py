"""Our arithmetic against loads that were really done (`python -m benchmarks.memory --loads` recorded them)."""

from benchmarks.memory import rows
from benchmarks.memory_loads import Row, recorded

ROWS = recorded()
LLAMA = [each for each in ROWS if each.load.engine == "llama_cpp"]


def test_there_are_loads_enough_to_speak_of_a_distribution() -> None:
    assert len(LLAMA) >= 30


def test_nine_of_ten_are_within_a_tenth_and_none_is_more_than_three_percent_too_low() -> None:
    near = [each for each in LLAMA if abs(each.before) <= 0.10]
    assert len(near) >= 0.9 * len(LLAMA), [each.load for each in LLAMA if each not in near]
    assert min(each.before for each in LLAMA) >= -0.03


def test_nine_of_ten_totals_are_within_a_tenth_with_those_of_public_logs() -> None:
    errors = [each.before for each in ROWS] + [row.error for row in rows() if row.what in {"taken", "buffers"}]
    assert sum(abs(each) <= 0.10 for each in errors) >= 0.9 * len(errors)


def test_after_learning_none_is_too_low() -> None:
    low: list[Row] = [each for each in ROWS if each.after < 0]
    assert low == []


def test_the_buffers_that_llama_cpp_prints_are_reckoned_to_the_mebibyte() -> None:
    cache = [each.load for each in LLAMA if abs(each.cache_error_bytes) > 2**20]
    compute = [each.load for each in LLAMA if abs(each.compute_error_bytes) > 2.5 * 2**20]
    assert (cache, compute) == ([], [])
