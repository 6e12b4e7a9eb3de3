from gpustack_lite.cli.serving import serving_of


def test_what_is_not_given_is_left_out() -> None:
    given = {"queue_length": None, "affinity": False, "queue_seconds": 2.5}
    assert serving_of(given, [], [], is_patch=False) == {"affinity": False, "queue_seconds": 2.5}


def test_sleep_after_no_time_at_all_means_never() -> None:
    assert serving_of({"sleep_after_seconds": 0}, [], [], is_patch=True) == {"sleep_after_seconds": None}
    assert serving_of({"sleep_after_seconds": 0}, [], [], is_patch=False) == {}


def test_limits_and_weights_are_numbers_and_null_takes_one_away() -> None:
    said = serving_of({}, ["concurrency=4", "tokens_per_day=null"], ["w1=0.5"], is_patch=True)
    assert said == {"limits": {"concurrency": 4, "tokens_per_day": None}, "weights": {"w1": 0.5}}
