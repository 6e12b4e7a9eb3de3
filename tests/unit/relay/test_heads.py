import pytest

from gpustack_lite.relay.heads import UnsafeHead, chunk, end_to_end, serialise


def test_what_belongs_to_one_hop_stays_there() -> None:
    fields = [
        (b"connection", b"keep-alive, X-Secret"),
        (b"keep-alive", b"5"),
        (b"x-secret", b"named by Connection"),
        (b"transfer-encoding", b"chunked"),
        (b"content-length", b"5"),
        (b"upgrade", b"h2c"),
        (b"te", b"trailers"),
        (b"accept", b"*/*"),
    ]
    assert end_to_end(fields) == [(b"accept", b"*/*")]


def test_fields_can_be_left_out_by_name() -> None:
    assert end_to_end([(b"cookie", b"a"), (b"cookie", b"b"), (b"x", b"c")], drop={b"cookie"}) == [(b"x", b"c")]


@pytest.mark.parametrize(
    ("method", "length", "framing"),
    [
        pytest.param(b"POST", 5, b"content-length: 5\r\n", id="a body"),
        pytest.param(b"POST", 0, b"content-length: 0\r\n", id="an empty body"),
        pytest.param(b"GET", 0, b"", id="no body"),
        pytest.param(b"PUT", None, b"transfer-encoding: chunked\r\n", id="unknown length"),
    ],
)
def test_framing_is_said_once(method: bytes, length: int | None, framing: bytes) -> None:
    head = serialise(method, b"/a", [(b"host", b"x")], length=length)
    assert head == method + b" /a HTTP/1.1\r\nhost: x\r\n" + framing + b"\r\n"


@pytest.mark.parametrize("evil", [b"a\r\nx: y", b"a\nb", b"a\rb", b"a\0b"])
def test_a_value_that_would_begin_another_field_is_refused(evil: bytes) -> None:
    with pytest.raises(UnsafeHead):
        serialise(b"GET", b"/", [(b"a", evil)], length=0)
    with pytest.raises(UnsafeHead):
        serialise(b"GET", evil, [], length=0)


def test_a_chunk_says_its_length_in_hexadecimal() -> None:
    assert chunk(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"
