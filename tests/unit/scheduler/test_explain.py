"""What a person is told when nothing fits, and what would help."""

import re

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, PlacementWish, Reason, Unplaceable
from gpustack_lite.messages.scheduler import SENTENCES
from scheduler import Node, explain, place
from scheduler.remedies import RANKS
from tests.unit.scheduler.factories import SPREAD, cards, claim, node


def refused(nodes: list[Node], *claims: Claim, wish: PlacementWish = SPREAD, backend: str | None = None) -> Unplaceable:
    answer = place(nodes, claims, wish, backend=backend)
    assert isinstance(answer, Unplaceable)
    return answer


def test_a_refusal_of_the_caller_needs_no_remedy_of_ours() -> None:
    missing = Reason("w1", "file", "source_missing", {"path": "/models/a"})
    assert refused([cards("w1", 0, refusal=missing)], claim(1)).reasons == (missing,)


def test_the_nearest_worker_comes_first() -> None:
    nodes = [cards("w1", 0, alive=False), cards("w4", 12), cards("w2", 10), node("w3")]
    answer = refused(nodes, claim(16))
    assert [reason.worker for reason in answer.reasons] == ["w2", "w4", "w3", "w1"]
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
    assert explanation.reason_counts == {"foreign_memory": 50, "worker_silent": 1}
    assert explanation.said.code == "foreign_memory"
    assert explanation.said.params["worker"] == "w000"


def test_every_sentence_names_the_same_values_in_both_languages() -> None:
    def names(template: str) -> set[str]:
        return set(re.findall(r"{(\w+)", template))

    assert {code for code, (english, chinese) in SENTENCES.items() if names(english) != names(chinese)} == set()


def test_every_remedy_has_a_sentence() -> None:
    assert set(RANKS) - set(SENTENCES) == set()
