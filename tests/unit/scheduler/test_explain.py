"""What a person is told when nothing fits, and what would help."""

import re

import pytest

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, Params, PlacementWish, Reason, Unplaceable
from gpustack_lite.messages.scheduler import SENTENCES
from scheduler import Node, explain, place
from scheduler.remedies import _REMEDIES
from tests.unit.scheduler.factories import SPREAD, cards, claim, cpu_claim, device, node


def refused(nodes: list[Node], *claims: Claim, wish: PlacementWish = SPREAD, backend: str | None = None) -> Unplaceable:
    answer = place(nodes, claims, wish, backend=backend)
    assert isinstance(answer, Unplaceable)
    return answer


@pytest.mark.parametrize(
    ("nodes", "asked", "wish", "code", "params"),
    [
        pytest.param(
            [cards("w1", 20), cards("w2", 10)],
            claim(16),
            SPREAD,
            "free_device_memory",
            {"worker": "w2", "missing_bytes": 2 * GIB, "device_count": 1},
            id="memory on the nearest worker",
        ),
        pytest.param(
            [node("w1", ram_gib=8), node("w2", ram_gib=10)],
            cpu_claim(11),
            SPREAD,
            "free_ram",
            {"worker": "w2", "missing_bytes": GIB},
            id="RAM on the nearest worker",
        ),
        pytest.param(
            [cards("w1", 0, chip="910B3", claimed={0: 1})],
            claim(1, kind="ascend"),
            SPREAD,
            "free_chips",
            {"worker": "w1", "missing_count": 1},
            id="chips",
        ),
        pytest.param([node("w1", ram_gib=None)], cpu_claim(1), SPREAD, "ask_doctor", {"worker": "w1"}, id="readings"),
        pytest.param(
            [node("w1", device(0, health="alarm"))], claim(1), SPREAD, "mend_devices", {"worker": "w1"}, id="health"
        ),
        pytest.param(
            [cards("w1", 0)], claim(1, 2), SPREAD, "join_bigger_worker", {"needed_count": 2}, id="too few devices"
        ),
        pytest.param([node("w1")], claim(1), SPREAD, "join_worker_with_kind", {"kinds": "cuda"}, id="kind"),
        pytest.param([cards("w1", 0, alive=False)], claim(1), SPREAD, "start_worker", {"worker": "w1"}, id="silent"),
        pytest.param([], claim(1), SPREAD, "join_worker", {}, id="no worker"),
        pytest.param(
            [cards("w1", 24)],
            claim(1),
            PlacementWish(devices=("w1:0",)),
            "choose_other_devices",
            {"devices": "w1:0"},
            id="hand-picked",
        ),
    ],
)
def test_a_remedy(nodes: list[Node], asked: Claim, wish: PlacementWish, code: str, params: Params) -> None:
    assert {remedy.code: remedy.params for remedy in refused(nodes, asked, wish=wish).remedies}[code] == params


def test_labels_can_be_dropped_by_a_merge_patch() -> None:
    wish = PlacementWish(worker_labels={"zone": "a", "disk": "ssd"})
    (remedy,) = refused([cards("w1", 0, labels={"disk": "ssd"})], claim(1), wish=wish).remedies
    assert (remedy.code, remedy.change) == ("change_labels", {"placement": {"worker_labels": {"zone": None}}})


def test_a_missing_backend_is_named() -> None:
    (remedy,) = refused([cards("w1", 0)], claim(1), backend="mindie").remedies
    assert (remedy.code, remedy.params) == ("bring_backend", {"worker": "w1", "backend": "mindie"})


def test_a_refusal_of_the_caller_needs_no_remedy_of_ours() -> None:
    missing = Reason("w1", "file", "source_missing", {"path": "/models/a"})
    answer = refused([cards("w1", 0, refusal=missing)], claim(1))
    assert (answer.reasons, answer.remedies) == ((missing,), ())


def test_the_nearest_worker_comes_first_and_one_remedy_is_given_per_kind_of_reason() -> None:
    nodes = [cards("w1", 0, alive=False), cards("w4", 12), cards("w2", 10), node("w3")]
    answer = refused(nodes, claim(16))
    assert [reason.worker for reason in answer.reasons] == ["w2", "w4", "w3", "w1"]
    assert [remedy.code for remedy in answer.remedies] == [
        "free_device_memory",
        "join_worker_with_kind",
        "start_worker",
    ]
    assert refused(nodes[::-1], claim(16)) == answer


def test_reasons_speak_of_the_least_demanding_claim() -> None:
    answer = refused([cards("w1", 20)], claim(16, 2), claim(8), claim(20))
    assert answer.reasons[0].needed_bytes == 8 * GIB


def test_with_hand_picked_devices_they_speak_of_a_claim_on_as_many() -> None:
    wish = PlacementWish(devices=("w1:0", "w1:1"))
    answer = refused([cards("w1", 20, 20)], claim(8), claim(6, 2), wish=wish)
    assert answer.reasons[0].params["needed_count"] == 2


def test_a_row_keeps_twenty_reasons_and_counts_all() -> None:
    nodes = [cards(f"w{i:03}", 20) for i in range(50)] + [cards("dead", 0, alive=False)]
    explanation = explain(refused(nodes, claim(8)))
    assert len(explanation.reasons) == 20
    assert explanation.reason_counts == {"not_enough_device_memory": 50, "worker_silent": 1}
    assert explanation.said.code == "not_enough_device_memory"
    assert explanation.said.params["worker"] == "w000"


def test_every_sentence_names_the_same_values_in_both_languages() -> None:
    def names(template: str) -> set[str]:
        return set(re.findall(r"{(\w+)", template))

    assert {code for code, (english, chinese) in SENTENCES.items() if names(english) != names(chinese)} == set()


def test_every_reason_with_a_remedy_has_a_sentence() -> None:
    assert set(_REMEDIES) - set(SENTENCES) == set()
