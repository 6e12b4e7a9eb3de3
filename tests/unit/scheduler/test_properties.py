"""What holds for every snapshot."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, Device, Placement, PlacementWish, Unplaceable
from scheduler import Node, occupied, place, reserve
from tests.unit.scheduler.factories import device

CHIPS = ("910B3", "310P", "H100", "MI300")
gib = st.integers(0, 70)


@st.composite
def devices(draw: st.DrawFn, index: int) -> Device:
    return device(
        index,
        draw(st.sampled_from(CHIPS)),
        draw(st.sampled_from([24, 32, 64, None])),
        draw(st.one_of(st.integers(0, 30), st.none())),
        health=draw(st.sampled_from(["ok", "ok", "ok", "warning", "unknown", "alarm", "critical"])),
        schedulable=draw(st.integers(0, 9)) > 0,
    )


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    count = draw(st.integers(0, 4))
    kinds = draw(st.sampled_from([frozenset({"ascend"}), frozenset({"cuda"}), frozenset({"cuda", "rocm"})]))
    return Claim(count, draw(gib) * GIB if count else 0, draw(gib) * GIB, kinds)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    there = tuple(draw(devices(i)) for i in range(draw(st.integers(0, 4))))
    bare = Node(
        name,
        alive=draw(st.integers(0, 9)) > 0,
        labels=draw(st.sampled_from([{}, {"zone": "a"}, {"zone": "b"}])),
        devices=there,
        ram_total_bytes=draw(st.sampled_from([None, 16 * GIB, 128 * GIB])),
        ram_reserve_bytes=draw(st.sampled_from([0, GIB])),
        ram_foreign_bytes=draw(st.sampled_from([0, 2 * GIB, None])),
    )
    held = [((each.index,), Claim(1, GIB)) for each in there if draw(st.integers(0, 4)) == 0]
    return occupied(bare, held)


@st.composite
def clusters(draw: st.DrawFn) -> list[Node]:
    return [draw(nodes(f"w{i}")) for i in range(draw(st.integers(0, 4)))]


wishes = st.builds(
    PlacementWish,
    strategy=st.sampled_from(["spread", "binpack"]),
    worker_labels=st.sampled_from([{}, {}, {"zone": "a"}]),
    devices=st.sampled_from([(), (), (), ("w0:0",), ("w0:0", "w0:1"), ("w1:3", "w2:0"), ("w9:1",)]),
)


def device_fits(each: Device, claimed: int) -> bool:
    """From first principles, without the arithmetic of the code under test."""
    if each.memory_total_bytes is None or each.memory_used_bytes is None:
        return False
    foreign = max(0, each.memory_used_bytes - claimed)
    return claimed + foreign <= each.memory_total_bytes * 0.98 + 1


def ram_fits(node: Node) -> bool:
    if node.ram_total_bytes is None or node.ram_foreign_bytes is None:
        return False
    return node.ram_claimed_bytes <= node.ram_total_bytes - node.ram_reserve_bytes - node.ram_foreign_bytes


@given(cluster=clusters(), asked=st.lists(claims(), min_size=1, max_size=3), wish=wishes)
@settings(max_examples=300, deadline=None)
def test_placing_until_nothing_fits_never_overcommits(
    cluster: list[Node], asked: list[Claim], wish: PlacementWish
) -> None:
    snapshot = tuple(cluster)
    for _ in range(12):
        answer = place(snapshot, asked, wish)
        if isinstance(answer, Unplaceable):
            return
        before, snapshot = snapshot, reserve(snapshot, answer)
        assert_sound(answer, wish, named(before, answer), named(snapshot, answer))


def named(snapshot: Sequence[Node], placement: Placement) -> Node:
    (node,) = [node for node in snapshot if node.name == placement.leader.worker]
    return node


def assert_sound(placement: Placement, wish: PlacementWish, before: Node, after: Node) -> None:
    claim = placement.claim
    picked = [each for each in after.devices if each.index in placement.leader.devices]
    assert before.alive
    assert len(picked) == claim.device_count
    assert all(device_fits(each, after.claimed[each.index]) for each in picked)
    assert claim.ram_bytes == 0 or ram_fits(after)
    assert {each.kind for each in picked} <= claim.device_kinds
    assert len({(each.kind, each.chip) for each in picked}) <= 1 or wish.devices
    assert all(each.health not in {"alarm", "critical"} and each.schedulable for each in picked)
    assert not any(each.kind == "ascend" and each.index in before.claimed for each in picked)
    assert not wish.devices or set(placement.addresses) == set(wish.devices)
    assert wish.worker_labels.items() <= before.labels.items()


@given(cluster=clusters(), asked=st.lists(claims(), min_size=1, max_size=3), wish=wishes, data=st.data())
@settings(max_examples=200, deadline=None)
def test_the_order_of_workers_does_not_matter(
    cluster: list[Node], asked: list[Claim], wish: PlacementWish, data: st.DataObject
) -> None:
    assert place(data.draw(st.permutations(cluster)), asked, wish) == place(cluster, asked, wish)


@given(cluster=clusters(), asked=claims(), wish=wishes)
@settings(max_examples=200, deadline=None)
def test_every_worker_that_was_asked_gives_one_reason(cluster: list[Node], asked: Claim, wish: PlacementWish) -> None:
    answer = place(cluster, [asked], wish)
    if isinstance(answer, Placement) or not cluster or wish.devices:
        return
    assert sorted(reason.worker or "" for reason in answer.reasons) == [node.name for node in cluster]
    assert all((reason.free_bytes or 0) < (reason.needed_bytes or 1) for reason in answer.reasons)
