import itertools

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.relay import chunks
from gpustack_lite.relay.chunks import MOST_BYTES, payload

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SIZES = [b"%x", b"%X", b"0%x", b"+%x", b"0x%x", b" %x", b"%x ", b"%x;a=b", b"%x_0"]


def chunk(data: bytes, spelling: bytes = b"%x") -> bytes:
    return spelling % len(data) + b"\r\n" + data + b"\r\n"


class Parsed:
    def __init__(self, data: bytes) -> None:
        self.body, self.is_between = b"", False
        parser = httptools.HttpResponseParser(self)
        parser.feed_data(HEAD)
        parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_chunk_header(self) -> None:
        self.is_between = False

    def on_chunk_complete(self) -> None:
        self.is_between = True


CHUNKS = st.builds(
    chunk, st.sampled_from([b"x", b"\r\n", b"data: y\n\n", b"5\r\nhello\r\n", b"z" * 300]), st.sampled_from(SIZES)
)


@given(st.lists(CHUNKS, max_size=4), st.integers(-30, 0), st.binary(max_size=3))
def test_what_is_taken_is_what_the_parser_takes_and_ends_where_a_chunk_ends(
    parts: list[bytes], cut: int, more: bytes
) -> None:
    data = b"".join(parts)
    data = data[: len(data) + cut] + more
    found = payload(data)
    if found is not None:
        parsed = Parsed(data)
        assert (parsed.body, parsed.is_between) == (found, True)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_whole_chunks_need_no_parser(number: int) -> None:
    parts = [b"data: %d\n\n" % each for each in range(number)]
    assert payload(b"".join(map(chunk, parts))) == b"".join(parts)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"0\r\n\r\n",
        chunk(b"x") + b"0\r\n\r\n",
        chunk(b"x")[:-1],
        chunk(b"x") + b"1",
        b"1\nx\n",
        b"1\r\nxy\r\n",
        *[chunk(b"x", spelling) for spelling in SIZES[2:]],
        chunk(b"x" * 11, b"%X"),
        chunk(b"y" * MOST_BYTES),
    ],
)
def test_the_rest_is_for_the_parser(data: bytes) -> None:
    assert payload(data) is None


def test_sizes_are_spelt_in_one_way() -> None:
    assert all(len(text) <= chunks._MOST_DIGITS for text in chunks._SIZES)
    assert all(int(text, 16) == size for text, size in itertools.islice(chunks._SIZES.items(), 50))
