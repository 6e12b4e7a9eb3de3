import json

from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway.prefix import Prefixes, chain


def chat(*texts: str, **fields: object) -> bytes:
    return json.dumps({**fields, "messages": [{"role": "user", "content": text} for text in texts]}).encode()


SYSTEM = "You are a patient librarian. " * 100


def test_a_longer_conversation_shares_the_marks_of_its_beginning() -> None:
    short, long = chain("m", chat(SYSTEM, "a" * 600)), chain("m", chat(SYSTEM, "b" * 600))
    shared = [one for one, other in zip(short, long, strict=False) if one == other]
    assert shared[-1][0] >= len(SYSTEM) * 7 / 8
    assert short[-1] != long[-1]


def test_what_stands_before_the_prompt_does_not_matter() -> None:
    assert chain("m", chat(SYSTEM, model="x", temperature=0.1)) == chain("m", chat(SYSTEM, temperature=0.9))


def test_another_model_shares_nothing() -> None:
    assert not set(chain("m", chat(SYSTEM))) & set(chain("n", chat(SYSTEM)))


def test_a_short_prompt_has_no_marks() -> None:
    assert chain("m", chat("hello")) == ()


def test_a_body_without_a_prompt_has_no_marks() -> None:
    assert chain("m", b'{"model": "m", "other": "' + b"x" * 5000 + b'"}') == ()


def test_a_long_prompt_has_few_marks() -> None:
    assert len(chain("m", chat("x" * 1_000_000))) < 60


@given(st.text(min_size=1500, max_size=6000), st.text(max_size=50), st.text(max_size=50))
def test_a_common_beginning_has_common_marks(common: str, one: str, other: str) -> None:
    marks = chain("m", b'{"prompt":"' + (common + one).encode() + b'"}')
    others = chain("m", b'{"prompt":"' + (common + other).encode() + b'"}')
    size = len(common.encode())
    assert [each for each in marks if each[0] <= size] == [each for each in others if each[0] <= size]


def test_the_newest_replica_of_a_beginning_is_known_and_forgotten() -> None:
    prefixes, marks = Prefixes(), chain("m", chat(SYSTEM))
    prefixes.note(marks, 1)
    prefixes.note(marks[:1], 2)
    assert prefixes.cached_bytes(marks) == {1: marks[-1][0], 2: marks[0][0]}
    prefixes.forget(marks, 1)
    assert prefixes.cached_bytes(marks) == {2: marks[0][0]}
    prefixes.keep_only({3})
    assert prefixes.cached_bytes(marks) == {}


def test_memory_is_bounded() -> None:
    prefixes = Prefixes(most_marks=50)
    for number in range(100):
        prefixes.note(chain("m", chat(str(number) + SYSTEM)), number)
    assert len(prefixes) == 50
