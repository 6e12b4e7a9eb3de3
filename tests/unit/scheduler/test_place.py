"""Where a replica goes."""

import pytest

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, Placement, PlacementWish, Unplaceable
from scheduler import Node, occupied, place, reserve
from tests.unit.scheduler.factories import BINPACK, SPREAD, cards, claim, cpu_claim, device, node


def put(nodes: list[Node], asked: Claim | list[Claim], wish: PlacementWish = SPREAD) -> list[str]:
    match place(nodes, asked if isinstance(asked, list) else [asked], wish):
        case Placement() as placement:
            return list(placement.addresses) or [placement.leader.worker]
        case Unplaceable() as refused:
            return [reason.code for reason in refused.reasons]


@pytest.mark.parametrize(
    ("nodes", "asked", "wish", "where"),
    [
        pytest.param([cards("w1", 9), cards("w2", 4)], claim(8), SPREAD, ["w2:0"], id="spread: the emptiest worker"),
        pytest.param([cards("w1", 9), cards("w2", 4)], claim(8), BINPACK, ["w1:0"], id="binpack: the tightest worker"),
        pytest.param([cards("w1", 20), cards("w2", 4)], claim(8), BINPACK, ["w2:0"], id="binpack: tightest that fits"),
        pytest.param([cards("w2", 0), cards("w1", 0)], claim(8), SPREAD, ["w1:0"], id="ties go by name"),
        pytest.param([cards("w1", 9, 3, 6)], claim(8), SPREAD, ["w1:1"], id="spread: the emptiest device"),
        pytest.param([cards("w1", 3, 9, 6)], claim(8), BINPACK, ["w1:1"], id="binpack: the fullest that fits"),
        pytest.param([cards("w1", 9, 3, 6)], claim(8, 2), SPREAD, ["w1:1", "w1:2"], id="spread: two emptiest"),
        pytest.param([cards("w1", 3, 9, 6)], claim(8, 2), BINPACK, ["w1:1", "w1:2"], id="binpack: two fullest"),
        pytest.param([cards("w1", 0, 0, 0)], claim(8, 2), BINPACK, ["w1:0", "w1:1"], id="ties go by index"),
        pytest.param(
            [cards("w1", 0, 0), cards("w2", 0, 0, 0, 20)], claim(8), BINPACK, ["w2:0"], id="binpack: a worker in use"
        ),
        pytest.param(
            [cards("w1", 0, 0, ram_gib=8), cards("w2", 9, 9)],
            claim(8, ram_gib=16),
            SPREAD,
            ["w2:0"],
            id="RAM decides between workers",
        ),
        pytest.param([node("w1", ram_gib=8), node("w2", ram_gib=64)], cpu_claim(4), SPREAD, ["w2"], id="CPU: emptiest"),
        pytest.param(
            [node("w1", ram_gib=8), node("w2", ram_gib=64)], cpu_claim(4), BINPACK, ["w1"], id="CPU: tightest"
        ),
        pytest.param(
            [node("w1", device(0, "310P", 24), device(1, "910B3", 64), device(2, "910B3", 64))],
            claim(20, 2, "ascend"),
            SPREAD,
            ["w1:1", "w1:2"],
            id="one replica does not mix chips",
        ),
        pytest.param(
            [node("w1", device(0, "910B3", 64), device(1, "310P", 24))],
            claim(20, 1, "ascend"),
            BINPACK,
            ["w1:1"],
            id="binpack: the smaller chip",
        ),
        pytest.param(
            [cards("w1", 20), cards("w2", 0)],
            claim(8),
            PlacementWish(devices=("w1:0",)),
            ["foreign_memory"],
            id="hand-picked devices are refused rather than replaced",
        ),
        pytest.param(
            [cards("w1", 0, 0, 9), cards("w2", 0)],
            claim(8, 2),
            PlacementWish(devices=("w1:2", "w1:0")),
            ["w1:0", "w1:2"],
            id="hand-picked devices are obeyed",
        ),
        pytest.param(
            [node("w1", device(0, "H100"), device(1, "A100"))],
            claim(8, 2),
            PlacementWish(devices=("w1:0", "w1:1")),
            ["w1:0", "w1:1"],
            id="who picks by hand may mix chips",
        ),
        pytest.param(
            [node("w1", device(0, "H100"), device(1, "910B3"))],
            claim(8, 2),
            PlacementWish(devices=("w1:0", "w1:1")),
            ["too_few_devices"],
            id="but not kinds",
        ),
        pytest.param(
            [cards("a:b", 0)], claim(8), PlacementWish(devices=("a:b:0",)), ["a:b:0"], id="a colon in a worker's name"
        ),
        pytest.param(
            [cards("w1", 0, labels={"zone": "a"}), cards("w2", 9, labels={"zone": "b"})],
            claim(8),
            PlacementWish(worker_labels={"zone": "b"}),
            ["w2:0"],
            id="labels",
        ),
        pytest.param([cards("w1", 0)], [claim(8, 2), claim(16)], SPREAD, ["w1:0"], id="the second claim where it fits"),
        pytest.param(
            [cards("w1", 0), cards("w2", 0, 0)],
            [claim(8, 2), claim(16)],
            BINPACK,
            ["w2:0", "w2:1"],
            id="the first claim that fits anywhere wins",
        ),
        pytest.param([], claim(8), SPREAD, ["no_workers"], id="no worker"),
        pytest.param([cards("w1", 0)], [], SPREAD, ["nothing_claimed"], id="no claim"),
    ],
)
def test_place(nodes: list[Node], asked: Claim | list[Claim], wish: PlacementWish, where: list[str]) -> None:
    assert put(nodes, asked, wish) == where
    assert put(nodes[::-1], asked, wish) == where


