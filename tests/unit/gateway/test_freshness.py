import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.freshness import Freshness
from tests.fakes.clock import ManualClock


def test_before_the_first_word_of_the_server_there_is_nothing_to_serve_from() -> None:
    with pytest.raises(Refusal, match="routes_missing"):
        Freshness(ManualClock().monotonic, 60).check()


def test_what_was_confirmed_is_good_for_as_long_as_the_setting_says() -> None:
    clock = ManualClock()
    freshness = Freshness(clock.monotonic, 60)
    freshness.confirm()
    clock.advance(60)
    freshness.check()
    clock.advance(0.1)
    with pytest.raises(Refusal, match="routes_stale") as refused:
        freshness.check()
    assert refused.value.status == 503
    freshness.confirm()
    freshness.check()


def test_what_comes_from_disk_has_its_age_already() -> None:
    clock = ManualClock()
    freshness = Freshness(clock.monotonic, 60)
    freshness.confirm(age_seconds=50)
    clock.advance(11)
    with pytest.raises(Refusal, match="routes_stale"):
        freshness.check()
