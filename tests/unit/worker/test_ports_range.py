"""Which port an engine gets."""

import pytest

from gpustack_lite.errors import Refusal
from worker.ports_range import PortRange, overlap, parse_range


def test_taken_ports_are_passed_over() -> None:
    ports = PortRange(range(21000, 21010), lambda port: port not in {21000, 21001, 21002})
    assert [ports.take(), ports.take()] == [21003, 21004]


def test_a_port_goes_round_before_it_is_used_again() -> None:
    ports = PortRange(range(21000, 21003), lambda port: True)
    first = ports.take()
    ports.give_back(first)
    assert [ports.take(), ports.take(), ports.take()] == [21001, 21002, 21000]


def test_a_port_of_a_living_engine_is_never_given_even_if_it_could_be_bound() -> None:
    ports = PortRange(range(21000, 21002), lambda port: True)
    ports.keep([21000])
    assert ports.take() == 21001
    with pytest.raises(Refusal) as caught:
        ports.take()
    assert caught.value.code == "no_free_engine_port"
    assert caught.value.params == {"first": 21000, "last": 21001}


@pytest.mark.parametrize("text", ["", "21000", "21999-21000", "80-90", "21000-70000", "a-b", "21000-21999x"])
def test_a_bad_range_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_range(text)
    assert caught.value.code == "bad_engine_ports"


def test_a_good_range_includes_both_ends() -> None:
    assert parse_range("21000-21999") == range(21000, 22000)


@pytest.mark.parametrize(
    ("ephemeral", "both"),
    [
        pytest.param("32768\t60999\n", None, id="the usual range of Linux"),
        pytest.param("1024 65535", (21000, 21999), id="all of ours"),
        pytest.param("21990 60999", (21990, 21999), id="the end of ours"),
    ],
)
def test_the_overlap_with_outgoing_connections(ephemeral: str, both: tuple[int, int] | None) -> None:
    assert overlap(range(21000, 22000), ephemeral) == both


def test_an_engine_of_several_ports_gets_all_of_them_or_none() -> None:
    ports = PortRange(range(21000, 21005), lambda port: True)
    assert ports.take_several(3) == (21000, 21001, 21002)
    with pytest.raises(Refusal):
        ports.take_several(3)
    assert ports.take_several(2) == (21003, 21004)