def test_the_answer_says_which_claim_won() -> None:
    answer = place([cards("w1", 0)], [claim(30), claim(16)], SPREAD)
    assert isinstance(answer, Placement)
    assert answer.claim == claim(16)
    assert len(answer.parts) == 1


def test_a_second_identical_model_does_not_get_the_memory_of_one_that_is_still_loading() -> None:
    """24 GiB, two models of 14 GiB, nothing loaded yet: gpustack#1301."""
    nodes: tuple[Node, ...] = (Node("w1", devices=(device(0, total_gib=24, used_gib=0),)),)
    first = place(nodes, [claim(14)], SPREAD)
    assert isinstance(first, Placement)
    nodes = reserve(nodes, first)
    second = place(nodes, [claim(14)], SPREAD)
    assert isinstance(second, Unplaceable)
    (reason,) = second.reasons
    assert reason.needed_bytes == 14 * GIB
    assert reason.free_bytes == 24 * GIB - 24 * GIB // 50 - 14 * GIB


def test_reserve_holds_devices_and_ram_and_leaves_other_nodes_alone() -> None:
    nodes = (cards("w1", 0), cards("w2", 0))
    answer = place(nodes, [claim(14, ram_gib=2)], SPREAD)
    assert isinstance(answer, Placement)
    after = reserve(nodes, answer)
    assert (after[0].claimed, after[0].ram_claimed_bytes) == ({0: 14 * GIB}, 2 * GIB)
    assert after[1] is nodes[1]


def test_an_ascend_chip_is_whole_after_reserve() -> None:
    nodes: tuple[Node, ...] = (cards("w1", 0, 0, total_gib=64, chip="910B3"),)
    for expected in ("w1:0", "w1:1"):
        answer = place(nodes, [claim(16, kind="ascend")], BINPACK)
        assert isinstance(answer, Placement)
        assert answer.addresses == (expected,)
        nodes = reserve(nodes, answer)
    assert put(list(nodes), claim(16, kind="ascend")) == ["chips_taken"]


def test_replicas_of_one_round_spread_over_workers() -> None:
    nodes: tuple[Node, ...] = tuple(cards(f"w{i}", 0, 0) for i in range(3))
    taken = []
    for _ in range(4):
        answer = place(nodes, [claim(14)], SPREAD)
        assert isinstance(answer, Placement)
        taken += answer.addresses
        nodes = reserve(nodes, answer)
    assert taken == ["w0:0", "w1:0", "w2:0", "w0:1"]


def test_a_claim_given_back_is_free_again() -> None:
    empty = cards("w1", 0)
    assert put([occupied(empty, [((0,), claim(14))])], claim(14)) == ["not_enough_device_memory"]
    assert put([empty], claim(14)) == ["w1:0"]
