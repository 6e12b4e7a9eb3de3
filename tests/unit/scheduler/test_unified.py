"""A device whose memory is the machine's RAM (case C03, a GB10 in 121 GiB): both claims come out of one pool."""

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Placement, Unplaceable
from scheduler import Node, occupied, place
from tests.unit.scheduler.factories import SPREAD, claim, cpu_claim, device, node

RAM_GIB = 121


def gb10() -> Node:
    return node("w1", device(0, "GB10", RAM_GIB, 0, unified_memory=True), ram_gib=RAM_GIB)


def test_a_model_of_100_gib_leaves_less_than_22_gib_of_ram_for_others() -> None:
    placed = place([gb10()], [claim(100)], SPREAD)
    assert isinstance(placed, Placement)
    taken = occupied(gb10(), [(placed.leader.devices, claim(100))])
    assert taken.free_ram_bytes is not None
    assert taken.free_ram_bytes < 22 * GIB
    assert isinstance(place([taken], [cpu_claim(22)], SPREAD), Unplaceable)
    assert isinstance(place([taken], [cpu_claim(20)], SPREAD), Placement)


def test_ram_that_is_taken_is_missing_on_the_device() -> None:
    taken = occupied(gb10(), [((), cpu_claim(60))])
    assert isinstance(place([taken], [claim(100)], SPREAD), Unplaceable)
    assert isinstance(place([taken], [claim(40)], SPREAD), Placement)
