"""What would help: each remedy alone, and that none is offered which would not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, Params, Placement, PlacementWish, Reason, Remedy, Unplaceable
from scheduler import About, Holding, Node, Question, answer, ending, offered, place
from scheduler.remedies import new_worker, with_good_readings
from tests.unit.scheduler.factories import SPREAD, cards, claim, cpu_claim, device, node
from tests.unit.scheduler.test_properties import claims, clusters, wishes


def question(nodes: list[Node], *claims: Claim, wish: PlacementWish = SPREAD, **more: Any) -> Question:
    return Question(tuple(nodes), claims, wish, **more)


def remedies_of(asked: Question) -> tuple[Remedy, ...]:
    refused = answer(asked)
    assert isinstance(refused, Unplaceable)
    return offered(asked, refused)


def found(asked: Question) -> dict[str, Params]:
    return {each.code: each.params for each in remedies_of(asked)}


def holding(id: int, worker: str, device_index: int, gib: int, kind: Any = "cuda") -> Holding:
    return Holding(id, f"{id} (m{id})", worker, (device_index,), claim(gib, kind=kind))


@pytest.mark.parametrize(
    ("nodes", "asked", "wish", "code", "params"),
    [
        pytest.param(
            [cards("w1", 20), cards("w2", 10)],
            claim(16),
            SPREAD,
            "free_device_memory",
            {"worker": "w2", "missing_bytes": 2 * GIB, "device_count": 1},
            id="memory that others use, on the nearest worker",
        ),
        pytest.param(
            [node("w1", ram_gib=8), node("w2", ram_gib=12, ram_foreign_bytes=2 * GIB)],
            cpu_claim(11),
            SPREAD,
            "free_ram",
            {"worker": "w2", "missing_bytes": GIB},
            id="RAM that others use",
        ),
        pytest.param([node("w1", ram_gib=None)], cpu_claim(1), SPREAD, "ask_doctor", {"worker": "w1"}, id="readings"),
        pytest.param(
            [node("w1", device(0, health="alarm"))],
            claim(1),
            SPREAD,
            "mend_devices",
            {"worker": "w1", "devices": "w1:0"},
            id="health",
        ),
        pytest.param(
            [node("w1", device(0, schedulable=False), device(1, schedulable=False))],
            claim(1),
            SPREAD,
            "uncordon",
            {"devices": "w1:0"},
            id="a cordon, and no more of it than is needed",
        ),
        pytest.param(
            [cards("w1", 0)],
            claim(1, 2),
            SPREAD,
            "join_worker_with_devices",
            {"chips": "cuda", "needed_count": 2, "needed_bytes": GIB},
            id="too few devices",
        ),
        pytest.param(
            [node("w1", ram_gib=8)],
            cpu_claim(11),
            SPREAD,
            "join_worker_with_ram",
            {"needed_bytes": 11 * GIB},
            id="RAM that no worker has",
        ),
        pytest.param([cards("w1", 0, alive=False)], claim(1), SPREAD, "start_worker", {"worker": "w1"}, id="silent"),
        pytest.param([], claim(1), SPREAD, "join_worker", {}, id="no worker"),
        pytest.param(
            [cards("w1", 24, 0)],
            claim(1),
            PlacementWish(devices=("w1:0",)),
            "choose_other_devices",
            {"devices": "w1:0"},
            id="hand-picked",
        ),
        pytest.param(
            [cards("w1", 0, labels={"disk": "ssd"})],
            claim(1),
            PlacementWish(worker_labels={"zone": "a", "disk": "ssd"}),
            "label_worker",
            {"worker": "w1", "labels": "zone=a"},
            id="labels that the worker may be given",
        ),
    ],
)
def test_a_remedy(nodes: list[Node], asked: Claim, wish: PlacementWish, code: str, params: Params) -> None:
    assert found(question(nodes, asked, wish=wish))[code] == params


def test_labels_can_be_dropped_by_a_merge_patch() -> None:
    wish = PlacementWish(worker_labels={"zone": "a", "disk": "ssd"})
    (first, *_) = remedies_of(question([cards("w1", 0, labels={"disk": "ssd"})], claim(1), wish=wish))
    assert (first.code, first.change) == ("change_labels", {"placement": {"worker_labels": {"zone": None}}})


def test_a_missing_backend_is_named() -> None:
    assert found(question([cards("w1", 0)], claim(1), backend="mindie"))["bring_backend"] == {
        "worker": "w1",
        "backend": "mindie",
    }


@pytest.mark.parametrize(
    ("nodes", "asked"),
    [
        pytest.param([cards("w1", 0, total_gib=24)], claim(30), id="nobody uses the memory that is missing"),
        pytest.param([cards("w1", 0, alive=False)], claim(30), id="the silent worker is too small"),
        pytest.param([cards("w1", 0, refusal=Reason("w1", "model", "source_missing"))], claim(1), id="no file"),
    ],
)
def test_what_would_not_help_is_not_offered(nodes: list[Node], asked: Claim) -> None:
    assert set(found(question(nodes, asked))) == {"join_worker_with_devices"}


def test_the_fewest_instances_are_named_on_whichever_worker() -> None:
    held = [holding(1, "w1", 0, 8), holding(2, "w1", 0, 8), holding(3, "w2", 0, 20), holding(4, "w2", 1, 20)]
    asked = question([cards("w1", 0), cards("w2", 0, 0)], claim(22), holdings=tuple(held))
    assert found(asked)["stop_instances"] == {"worker": "w2", "instances": "3 (m3)", "count": 1}


def test_a_replica_of_the_same_model_is_not_ended_for_another() -> None:
    own = replace(holding(1, "w1", 0, 20), model="m")
    alone = question([cards("w1", 0)], claim(22), holdings=(own,), about=About("m"))
    assert "stop_instances" not in found(alone)
    both = replace(alone, bare=(cards("w1", 0), cards("w2", 0)), holdings=(own, holding(2, "w2", 0, 20)))
    assert found(both)["stop_instances"] == {"worker": "w2", "instances": "2 (m2)", "count": 1}


def test_two_chips_need_two_ends() -> None:
    held = tuple(holding(index + 1, "w1", index, 1, kind="ascend") for index in range(4))
    asked = question([cards("w1", 0, 0, 0, 0, chip="910B3")], claim(20, 2, kind="ascend"), holdings=held)
    assert found(asked)["stop_instances"] == {"worker": "w1", "instances": "1 (m1), 2 (m2)", "count": 2}


def test_many_small_ones_go_until_it_fits_and_no_more() -> None:
    held = tuple(holding(index, "w1", 0, 2) for index in range(1, 12))
    asked = question([cards("w1", 0)], claim(20), holdings=held)
    assert found(asked)["stop_instances"]["count"] == 9


def test_a_change_of_the_model_comes_before_the_end_of_another() -> None:
    wish = PlacementWish(devices=("w1:0",))
    asked = question([cards("w1", 0, 0)], claim(22), wish=wish, holdings=(holding(1, "w1", 0, 20),))
    codes = [each.code for each in remedies_of(asked)]
    assert codes[:2] == ["choose_other_devices", "stop_instances"]


def _named(asked: Question, worker: object, change: Callable[[Node], Node]) -> Question:
    return replace(asked, bare=tuple(change(each) if each.name == worker else each for each in asked.bare))


def _patched_wish(wish: PlacementWish, change: dict[str, Any]) -> PlacementWish:
    labels = {**wish.worker_labels, **change.get("worker_labels", {})}
    return replace(
        wish,
        devices=tuple(change.get("devices", wish.devices)),
        workers=tuple(change.get("workers", wish.workers)),
        chips=tuple(change.get("chips", wish.chips)),
        apart=bool(change.get("apart", wish.apart)),
        share_chips=bool(change.get("share_chips", wish.share_chips)),
        worker_labels={key: value for key, value in labels.items() if value is not None},
    )


def _less_foreign(node: Node, missing: int) -> Node:
    used = {each.index: node.foreign_bytes(each.index) for each in node.devices}
    return replace(node, foreign={index: max(0, each - missing) for index, each in used.items() if each is not None})


def _devices(node: Node, named: str, **change: Any) -> Node:
    names = named.split(", ")
    changed = [replace(e, **change) if f"{node.name}:{e.index}" in names else e for e in node.devices]
    return replace(node, devices=tuple(changed))


def _labelled(node: Node, text: str) -> Node:
    return replace(node, labels={**node.labels, **dict(pair.split("=") for pair in text.split(", "))})


def applied(asked: Question, remedy: Remedy) -> Question:
    """The question after a person did what the remedy says, and nothing else."""
    params: dict[str, Any] = dict(remedy.params)
    worker = params.get("worker")
    if remedy.change:
        wish = _patched_wish(asked.wish, dict(remedy.change["placement"]))  # type: ignore[call-overload]
        return replace(asked, wish=wish)
    if remedy.code == "stop_instances":
        gone = {int(name.split()[0]) for name in params["instances"].split(", ")}
        return replace(asked, holdings=tuple(each for each in asked.holdings if each.id not in gone))
    if remedy.code.startswith("join_"):
        smallest = min(asked.claims, key=lambda c: (c.device_count * c.bytes_per_device + c.ram_bytes, c.device_count))
        return replace(asked, bare=(*asked.bare, new_worker(smallest, asked.backend, asked.wish.worker_labels)))
    changes: dict[str, Callable[[Node], Node]] = {
        "start_worker": lambda node: replace(node, alive=True),
        "bring_backend": lambda node: replace(node, backends=node.backends | {params["backend"]}),
        "label_worker": lambda node: _labelled(node, params["labels"]),
        "mend_devices": lambda node: _devices(node, params["devices"], health="ok"),
        "uncordon": lambda node: _devices(node, params["devices"], schedulable=True),
        "ask_doctor": with_good_readings,
        "resume_worker": lambda node: replace(node, drained=False),
        "wait_for_reading": lambda node: replace(node, reading_age_seconds=0.0),
        "free_disk": lambda node: replace(node, disk_free_bytes=(node.disk_free_bytes or 0) + params["missing_bytes"]),
        "free_ram": lambda node: replace(
            node, ram_foreign_bytes=(node.ram_foreign_bytes or 0) - params["missing_bytes"]
        ),
        "free_device_memory": lambda node: _less_foreign(node, params["missing_bytes"]),
    }
    if remedy.code == "uncordon":
        worker = params["devices"].partition(":")[0]
    return _named(asked, worker, changes[remedy.code])


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """With instances of which one knows by name what they hold, and readings that are explicit."""
    bare = []
    for each in draw(clusters()):
        used = {index: each.foreign_bytes(index) for index in (d.index for d in each.devices)}
        foreign = {index: value for index, value in used.items() if value is not None}
        bare.append(replace(each, claimed={}, exclusive=frozenset(), ram_claimed_bytes=0, foreign=foreign))
    spots = [(node.name, each.index) for node in bare for each in node.devices]
    held = draw(st.lists(st.tuples(st.sampled_from(spots), st.integers(1, 40)), max_size=6)) if spots else []
    holdings = tuple(
        Holding(i + 1, f"{i + 1} (m)", worker, (index,), Claim(1, gib * GIB, GIB))
        for i, ((worker, index), gib) in enumerate(held)
    )
    asked = tuple(draw(st.lists(claims(), min_size=1, max_size=3)))
    return Question(tuple(bare), asked, draw(wishes), draw(st.sampled_from([None, "b"])), holdings)


@given(asked=questions())
@settings(max_examples=200, deadline=None)
def test_every_remedy_that_is_offered_really_places(asked: Question) -> None:
    refused = answer(asked)
    if isinstance(refused, Placement):
        return
    for remedy in offered(asked, refused):
        assert isinstance(answer(applied(asked, remedy)), Placement), remedy


def test_the_search_for_instances_to_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0

    def counting(*given: Any, **more: Any) -> Placement | Unplaceable:
        nonlocal tried
        tried += 1
        return place(*given, **more)

    monkeypatch.setattr(ending, "place", counting)
    workers = [cards(f"w{i:02}", 0) for i in range(40)]
    held = tuple(holding(i * 40 + k, f"w{i:02}", 0, 0) for i in range(40) for k in range(40))
    asked = question(workers, claim(30), holdings=held)
    refused = Unplaceable(tuple(Reason(each.name, "memory", "not_enough_device_memory") for each in workers))
    assert list(ending.fewest_to_end(asked, refused)) == []
    assert tried <= ending.MOST_TRIALS + ending.MOST_WORKERS * 40
