import pytest

from gpustack_lite.relay.known_answers import MOST_BODY_BYTES, MOST_HEADS, KnownAnswers

FIELDS = [(b"content-length", b"2")]


def answer(body: bytes = b"{}", *, length: int = 2, status: int = 200, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n%s\r\n%s" % (status, length, more, body)


def test_an_answer_with_the_same_head_is_known_with_its_own_body() -> None:
    known = KnownAnswers()
    known.learn(answer(), 200, FIELDS)
    assert known.find(answer(b"[]")) == (FIELDS, b"[]")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(answer(more=b"X: 1\r\n"), id="another head"),
        pytest.param(answer(b"{"), id="not whole"),
        pytest.param(answer(b"{}{}"), id="more than whole"),
        pytest.param(answer()[:20], id="half a head"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_whatever_differs_is_for_the_parser(data: bytes) -> None:
    known = KnownAnswers()
    known.learn(answer(), 200, FIELDS)
    assert known.find(data) is None


@pytest.mark.parametrize(
    ("data", "status", "fields"),
    [
        pytest.param(answer(status=503), 503, FIELDS, id="an error"),
        pytest.param(answer(), 200, [*FIELDS, (b"transfer-encoding", b"chunked")], id="chunks"),
        pytest.param(answer(length=3), 200, [(b"content-length", b"3")], id="another length than it has"),
        pytest.param(b"HTTP/1.1 103 Hints\r\n\r\n" + answer(), 200, FIELDS, id="an interim answer before it"),
        pytest.param(answer(b"x" * (MOST_BODY_BYTES + 1)), 200, [(b"content-length", b"65537")], id="long"),
    ],
)
def test_only_plain_answers_are_learned(data: bytes, status: int, fields: list[tuple[bytes, bytes]]) -> None:
    known = KnownAnswers()
    known.learn(data, status, fields)
    assert known.find(data) is None


def test_no_more_heads_are_kept_than_may_be() -> None:
    known = KnownAnswers()
    for number in range(MOST_HEADS + 1):
        known.learn(answer(more=b"Date: %d\r\n" % number), 200, FIELDS)
    assert known.find(answer(more=b"Date: 0\r\n")) is None
    assert known.find(answer(more=b"Date: %d\r\n" % MOST_HEADS)) is not None
