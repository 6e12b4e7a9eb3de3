"""What holds for every snapshot."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, Device, Part, Placement, PlacementWish, Unplaceable
from scheduler import About, Memo, Node, occupied, place, release, reserve
from scheduler.checks import OF_MACHINES, OF_WORKERS, Ask, View, allowed_chips
from scheduler.glance import glance, is_plain
from scheduler.memo import the_long_way
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
        group=draw(st.sampled_from([None, "a", "b"])),
        unified_memory=draw(st.integers(0, 9)) == 0,
    )


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    count = draw(st.integers(0, 4))
    kinds = draw(st.sampled_from([frozenset({"ascend"}), frozenset({"cuda"}), frozenset({"cuda", "rocm"})]))
    return Claim(
        count,
        draw(gib) * GIB if count else 0,
        draw(gib) * GIB,
        kinds,
        worker_count=draw(st.sampled_from([1, 1, 1, 2])),
        chips=draw(st.sampled_from([frozenset(), frozenset(), frozenset({"910B3", "H100"})])),
        disk_bytes=draw(st.sampled_from([0, 0, 9 * GIB])),
        may_share=draw(st.booleans()),
    )


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    there = tuple(draw(devices(i)) for i in range(draw(st.integers(0, 4))))
    bare = Node(
        name,
        alive=draw(st.integers(0, 9)) > 0,
        drained=draw(st.integers(0, 9)) == 0,
        labels=draw(st.sampled_from([{}, {"zone": "a"}, {"zone": "b"}, {"zone": "a", "network": "n"}])),
        devices=there,
        ram_total_bytes=draw(st.sampled_from([None, 16 * GIB, 128 * GIB])),
        ram_reserve_bytes=draw(st.sampled_from([0, GIB])),
        ram_foreign_bytes=draw(st.sampled_from([0, 2 * GIB, None])),
        disk_free_bytes=draw(st.sampled_from([None, 20 * GIB])),
        reading_age_seconds=draw(st.sampled_from([None, 5.0, 5.0, 500.0])),
        models=draw(st.sampled_from([{}, {}, {"qwen": 1}])),
        sources=draw(st.sampled_from([frozenset(), frozenset({"hf:q"})])),
    )
    held = [
        ((each.index,), Claim(1, GIB, may_share=draw(st.booleans()))) for each in there if draw(st.integers(0, 4)) == 0
    ]
    return occupied(bare, held)


@st.composite
def clusters(draw: st.DrawFn) -> list[Node]:
    return [draw(nodes(f"w{i}")) for i in range(draw(st.integers(0, 4)))]


wishes = st.builds(
    PlacementWish,
    strategy=st.sampled_from(["spread", "binpack"]),
    worker_labels=st.sampled_from([{}, {}, {"zone": "a"}]),
    devices=st.sampled_from([(), (), (), ("w0:0",), ("w0:0", "w0:1"), ("w1:3", "w2:0"), ("w9:1",)]),
    workers=st.sampled_from([(), (), (), ("w0", "w1")]),
    chips=st.sampled_from([(), (), (), ("910b3",)]),
    apart=st.booleans(),
    share_chips=st.booleans(),
)
QWEN = About("qwen", "hf:q")
OF_POOLS = frozenset({"kind", "chip", "count", "health", "reading", "memory", "whole_chip", "unified"})


def device_fits(each: Device, claimed: int) -> bool:
    """From first principles, without the arithmetic of the code under test."""
    if each.memory_total_bytes is None:
        return False
    if each.unified_memory:
        return claimed <= each.memory_total_bytes * 0.98 + 1
    if each.memory_used_bytes is None:
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
    snapshot, memo = tuple(cluster), Memo()
    for _ in range(12):
        answer = place(snapshot, asked, wish, about=QWEN, memo=memo)
        assert answer == place(snapshot, asked, wish, about=QWEN), "what is remembered changes no answer"
        if isinstance(answer, Unplaceable):
            return
        before, snapshot = snapshot, reserve(snapshot, answer, QWEN)
        assert len(answer.parts) == len({part.worker for part in answer.parts}) == answer.claim.worker_count
        assert not wish.devices or set(answer.addresses) == set(wish.devices)
        for part in answer.parts:
            assert_sound(part, answer.claim, wish, named(before, part.worker), named(snapshot, part.worker))
        assert_goes_together(answer, wish, [named(before, part.worker) for part in answer.parts])


def named(snapshot: Sequence[Node], worker: str) -> Node:
    (node,) = [node for node in snapshot if node.name == worker]
    return node


def assert_sound(part: Part, claim: Claim, wish: PlacementWish, before: Node, after: Node) -> None:
    picked = [each for each in after.devices if each.index in part.devices]
    assert before.alive
    assert not before.drained
    assert (before.reading_age_seconds or 0) < 100
    assert not wish.workers or part.worker in wish.workers
    assert not (wish.apart and before.models)
    assert len(picked) == claim.device_count
    assert all(device_fits(each, after.claimed[each.index]) for each in picked)
    takes_ram = claim.ram_bytes > 0 or any(each.unified_memory and claim.bytes_per_device for each in picked)
    assert not takes_ram or ram_fits(after)
    assert {each.kind for each in picked} <= claim.device_kinds
    assert not claim.chips or {each.chip for each in picked} <= claim.chips
    assert not wish.chips or {each.chip.lower() for each in picked} <= set(wish.chips)
    assert len({(each.kind, each.chip) for each in picked}) <= 1 or wish.devices
    assert all(each.health not in {"alarm", "critical"} and each.schedulable for each in picked)
    assert_whole_or_shared(picked, claim, wish, before)
    assert wish.worker_labels.items() <= before.labels.items()
    assert claim.disk_bytes == 0 or sum(after.bringing.values()) <= (after.disk_free_bytes or 0)
    if claim.device_count > 1 and not wish.devices:
        assert_one_group_where_it_suffices(picked, claim, before)


def assert_whole_or_shared(picked: list[Device], claim: Claim, wish: PlacementWish, before: Node) -> None:
    assert not claim.may_share or wish.share_chips
    taken = [each for each in picked if each.kind == "ascend" and each.index in before.claimed]
    assert not taken or (claim.may_share and not before.exclusive.intersection(each.index for each in taken))


def assert_one_group_where_it_suffices(picked: list[Device], claim: Claim, before: Node) -> None:
    """Tried by hand: a worker of which only one group is left."""
    if len({each.group for each in picked}) == 1:
        return
    for group in {each.group for each in before.devices}:
        one = tuple(each for each in before.devices if each.group == group and each.chip == picked[0].chip)
        alone = place([replace(before, devices=one)], [replace(claim, worker_count=1)], PlacementWish(share_chips=True))
        assert isinstance(alone, Unplaceable)


def assert_goes_together(placement: Placement, wish: PlacementWish, before: list[Node]) -> None:
    assert len({node.labels.get("network") for node in before}) == 1
    if not wish.devices:
        pairs = zip(before, placement.parts, strict=True)
        chips = [{each.chip for each in node.devices if each.index in part.devices} for node, part in pairs]
        assert chips == chips[:1] * len(chips)


@given(cluster=clusters(), asked=st.lists(claims(), min_size=1, max_size=3), wish=wishes)
@settings(max_examples=200, deadline=None)
def test_what_was_taken_is_given_back_and_nothing_else(
    cluster: list[Node], asked: list[Claim], wish: PlacementWish
) -> None:
    answer = place(cluster, asked, wish)
    if isinstance(answer, Unplaceable):
        return
    back = release(reserve(cluster, answer, QWEN), answer, QWEN)
    for before, after in zip(cluster, back, strict=True):
        assert (before.pools, before.free_ram_bytes, before.models) == (after.pools, after.free_ram_bytes, after.models)


@given(seen=nodes("w0"), asked=claims(), wish=wishes)
@settings(max_examples=300, deadline=None)
def test_the_short_ways_through_the_checks_agree_with_the_checks(seen: Node, asked: Claim, wish: PlacementWish) -> None:
    """Whoever is placed passed every check of workers and machines, and who is not has the first that fails."""
    wish = replace(wish, devices=(), workers=())
    answer = place([seen], [replace(asked, worker_count=1)], wish, about=QWEN)
    whole = View(seen, Ask(asked, wish, about=QWEN, chips=allowed_chips(asked, wish)), ())
    failed = [reason for check in (*OF_WORKERS, *OF_MACHINES) if (reason := check(whole)) is not None]
    if isinstance(answer, Placement):
        assert failed == []
    elif answer.reasons[0].check not in OF_POOLS:
        assert answer.reasons[0] == failed[0]


@given(cluster=clusters(), newcomer=nodes("w8"), asked=st.lists(claims(), min_size=1, max_size=3), wish=wishes)
@settings(max_examples=200, deadline=None)
def test_one_worker_more_makes_nothing_unplaceable(
    cluster: list[Node], newcomer: Node, asked: list[Claim], wish: PlacementWish
) -> None:
    if isinstance(place(cluster, asked, wish, about=QWEN), Placement):
        assert isinstance(place([*cluster, newcomer], asked, wish, about=QWEN), Placement)


@given(cluster=clusters(), asked=st.lists(claims(), min_size=1, max_size=3), wish=wishes, data=st.data())
@settings(max_examples=200, deadline=None)
def test_the_order_of_workers_does_not_matter(
    cluster: list[Node], asked: list[Claim], wish: PlacementWish, data: st.DataObject
) -> None:
    assert place(data.draw(st.permutations(cluster)), asked, wish, about=QWEN) == place(
        cluster, asked, wish, about=QWEN
    )


@given(cluster=clusters(), asked=claims(), wish=wishes)
@settings(max_examples=200, deadline=None)
def test_every_worker_that_was_asked_gives_one_reason(cluster: list[Node], asked: Claim, wish: PlacementWish) -> None:
    answer = place(cluster, [asked], wish)
    if isinstance(answer, Placement) or not cluster or wish.devices or wish.workers or asked.worker_count > 1:
        return
    assert sorted(reason.worker or "" for reason in answer.reasons) == [node.name for node in cluster]
    assert all((reason.free_bytes or 0) < (reason.needed_bytes or 1) for reason in answer.reasons)


@given(node=nodes("w0"), claim=claims(), wish=wishes)
@settings(max_examples=400, deadline=None)
def test_a_glance_sees_what_the_long_way_finds(node: Node, claim: Claim, wish: PlacementWish) -> None:
    asked = replace(claim, device_count=1, chips=frozenset(), disk_bytes=0)
    plain = replace(wish, worker_labels={}, devices=(), chips=(), apart=False)
    ask = Ask(asked, plain, None, QWEN, None, asked.may_share and plain.share_chips, None, (1,))
    assert is_plain(ask)
    seen = glance(node, ask)
    if seen is not None:
        assert the_long_way(node, ask) == [seen]


def test_a_glance_is_enough_for_a_worker_in_order() -> None:
    there = occupied(Node("w1", devices=(device(0), device(1)), ram_total_bytes=64 * GIB), [])
    assert glance(there, Ask(Claim(1, GIB, GIB, frozenset({"cuda"})), PlacementWish(), counts=(1,))) is not None
