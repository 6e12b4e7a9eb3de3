import json

import pytest

from gpustack_lite.domain import Usage
from gpustack_lite.gateway import tokens


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        pytest.param({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}, Usage(7, 3), id="chat"),
        pytest.param({"prompt_tokens": 7, "total_tokens": 7}, Usage(7), id="embeddings"),
        pytest.param(
            {
                "prompt_tokens": 7,
                "completion_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(7, 3, 5, 2),
            id="details",
        ),
        pytest.param({"prompt_tokens": 7, "prompt_tokens_details": None}, Usage(7), id="details null"),
        pytest.param(
            {"input_tokens": 7, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 5}},
            Usage(7, 3, 5),
            id="responses",
        ),
        pytest.param(
            {"input_tokens": 7, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 1, "output_tokens": 3},
            Usage(28, 3, 20),
            id="messages, where the cache is counted apart",
        ),
        pytest.param({"prompt_tokens": -1, "completion_tokens": 10**20}, None, id="nonsense"),
        pytest.param({"prompt_tokens": "7"}, None, id="texts"),
    ],
)
def test_usage_is_read_in_every_spelling(said: object, usage: Usage | None) -> None:
    found = tokens.of_answer(json.dumps({"choices": [], "usage": said}).encode())
    assert (found or Usage()) == (usage or Usage())


@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b'"x"', b'{"usage":7}', b'{"x":1}', b"[" * 100_000, b"\xff"])
def test_an_answer_without_usage_has_none(text: bytes) -> None:
    assert tokens.of_answer(text) is None


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param(b'{"model":"m","usage":{"prompt_tokens":9},"data":[0,0', b"0,0]}", id="before the vectors"),
        pytest.param(b'{"data":[0,0', b'0,0],"usage": {"prompt_tokens":9,"d":{"x":1}}}', id="behind the vectors"),
    ],
)
def test_usage_of_a_long_answer_is_found_at_either_end(first: bytes, last: bytes) -> None:
    found = tokens.of_ends(first, last)
    assert found is not None
    assert found.prompt_tokens == 9


def test_the_ends_of_an_answer_that_does_not_count_say_nothing() -> None:
    assert tokens.of_ends(b'{"usage": {"prompt_tokens": "x"}}', b"]}") is None


def test_what_is_said_later_wins_where_it_says_anything() -> None:
    assert tokens.merged(Usage(9, 1, 4), Usage(None, 5)) == Usage(9, 5, 4)
    assert tokens.merged(None, Usage(1)) == Usage(1)
