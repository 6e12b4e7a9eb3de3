import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway.answers import of_refusal
from gpustack_lite.gateway.anthropic.answering import message
from gpustack_lite.gateway.anthropic.rewriters import Translated
from gpustack_lite.gateway.sse import EventFilter

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}


def chunk(finish: str | None = None, **delta: object) -> bytes:
    return event({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def call(arguments: str, index: int = 0, **more: object) -> bytes:
    name = {"name": more.pop("name")} if "name" in more else {}
    return chunk(tool_calls=[{"index": index, "function": {"arguments": arguments, **name}, **more}])


TEXT = [chunk(role="assistant", content=""), chunk(content="你"), chunk(content="好🌍"), chunk("stop")]
COUNTED = event({"id": "c1", "choices": [], "usage": USAGE})
WHOLE = [
    chunk(reasoning="h"),
    chunk(reasoning_content="m"),
    chunk(content="Look"),
    call("", id="t0", name="look"),
    call('{"a":'),
    call("1}"),
    call("{}", 1, id="t1", name="see"),
    chunk("tool_calls"),
    COUNTED,
]


def lane() -> Translated:
    return Translated("m", ("END",), lambda refusal: of_refusal(refusal, "en"))


def told(*events: bytes) -> list[dict[str, Any]]:
    """What a client reads; each event's name is its type."""
    rewriter = lane()
    stream = b"".join([*(rewriter.event(each) for each in events), rewriter.end()])
    return read(stream)


def read(stream: bytes) -> list[dict[str, Any]]:
    found = []
    for each in stream.decode().split("\n\n")[:-1]:
        name, data = each.split("\n")
        document = json.loads(data.removeprefix("data: "))
        assert name == f"event: {document['type']}"
        found.append(document)
    return found


def assembled(events: list[dict[str, Any]]) -> dict[str, Any]:
    """As a client puts a message together."""
    whole: dict[str, Any] = events[0]["message"]
    raw: dict[int, str] = {}
    for each in events:
        match each["type"]:
            case "content_block_start":
                assert each["index"] == len(whole["content"])
                whole["content"].append(each["content_block"])
            case "content_block_delta":
                (kind,) = each["delta"].keys() - {"type"}
                if kind == "partial_json":
                    raw[each["index"]] = raw.get(each["index"], "") + each["delta"][kind]
                else:
                    whole["content"][each["index"]][kind] += each["delta"][kind]
            case "message_delta":
                whole |= {**each["delta"], "usage": each["usage"]}
    for index, text in raw.items():
        whole["content"][index]["input"] = json.loads(text)
    return whole


def test_a_stream_and_a_whole_answer_are_the_same_message() -> None:
    calls = [
        {"id": "t0", "function": {"name": "look", "arguments": '{"a":1}'}},
        {"id": "t1", "function": {"name": "see", "arguments": "{}"}},
    ]
    said = {"reasoning_content": "hm", "content": "Look", "tool_calls": calls}
    whole = {"id": "c1", "choices": [{"message": said, "finish_reason": "tool_calls"}], "usage": USAGE}
    assert assembled(told(*WHOLE, DONE)) == message(whole, "m", ())


def test_blocks_are_opened_and_closed_one_after_the_other() -> None:
    kinds = [(each["type"], each.get("index")) for each in told(*WHOLE, DONE) if each["type"].startswith("content")]
    opened = [each for each in kinds if each[0] != "content_block_delta"]
    assert opened == [(f"content_block_{what}", at) for at in range(4) for what in ("start", "stop")]


def test_each_event_is_told_on_when_it_comes() -> None:
    rewriter = lane()
    assert [each["type"] for each in read(rewriter.event(TEXT[0]))] == ["message_start", "ping"]
    assert [each["type"] for each in read(rewriter.event(TEXT[1]))] == ["content_block_start", "content_block_delta"]
    assert [each["delta"]["text"] for each in read(rewriter.event(TEXT[2]))] == ["好🌍"]
    assert rewriter.event(TEXT[3]) == b""  # usage may still come
    ends = [each["type"] for each in read(rewriter.event(DONE))]
    assert ends == ["content_block_stop", "message_delta", "message_stop"]
    assert rewriter.end() == b""


@given(st.lists(st.integers(0, sum(map(len, WHOLE))), max_size=20).map(sorted))
def test_wherever_the_network_cuts_the_same_is_told(cuts: list[int]) -> None:
    stream = b"".join([*WHOLE, DONE])
    rewriter = lane()
    events = EventFilter(hides_usage=False, rewriter=rewriter)
    pieces = [stream[a:b] for a, b in itertools.pairwise([0, *cuts, len(stream)])]
    passed = b"".join([*(events.feed(each) for each in pieces), events.end(), rewriter.end()])
    assert read(passed) == told(*WHOLE, DONE)
    assert events.usage is not None
    assert (events.usage.prompt_tokens, events.usage.cached_tokens) == (20, 8)


def test_a_stream_without_done_ends_where_the_engine_finished() -> None:
    assert told(*TEXT)[-1] == {"type": "message_stop"}


@pytest.mark.parametrize("events", [TEXT[:3], [], [COUNTED], [DONE]], ids=["cut", "none", "usage", "done"])
def test_an_answer_that_was_not_finished_is_an_error(events: list[bytes]) -> None:
    rewriter = lane()
    assert b"event: error" in b"".join([*(rewriter.event(each) for each in events), rewriter.end()])
    assert rewriter.is_broken
    *before, last = told(*events)
    assert (last["type"], last["error"]["type"]) == ("error", "api_error")
    assert not [each for each in before if each["type"] in {"message_delta", "message_stop"}]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"message": "out of memory", "code": 500}, "out of memory"),
        ("out of memory", "The engine answered with an error: out of memory"),
        ({"code": 1}, 'The engine answered with an error: {"code":1}'),
    ],
)
def test_an_error_of_the_engine_is_the_last_that_is_told(error: object, said: str) -> None:
    found = told(TEXT[0], event({"error": error}), *TEXT, DONE)
    assert [each["type"] for each in found] == ["message_start", "ping", "error"]
    assert found[-1]["error"]["message"] == said


