import pytest

from gpustack_lite.gateway.anthropic.counting import conversation, count_of, length_of, prompt_of


def test_the_question_is_a_chat_without_what_only_an_answer_needs() -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "system": "s", "stream": True}
    assert conversation(asked) == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}],
        "add_generation_prompt": True,
    }


@pytest.mark.parametrize("answer", [b"", b"[]", b"{", b"\xff", b"{}", b'{"count":0}', b'{"count":true}'])
def test_what_is_no_count_is_none(answer: bytes) -> None:
    assert (count_of(answer), prompt_of(answer), length_of(answer)) == (None, None, None)


def test_counts_are_the_engines_own() -> None:
    assert count_of(b'{"count":11,"max_model_len":20,"tokens":[1]}') == 11
    assert prompt_of(b'{"prompt":"<s>hi"}') == "<s>hi"
    assert length_of(b'{"tokens":[1,2,3]}') == 3
