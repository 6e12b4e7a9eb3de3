"""What is asked in a run: users who ask one question after the other, and how fast the two replicas are meanwhile."""

import json
import random
from dataclasses import dataclass

from benchmarks.routing.policies import Asked

_LIST = """river stone window garden letter summer engine copper valley signal harbor candle forest market bridge winter
silver meadow thunder lantern orchard compass velvet shadow marble"""
_WORDS = _LIST.split()


@dataclass(frozen=True, slots=True)
class Scenario:
    """`slow` is what is left of the speed of the second replica; with `swaps` it is the first one's from half on."""

    name: str
    users: int
    rounds: int
    """Questions of each user."""
    document_words: int
    question_words: int
    answer_tokens: int
    slow: float = 1.0
    swaps: bool = False
    think_seconds: float = 0.5
    """Mean pause of a user between an answer and the next question."""
    expectation: str = ""

    @property
    def count(self) -> int:
        return self.users * self.rounds

    def speed(self, replica: int, number: int) -> float:
        """Of a replica while the request of this number is asked."""
        slow_one = 0 if self.swaps and number >= self.count // 2 else 1
        return self.slow if replica == slow_one else 1.0


SCENARIOS = (
    Scenario("long shared prefixes", 4, 5, 420, 12, 8, expectation="TTFT p50 <= 0.6x"),
    Scenario("short prompts", 2, 15, 0, 16, 12, expectation="no gain, no loss"),
    Scenario("equal speeds", 2, 12, 0, 150, 12, expectation="no loss"),
    Scenario("one replica at a third", 3, 12, 0, 150, 12, slow=1 / 3, think_seconds=1.5, expectation="gain"),
    Scenario("speeds that swap", 2, 24, 0, 100, 12, slow=1 / 3, swaps=True, expectation="gain"),
)


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(count))


def questions(scenario: Scenario, seed: str) -> list[list[Asked]]:
    """For each user the bodies in order. A user's questions share a document, where the scenario has one."""
    rng = random.Random(seed)
    return [_of_user(scenario, rng) for _ in range(scenario.users)]


def _of_user(scenario: Scenario, rng: random.Random) -> list[Asked]:
    document = words(rng, scenario.document_words)
    return [_asked(scenario, document, words(rng, scenario.question_words)) for _ in range(scenario.rounds)]


def _asked(scenario: Scenario, document: str, question: str) -> Asked:
    system = [{"role": "system", "content": document}] if document else []
    body = {
        "model": "m",
        "messages": [*system, {"role": "user", "content": question}],
        "max_tokens": scenario.answer_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return Asked(json.dumps(body).encode(), scenario.answer_tokens)
