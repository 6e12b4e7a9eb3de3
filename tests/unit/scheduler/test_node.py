"""What is free on a worker."""

import pytest

from gpustack_lite.chips import GIB
from scheduler import Node, occupied
from tests.unit.scheduler.factories import cards, claim, cpu_claim, device, node


def free_gib(seen: Node) -> list[float | None]:
    return [
        None if space.free_bytes is None else space.free_bytes / GIB for pool in seen.pools for space in pool.spaces
    ]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cards("w", 0), [24], id="an empty device is free"),
        pytest.param(cards("w", 5), [19], id="what others use is not free"),
        pytest.param(cards("w", 0, claimed={0: 14 * GIB}), [10], id="a claim counts before it is used"),
        pytest.param(cards("w", 14, claimed={0: 14 * GIB}), [10], id="a claim that is filled counts once"),
        pytest.param(cards("w", 20, claimed={0: 14 * GIB}), [4], id="use beyond the claims is foreign"),
        pytest.param(
            cards("w", 14, claimed={0: 14 * GIB}, foreign={0: 3 * GIB}), [7], id="foreign use that is known is taken"
        ),
        pytest.param(cards("w", 0, device_reserve_bytes=4 * GIB), [20], id="the reserve given"),
        pytest.param(node("w", device(0, total_gib=None)), [None], id="an unknown total is unknown"),
        pytest.param(node("w", device(0, used_gib=None)), [None], id="an unknown use is unknown"),
    ],
)
def test_free_memory_of_a_device(seen: Node, expected: list[float | None]) -> None:
    assert free_gib(seen) == expected


def test_two_percent_are_kept_in_reserve_by_default() -> None:
    seen = Node("w", devices=(device(0, total_gib=50),))
    assert free_gib(seen) == [49]


def test_devices_of_one_chip_form_a_pool() -> None:
    seen = node("w", device(2, "910B3", 64), device(0, "910B3", 64), device(1, "310P", 24))
    assert [[space.device for space in pool.spaces] for pool in seen.pools] == [[1], [0, 2]]


@pytest.mark.parametrize("foreign", [pytest.param(2 * GIB, id="known"), pytest.param(None, id="unknown")])
def test_free_ram(foreign: int | None) -> None:
    seen = node("w", ram_gib=64, ram_reserve_bytes=GIB, ram_claimed_bytes=10 * GIB, ram_foreign_bytes=foreign)
    assert seen.free_ram_bytes == (None if foreign is None else 51 * GIB)


def test_occupied_adds_up_and_closes_whole_chips_even_for_a_claim_of_no_bytes() -> None:
    seen = occupied(
        node("w", device(0, "910B3", 64), device(1, "910B3", 64), device(2, "H100")),
        [((0,), claim(0, kind="ascend")), ((2,), claim(6)), ((2,), claim(5, ram_gib=1)), ((), cpu_claim(3))],
    )
    assert (seen.claimed, seen.exclusive, seen.ram_claimed_bytes) == ({0: 0, 2: 11 * GIB}, {0}, 4 * GIB)
