"""Which moves make room, told of two or three workers with cards of 24 GiB."""

import random

import pytest

from gpustack_lite.chips import GIB
from gpustack_lite.domain import PlacementWish
from scheduler import About, Holding, Movable, Moves, Node, Question, moves_for
from tests.unit.scheduler.factories import cards, claim

BIG = About("big")


def held(id: int, worker: str, gib: int, *devices: int) -> Holding:
    return Holding(id, f"{id} (m{id})", worker, devices or (0,), claim(gib, len(devices or (0,))), f"m{id}")


def asked(gib: int, workers: tuple[Node, ...], *holdings: Holding, count: int = 1) -> Question:
    return Question(workers, (claim(gib, count),), holdings=holdings, about=BIG)


def movable(each: Holding, **wish: object) -> Movable:
    return Movable(each, (each.claim,), PlacementWish(**wish), about=About(each.model))  # type: ignore[arg-type]


def moves_of(question: Question, **wishes: dict[str, object]) -> Moves | None:
    return moves_for(question, {each.id: movable(each, **wishes.get(f"i{each.id}", {})) for each in question.holdings})


def told(found: Moves | None) -> list[str]:
    """ "1: w1 -> w2:0", with an exclamation mark where it has to stop first."""
    assert found is not None
    return [
        f"{each.holding.id}: {each.holding.worker} -> {', '.join(each.target.addresses)}{'!' * each.stops_first}"
        for each in found.moves
    ]


TWO = (cards("w1", 0), cards("w2", 0))


def test_a_fragmented_cluster_is_put_together() -> None:
    """10 GiB on each of two cards: 20 GiB fit nowhere until both are on one."""
    question = asked(20, TWO, held(1, "w1", 10), held(2, "w2", 10))
    assert told(moves_of(question)) == ["1: w1 -> w2:0"]


def test_where_it_fits_already_nothing_moves() -> None:
    assert told(moves_of(asked(20, TWO, held(1, "w1", 10)))) == []


def test_one_move_goes_before_two() -> None:
    holdings = held(1, "w1", 5), held(2, "w1", 5), held(3, "w2", 9), held(4, "w3", 10)
    question = asked(20, (*TWO, cards("w3", 0)), *holdings)
    assert told(moves_of(question)) == ["3: w2 -> w1:0"]


def test_two_move_where_one_does_not_suffice() -> None:
    question = asked(22, (cards("w1", 0), cards("w2", 0)), held(1, "w1", 4), held(2, "w1", 5), held(3, "w2", 12))
    assert told(moves_of(question, i3={"devices": ("w2:0",)})) == ["1: w1 -> w2:0", "2: w1 -> w2:0"]


def test_it_may_move_on_its_own_worker() -> None:
    question = asked(20, (cards("w1", 0, 0),), held(1, "w1", 10, 0), held(2, "w1", 10, 1))
    assert told(moves_of(question)) == ["1: w1 -> w1:1"]


def test_one_that_finds_no_place_beside_itself_stops_first() -> None:
    """14 GiB on cards 0 and 1 would do on 1 and 2 as well; 5 GiB on card 2 were put there by hand."""
    question = asked(20, (cards("w1", 0, 0, 0),), held(1, "w1", 14, 0, 1), held(2, "w1", 5, 2))
    assert told(moves_of(question, i2={"devices": ("w1:2",)})) == ["1: w1 -> w1:1, w1:2!"]


def test_none_helps_where_there_is_not_enough_in_all() -> None:
    assert moves_of(asked(20, TWO, held(1, "w1", 15), held(2, "w2", 15))) is None


def test_who_was_put_there_by_hand_stays() -> None:
    question = asked(20, TWO, held(1, "w1", 10), held(2, "w2", 10))
    assert told(moves_of(question, i1={"devices": ("w1:0",)})) == ["2: w2 -> w1:0"]
    assert moves_for(question, {}) is None


@pytest.mark.parametrize("seed", range(80))
def test_each_move_finds_its_place_free_and_at_the_end_the_claim_fits(seed: int) -> None:
    """Carried out by hand, with an arithmetic of its own: no card holds more than it has, at any moment."""
    chance = random.Random(seed)
    workers = tuple(cards(f"w{i}", *[0] * chance.randint(1, 2)) for i in range(chance.randint(2, 4)))
    free = {(node.name, device.index): 24 for node in workers for device in node.devices}
    holdings = []
    for id in range(1, chance.randint(2, 9)):
        place_, gib = chance.choice(sorted(free)), chance.randint(2, 14)
        if free[place_] >= gib:
            free[place_] -= gib
            holdings.append(held(id, place_[0], gib, place_[1]))
    found = moves_of(asked(20, workers, *holdings))
    if found is None:
        return
    for move in found.moves:
        gib = move.holding.claim.bytes_per_device // GIB
        old = move.holding.worker, move.holding.devices[0]
        new = move.target.leader.worker, move.target.leader.devices[0]
        if move.stops_first:
            free[old] += gib
        assert free[new] >= gib
        free[new] -= gib
        free[old] += 0 if move.stops_first else gib
    target = found.placement.leader
    assert free[target.worker, target.devices[0]] >= 20
