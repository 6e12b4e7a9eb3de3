import pytest

from gpustack_lite.gateway.windows import Window


@pytest.mark.parametrize(("later", "counts"), [(0, 3), (59.9, 3), (60.2, 3), (60.3, 0)])
def test_an_amount_counts_for_a_minute_and_the_rest_of_its_second(later: float, counts: int) -> None:
    window = Window()
    window.add(1000.7, 3)
    assert window.at(1000.7 + later) == counts


def test_the_wait_is_until_enough_of_the_oldest_has_left() -> None:
    window = Window()
    window.add(1000.5, 3)
    window.add(1000.9, 1)
    window.add(1010.0, 2)
    assert [window.seconds_until_free(1011.0, amount) for amount in (0, 1, 4, 5, 99)] == [0, 50, 50, 60, 60]
