import json
from dataclasses import dataclass

import pytest

from gpustack_lite.gateway import liveness
from gpustack_lite.gateway.balance import Balancer, Flight, Observation
from gpustack_lite.wire import Endpoint, ModelRoute
from tests.unit.gateway.test_balance import Ask, Clock, endpoint, route

USUAL = 30.0


@dataclass
class Heard:
    heard_at: float


def busy(*asks: Ask, answered: bool = True, context: int | None = None) -> tuple[Balancer, Clock, list[Flight]]:
    """One replica with these requests in flight, which has answered before or has not."""
    clock, where = Clock(), route(endpoint(1, context))
    balancer = Balancer(clock)
    if answered:
        flight = balancer.began(where, where.endpoints[0], Ask())
        clock.now += 1.0
        balancer.ended(flight, Observation(1.0, 0.2, 100, 0, 50))
    flights = [balancer.began(where, where.endpoints[0], ask) for ask in asks]
    return balancer, clock, flights


def verdict(balancer: Balancer, clock: Clock, seconds: float) -> str | None:
    found = liveness.silent_too_long(1, balancer.replicas[1], clock.now + seconds, USUAL)
    return None if found is None else found.said.code


@pytest.mark.parametrize(
    ("paths", "asked"),
    [
        (("/v1/embeddings", "/v1/chat/completions"), "/v1/chat/completions"),
        (("/v1/embeddings",), "/v1/embeddings"),
        (("/v2/rerank",), "/v2/rerank"),
        (("/v1/images/generations",), None),
        ((), None),
    ],
)
def test_an_engine_is_asked_on_a_path_that_it_serves(paths: tuple[str, ...], asked: str | None) -> None:
    where = ModelRoute(id=1, name="m", created=1, state="ready", paths=paths)
    question = liveness.question_for(where, endpoint(1))
    assert (question and question.path) == asked
    assert question is None or json.loads(question.body)["model"] == "m"


def test_a_busy_engine_that_is_silent_is_judged_after_a_minute() -> None:
    balancer, clock, _ = busy(Ask())
    assert verdict(balancer, clock, 55) is None
    assert verdict(balancer, clock, 65) == "engine_silent"


def test_an_engine_that_never_answered_yet_has_five_minutes() -> None:
    balancer, clock, _ = busy(Ask(), answered=False)
    assert verdict(balancer, clock, 290) is None
    assert verdict(balancer, clock, 310) == "engine_silent"


def test_an_idle_engine_is_not_judged_by_its_silence() -> None:
    balancer, clock, _ = busy()
    assert verdict(balancer, clock, 10_000) is None


def test_one_request_that_progresses_is_enough() -> None:
    balancer, clock, flights = busy(Ask(), Ask())
    flights[1].answer = Heard(clock.now + 60)
    assert verdict(balancer, clock, 100) is None
    assert verdict(balancer, clock, 125) == "engine_silent"


def test_an_answer_that_ended_is_progress() -> None:
    balancer, clock, flights = busy(Ask(), Ask())
    clock.now += 50
    balancer.ended(flights[0], Observation(50.0, is_answered=False))
    assert verdict(balancer, clock, 30) is None


def test_a_client_that_left_is_no_progress() -> None:
    balancer, clock, flights = busy(Ask(), Ask())
    clock.now += 50
    balancer.ended(flights[0], Observation(50.0, is_answered=False, is_alive=False))
    assert verdict(balancer, clock, 30) == "engine_silent"


def test_a_new_request_does_not_excuse_an_old_one() -> None:
    balancer, clock, _ = busy(Ask())
    clock.now += 50
    where = route(endpoint(1))
    balancer.began(where, where.endpoints[0], Ask())
    assert verdict(balancer, clock, 20) == "engine_silent"


def test_what_is_no_stream_may_be_silent_while_its_longest_answer_takes() -> None:
    """A token took 0.016 s when it was alone: 10,000 tokens are 163 s, and twice that is allowed."""
    balancer, clock, _ = busy(Ask(most_tokens=10_000, is_stream=False))
    assert verdict(balancer, clock, 300) is None
    assert verdict(balancer, clock, 340) == "engine_silent"


def test_an_answer_without_any_bound_is_not_judged() -> None:
    balancer, clock, _ = busy(Ask(is_stream=False))
    assert verdict(balancer, clock, 10_000) is None


def test_a_long_prompt_may_take_as_long_as_was_learned() -> None:
    balancer, clock, _ = busy(Ask(prompt_bytes=400_000))
    assert verdict(balancer, clock, 200) is None


def test_a_new_attempt_has_answered_nothing_yet() -> None:
    balancer, _, _ = busy()
    assert balancer.known(endpoint(1)).answered_at
    again = endpoint(1).model_copy(update={"attempt": 2})
    assert not balancer.known(again).answered_at


def test_a_verdict_stands_for_its_attempt_until_something_is_heard() -> None:
    question = liveness.question_for(route(endpoint(1)).model_copy(update={"paths": ("/v1/completions",)}), endpoint(1))
    assert question is not None
    said = [(liveness.unanswered(endpoint(1), question, 30.0), 100.0)]
    second: list[Endpoint] = [endpoint(1).model_copy(update={"attempt": 2})]
    assert liveness.still_holding(said, [endpoint(1)], {1: 50.0}) == [1]
    assert liveness.still_holding(said, [endpoint(1)], {1: 101.0}) == []
    assert liveness.still_holding(said, second, {}) == []
    assert liveness.still_holding(said, [], {}) == []
