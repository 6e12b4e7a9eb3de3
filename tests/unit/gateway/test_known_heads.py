import pytest

from gpustack_lite.gateway.call import Head
from gpustack_lite.gateway.known_heads import MOST_HEAD_BYTES, MOST_HEADS, KnownHead, KnownHeads

KNOWN = KnownHead(Head([(b"host", b"x")], "POST", b"/v1/chat/completions"), keep_alive=True)


def request(body: bytes, *, length: bytes | None = None, name: bytes = b"Content-Length", more: bytes = b"") -> bytes:
    said = b"%d" % len(body) if length is None else length
    return b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n%s: %s\r\n%s\r\n%s" % (name, said, more, body)


@pytest.fixture
def heads() -> KnownHeads:
    heads = KnownHeads()
    heads.learn(request(b"{}"), KNOWN)
    return heads


def test_the_same_head_before_a_body_of_another_length_is_known(heads: KnownHeads) -> None:
    found = heads.find(request(b'{"a": 1}'))
    assert found is not None
    assert found == (KNOWN, b'{"a": 1}')


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(request(b"{}", more=b"X: 1\r\n"), id="another field"),
        pytest.param(request(b"{}", name=b"content-length"), id="another spelling"),
        pytest.param(request(b"{}", length=b"02"), id="a zero before the digits"),
        pytest.param(request(b"", length=b"0"), id="no body"),
        pytest.param(request(b"{}", length=b"+2"), id="no plain digits"),
        pytest.param(request(b"{}", length=b"2 "), id="a space behind the digits"),
        pytest.param(request(b"{}", length=b"2\r\nContent-Length: 2"), id="two lengths"),
        pytest.param(request(b"{}", length=b"2\nX: 1"), id="a bare line feed"),
        pytest.param(request(b"{}", length=b"0000002"), id="many digits"),
        pytest.param(request(b"{}", length=b"3"), id="less than its length"),
        pytest.param(request(b"{}") + request(b"{}"), id="two requests"),
        pytest.param(b"\r\n" + request(b"{}"), id="a line end before it"),
        pytest.param(request(b"{}")[:-3], id="no end"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_whatever_differs_is_for_the_parser(heads: KnownHeads, data: bytes) -> None:
    assert heads.find(data) is None


def test_long_heads_are_not_kept() -> None:
    heads, data = KnownHeads(), request(b"{}", more=b"X: %s\r\n" % (b"y" * MOST_HEAD_BYTES))
    heads.learn(data, KNOWN)
    assert heads.find(data) is None


def test_no_more_heads_are_kept_than_may_be() -> None:
    heads = KnownHeads()
    for number in range(MOST_HEADS + 1):
        heads.learn(request(b"{}", more=b"X: %d\r\n" % number), KNOWN)
    assert heads.find(request(b"{}", more=b"X: 0\r\n")) is None
    assert heads.find(request(b"{}", more=b"X: %d\r\n" % MOST_HEADS)) is not None