@pytest.mark.parametrize("garbage", [b"data: {\n\n", b"data: [1]\n\n", b"data: \xff\n\n"])
def test_what_is_no_chunk_is_an_error(garbage: bytes) -> None:
    assert told(TEXT[0], garbage)[-1]["error"]["code"] == "anthropic_answer_unreadable"


def test_an_engine_that_is_done_without_a_reason_gave_none() -> None:
    assert told(*TEXT[:3], DONE)[-2]["delta"] == {"stop_reason": None, "stop_sequence": None}


def test_comments_pass_so_that_the_connection_stays() -> None:
    assert lane().event(b": waiting\n\n") == b": waiting\n\n"


def test_a_call_begins_when_its_name_is_known_and_nothing_of_it_is_lost() -> None:
    found = assembled(told(call('{"a"', id="t0"), call(":1", name="look"), call("}"), chunk("tool_calls"), DONE))
    assert found["content"] == [{"type": "tool_use", "id": "t0", "name": "look", "input": {"a": 1}}]


def test_calls_whose_parts_are_mixed_are_told_apart() -> None:
    mixed = [call('{"a":', id="t0", name="x"), call('{"b":', 1, id="t1", name="y"), call("1}"), call("2}", 1)]
    found = assembled(told(*mixed, chunk("tool_calls"), DONE))
    assert [each["input"] for each in found["content"]] == [{"a": 1}, {"b": 2}]


def test_the_sequence_that_ended_a_stream_is_named() -> None:
    last = event({"id": "c1", "choices": [{"delta": {}, "finish_reason": "stop", "stop_reason": "END"}]})
    found = assembled(told(*TEXT[:3], last, DONE))
    assert (found["stop_reason"], found["stop_sequence"]) == ("stop_sequence", "END")
