"""A question that went through JSON is answered the same."""

import json

import pytest
from hypothesis import given, settings

from gpustack_lite.domain import Unplaceable, Withheld
from gpustack_lite.errors import Refusal
from scheduler import Question, answer, offered, replay
from tests.unit.scheduler.factories import SPREAD, cards, claim, device, node
from tests.unit.scheduler.test_remedies import questions


@given(asked=questions())
@settings(max_examples=100, deadline=None)
def test_the_same_answer_and_the_same_remedies(asked: Question) -> None:
    again = replay.question(json.loads(json.dumps(replay.document(asked))))
    found = answer(asked)
    assert answer(again) == found
    if isinstance(found, Unplaceable):
        assert offered(again, found) == offered(asked, found)


def test_a_document_of_a_document_is_the_same() -> None:
    asked = Question((cards("w1", 3, 0),), (claim(20), claim(10, 2)), SPREAD, "b")
    answer(asked)
    document = json.loads(json.dumps(replay.document(asked)))
    assert json.loads(json.dumps(replay.document(replay.question(document)))) == document


@pytest.mark.parametrize("content", [None, [], {}, {"version": 2}, {"version": 1, "numbers": [], "bare": 7}])
def test_what_is_no_decision_is_refused_with_a_reason(content: object) -> None:
    with pytest.raises(Refusal) as refused:
        replay.question(content)
    assert refused.value.code == "replay_unreadable"


def test_who_keeps_a_device_out_of_use_is_replayed_too() -> None:
    kept = device(0, schedulable=False, withheld=Withheld("cordoned", "ann", "fan"))
    asked = Question((node("w1", kept),), (claim(1),), SPREAD)
    again = replay.question(json.loads(json.dumps(replay.document(asked))))
    found = answer(again)
    assert found == answer(asked)
    assert isinstance(found, Unplaceable)
    assert (found.reasons[0].code, found.reasons[0].params["by"]) == ("devices_cordoned", "ann")
