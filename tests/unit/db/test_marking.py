"""Cordons and faults go with the card."""

from gpustack_lite.db import marking
from tests.fakes.rows import a_device

NOTED = {"cordoned": True, "cordoned_by": "ann", "cordon_note": "fan"}


def test_a_cordon_follows_the_serial_to_another_index() -> None:
    before = [a_device(0, serial="A", **NOTED), a_device(1, serial="B")]
    marks = marking.of_rows(before)
    after = [a_device(0, serial="B", **NOTED), a_device(1, serial="A")]
    assert marking.put_on(after, marks) == {}
    assert [(each.cordoned, each.cordon_note) for each in after] == [(False, None), (True, "fan")]


def test_a_card_that_is_away_is_remembered_until_it_is_back() -> None:
    away = marking.put_on([], marking.of_rows([a_device(3, serial="A", **NOTED)]))
    assert set(away) == {"A"}
    back = a_device(5, serial="A")
    assert marking.put_on([back], away) == {}
    assert back.cordoned_by == "ann"


def test_another_card_in_its_place_is_clean() -> None:
    there = a_device(0, serial="NEW", **NOTED)
    assert set(marking.put_on([there], marking.of_rows([a_device(0, serial="A", **NOTED)]))) == {"A"}
    assert not there.cordoned


def test_a_device_without_a_serial_is_known_by_its_number() -> None:
    there = a_device(0)
    marking.put_on([there], marking.of_rows([a_device(0, standing={"since": "2026-11-30T12:00:00Z"})]))
    assert there.is_isolated
