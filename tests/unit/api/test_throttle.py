import pytest

from gpustack_lite.api.throttle import FREE_ATTEMPTS, REMEMBERED, LoginThrottle, pause_seconds


@pytest.mark.parametrize(("count", "seconds"), [(0, 0), (4, 0), (5, 1), (6, 2), (10, 32), (11, 60), (1000, 60)])
def test_the_pause_grows_and_has_an_end(count: int, seconds: float) -> None:
    assert pause_seconds(count) == seconds


def exhausted() -> LoginThrottle:
    throttle = LoginThrottle()
    for _ in range(FREE_ATTEMPTS):
        assert throttle.begin("admin", "1.2.3.4", 0.0) is None
    return throttle


def test_after_the_free_attempts_one_must_wait() -> None:
    throttle = exhausted()
    assert throttle.begin("admin", "1.2.3.4", 0.5) == 1
    assert throttle.begin("admin", "1.2.3.4", 1.0) is None
    assert throttle.begin("admin", "1.2.3.4", 1.5) == 2


def test_an_attempt_that_was_not_let_through_does_not_lengthen_the_pause() -> None:
    throttle = exhausted()
    for _ in range(100):
        throttle.begin("admin", "1.2.3.4", 0.5)
    assert throttle.begin("admin", "1.2.3.4", 1.0) is None


def test_another_address_and_another_account_are_not_held_up() -> None:
    throttle = exhausted()
    assert throttle.begin("admin", "5.6.7.8", 0.0) is None
    assert throttle.begin("other", "1.2.3.4", 0.0) is None


def test_success_forgets_the_failures() -> None:
    throttle = exhausted()
    throttle.succeeded("admin", "1.2.3.4")
    assert throttle.begin("admin", "1.2.3.4", 0.0) is None


def test_time_forgets_the_failures() -> None:
    throttle = exhausted()
    assert throttle.begin("admin", "1.2.3.4", 1000.0) is None
    assert throttle.begin("admin", "1.2.3.4", 1000.0) is None


def test_many_names_do_not_fill_the_memory() -> None:
    throttle = LoginThrottle()
    for number in range(REMEMBERED + 10):
        throttle.begin(f"user-{number}", "1.2.3.4", 0.0)
    assert len(throttle._attempts) == REMEMBERED
