import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway import sse
from gpustack_lite.gateway.sse import EventFilter, data_of, error_event

WORD = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
COUNTS = b'{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}'
USAGE = b'data: {"choices":[],"usage":' + COUNTS + b"}\n\n"
DONE = b"data: [DONE]\n\n"
COMMENT = b": keep-alive\n\n"
FOREIGN = 'data: {"choices":[{"delta":{"content":"你好🌍 \\"usage\\" [DONE]"}}]}\r\n\r\n'.encode()
STREAM = WORD + COMMENT + FOREIGN + STOP + USAGE + DONE


def through(*pieces: bytes, hides: bool = True) -> tuple[bytes, EventFilter]:
    events = EventFilter(hides_usage=hides)
    return b"".join([*(events.feed(piece) for piece in pieces), events.end()]), events


@given(st.lists(st.integers(0, len(STREAM)), max_size=30).map(sorted), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_wherever_a_stream_is_cut_the_same_comes_out(cuts: list[int], line_end: bytes) -> None:
    stream = STREAM.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    edges = [0, *cuts, len(stream)]
    passed, events = through(*(stream[a:b] for a, b in itertools.pairwise(edges)))
    assert passed == stream.replace(USAGE.replace(b"\n", line_end), b"")
    assert events.is_done
    assert events.usage is not None
    assert (events.usage.prompt_tokens, events.usage.completion_tokens, events.usage.cached_tokens) == (3, 2, 1)
    assert events.content_frames == 2


def test_usage_that_was_asked_for_passes_byte_for_byte() -> None:
    passed, events = through(STREAM, hides=False)
    assert passed == STREAM
    assert events.usage is not None


def test_whole_events_are_passed_on_at_once_and_only_the_rest_is_held() -> None:
    events = EventFilter(hides_usage=True)
    assert events.feed(WORD + STOP[:10]) == WORD
    assert events.feed(STOP[10:-1]) == b""
    assert events.feed(b"\n") == STOP


class Forgetful(EventFilter):
    """Looks at every event as if it were the first."""

    def _as_before(self, data: bytes) -> bytes | None:
        return None


EVENT = 'data: {"id":"%s","choices":[{"index":0,"delta":{"content":"%s"}}]%s}\n\n'
TEXTS = [
    "hi",
    "",
    "a\\\\",
    '\\"',
    "\\n",
    " \\",
    '","usage":{"x":1},"y":"',
    "[DONE]",
    "\r",
    "\n\ndata: [DONE]",
    "\u00e9",
]
ENDS = ["", ',"usage":null', ',"usage":{"prompt_tokens":3,"completion_tokens":2}', ',"text":"x"', ',"error":1']
LIKE = st.builds(
    lambda *parts: EVENT % parts, st.sampled_from(["1", "2"]), st.sampled_from(TEXTS), st.sampled_from(ENDS)
)
OTHERS = st.sampled_from(
    ['data: {"error":{}}\n\n', "data: [DONE]\n\n", ": x\n\n", "data: y\r\n\r\n", "event: error\n\n", "da"]
)


@given(st.lists(st.one_of(LIKE, LIKE, LIKE, OTHERS, st.builds("".join, st.lists(LIKE, max_size=3)))), st.booleans())
def test_an_event_like_the_last_one_is_taken_as_if_it_were_the_first(pieces: list[str], hides: bool) -> None:
    quick, slow = EventFilter(hides_usage=hides), Forgetful(hides_usage=hides)
    for piece in [each.encode() for each in pieces]:
        assert quick.feed(piece) == slow.feed(piece)
        assert _state(quick) == _state(slow)


def _state(events: EventFilter) -> object:
    return events.content_frames, events.usage, events.is_done, events.has_error, events._held


def test_text_after_text_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    events = EventFilter(hides_usage=True)
    nulled = WORD.replace(b"]}\n", b'],"usage":null}\n')
    assert events.feed(nulled) == WORD
    monkeypatch.delattr(EventFilter, "_pass")
    assert events.feed(nulled.replace(b"hi", b"ho")) == WORD.replace(b"hi", b"ho")


@pytest.mark.parametrize(
    ("event", "left"),
    [
        pytest.param(
            b'data: {"choices":[{"a":1}],"usage":null}\n\n', b'data: {"choices":[{"a":1}]}\n\n', id="null at the end"
        ),
        pytest.param(
            b'data: {"usage":null,"choices":[{"a":1}]}\n\n', b'data: {"choices":[{"a":1}]}\n\n', id="null first"
        ),
        pytest.param(
            b'data: {"choices":[{"a":1}],"usage":{"prompt_tokens":1},"x":2}\n\n',
            b'data: {"choices":[{"a":1}],"x":2}\n\n',
            id="in the middle",
        ),
        pytest.param(
            b'id: 7\r\ndata: {"choices":[{"a":1}],\r\ndata: "usage":{"prompt_tokens":1}}\r\n\r\n',
            b'id: 7\ndata: {"choices":[{"a":1}]}\n\n',
            id="over two lines",
        ),
        pytest.param(b'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n', b"", id="alone"),
        pytest.param(
            b'data: {"choices":[{"delta":{"usage":1}}]}\n\n',
            b'data: {"choices":[{"delta":{"usage":1}}]}\n\n',
            id="deeper",
        ),
        pytest.param(b'data: not json "usage"\n\n', b'data: not json "usage"\n\n', id="no JSON"),
        pytest.param(b'event: "usage"\n\n', b'event: "usage"\n\n', id="no data"),
    ],
)
def test_usage_nobody_asked_for_is_taken_out_of_its_event(event: bytes, left: bytes) -> None:
    assert through(event)[0] == left


def test_usage_told_in_parts_is_put_together() -> None:
    begin = b'event: message_start\ndata: {"message":{"usage":{"input_tokens":9,"cache_read_input_tokens":4}}}\n\n'
    end = b'event: message_delta\ndata: {"usage":{"output_tokens":5}}\n\n'
    _, events = through(begin, end, hides=False)
    assert events.usage is not None
    assert (events.usage.prompt_tokens, events.usage.completion_tokens, events.usage.cached_tokens) == (13, 5, 4)


def test_what_a_model_says_about_the_end_is_not_the_end() -> None:
    _, events = through(FOREIGN, b'data: {"choices":[{"delta":{"content":"data: [DONE] {\\"error\\""}}]}\n\n')
    assert not events.is_done
    assert not events.has_error


def test_an_error_of_the_engine_is_noticed_and_passed_on() -> None:
    error = b'data: {"error": {"message": "out of memory"}}\n\n'
    passed, events = through(WORD, error)
    assert passed == WORD + error
    assert events.has_error


def test_an_event_that_is_too_long_to_be_held_is_passed_on_in_pieces() -> None:
    long = b'data: "' + b"x" * (sse.LONGEST_EVENT_BYTES + 10) + b'"\n\n'
    events = EventFilter(hides_usage=True)
    passed = events.feed(WORD)
    for at in range(0, len(long), 65_536):
        passed += events.feed(long[at : at + 65_536])
        assert len(events._held) <= sse.LONGEST_EVENT_BYTES + 65_536
    passed += events.feed(USAGE + DONE)
    assert passed == WORD + long + DONE
    assert events.usage is not None


def test_an_engine_that_forgets_the_last_blank_line_is_heard_out() -> None:
    assert through(WORD, DONE[:-2])[0] == WORD + DONE[:-2]


def test_data_lines_are_joined_as_event_source_does() -> None:
    assert data_of(b"id: 1\ndata: a\rdata:b\r\ndata:  c\n\n") == b"a\nb\n c"


def test_an_error_event_is_one_data_line() -> None:
    event = error_event({"error": {"message": "two\nlines"}})
    assert event.endswith(b"\n\n")
    assert json.loads(data_of(event)) == {"error": {"message": "two\nlines"}}


@pytest.mark.parametrize(
    ("data", "frames"),
    [
        pytest.param(b'{"choices":[{"delta":{"content":"hi"}}]}', 1, id="chat"),
        pytest.param(b'{"choices":[{"delta":{"role":"assistant","content":""}}]}', 0, id="the first frame of a chat"),
        pytest.param(b'{"choices":[{"text":"hi"}]}', 1, id="completions"),
        pytest.param(b'{"type":"response.output_text.delta","delta":"hi"}', 1, id="responses"),
        pytest.param(b'{"type":"content_block_delta","delta":{"type":"text_delta","text":"hi"}}', 1, id="messages"),
        pytest.param(
            b'{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}', 1, id="a tool"
        ),
    ],
)
def test_frames_with_content_are_counted_in_every_dialect(data: bytes, frames: int) -> None:
    events = EventFilter(hides_usage=False)
    events.feed(b"data: " + data + b"\n\n")
    assert events.content_frames == frames
