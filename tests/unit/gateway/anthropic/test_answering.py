import json
from typing import Any

import msgspec
import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import error_document, of_refusal
from gpustack_lite.gateway.anthropic.answering import message, usage
from gpustack_lite.gateway.anthropic.errors import shaped
from gpustack_lite.gateway.anthropic.rewriters import Passed, Translated


def call(arguments: str, name: str = "look") -> dict[str, object]:
    return {"id": "t", "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(finish: str | None = "stop", more: dict[str, object] | None = None, **said: object) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": finish, **(more or {})}
    return {"id": "c1", "choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


def test_a_message_has_thoughts_words_and_calls_in_this_order() -> None:
    said = completion("tool_calls", content="Look.", reasoning_content="hm", tool_calls=[call('{"at":"🌍"}'), call("")])
    assert message(said, "public", ()) == {
        "id": "msg_c1",
        "type": "message",
        "role": "assistant",
        "model": "public",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "Look."},
            {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "🌍"}},
            {"type": "tool_use", "id": "t", "name": "look", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 7,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 3,
        },
    }


@pytest.mark.parametrize("spelling", [{"reasoning": "hm"}, {"reasoning": "hm", "reasoning_content": "hm"}])
def test_thoughts_are_told_once_in_whichever_spelling(spelling: dict[str, str]) -> None:
    assert [each["type"] for each in message(completion(content="", **spelling), "m", ())["content"]] == ["thinking"]


@pytest.mark.parametrize(
    ("finish", "more", "reason", "sequence"),
    [
        ("stop", {}, "end_turn", None),
        ("length", {}, "max_tokens", None),
        ("tool_calls", {}, "tool_use", None),
        ("content_filter", {}, "refusal", None),
        ("stop", {"stop_reason": "END"}, "stop_sequence", "END"),
        ("stop", {"matched_stop": "END"}, "stop_sequence", "END"),
        ("stop", {"stop_reason": 128009}, "end_turn", None),
        ("stop", {"stop_reason": "not asked for"}, "end_turn", None),
        ("abort", {}, None, None),
        (None, {}, None, None),
    ],
)
def test_the_reason_for_the_end_is_the_engines(
    finish: str | None, more: dict[str, object], reason: str | None, sequence: str | None
) -> None:
    found = message(completion(finish, more, content="x"), "m", ("END",))
    assert (found["stop_reason"], found["stop_sequence"]) == (reason, sequence)


def test_an_engine_that_calls_and_says_stop_wants_the_tool_used() -> None:
    assert message(completion("stop", tool_calls=[call("{}")]), "m", ())["stop_reason"] == "tool_use"


def test_a_call_that_was_cut_off_is_left_out_and_a_broken_one_is_an_error() -> None:
    cut = [call("{}"), call('{"at":')]
    assert len(message(completion("length", tool_calls=cut), "m", ())["content"]) == 1
    for broken in (cut, [call("[1]")]):
        with pytest.raises(Refusal) as refused:
            message(completion("tool_calls", tool_calls=broken), "m", ())
        assert (refused.value.code, refused.value.status) == ("anthropic_tool_arguments", 502)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}, (12, 8, 5)),
        ({"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": None}, (20, 0, 5)),
        ({"prompt_tokens": -1, "completion_tokens": True}, (0, 0, 0)),
        (None, (0, 0, 0)),
    ],
)
def test_what_came_from_the_cache_is_counted_apart(counts: object, expected: tuple[int, int, int]) -> None:
    found = usage(counts)
    assert (found["input_tokens"], found["cache_read_input_tokens"], found["output_tokens"]) == expected


def rewriter() -> Translated:
    return Translated("m", (), lambda refusal: of_refusal(refusal, "en"))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"{}", b'{"choices":[]}', b'{"choices":[{}]}', b"\xff"])
def test_what_is_no_completion_is_no_message(body: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        rewriter().whole(body)
    assert (refused.value.code, refused.value.status) == ("anthropic_answer_unreadable", 502)


def test_characters_are_told_as_they_came() -> None:
    body = json.dumps(completion(content='你好\u2028🌍 \\ "')).encode()
    assert msgspec.json.decode(rewriter().whole(body))["content"][0]["text"] == '你好\u2028🌍 \\ "'


@pytest.mark.parametrize(
    ("status", "told", "kind"),
    [
        (400, 400, "invalid_request_error"),
        (401, 401, "authentication_error"),
        (403, 403, "permission_error"),
        (404, 404, "not_found_error"),
        (405, 405, "invalid_request_error"),
        (413, 413, "request_too_large"),
        (429, 429, "rate_limit_error"),
        (500, 500, "api_error"),
        (502, 502, "api_error"),
        (503, 529, "overloaded_error"),
        (504, 504, "timeout_error"),
    ],
)
def test_errors_have_anthropics_shape_and_our_fields(status: int, told: int, kind: str) -> None:
    ours = error_document(status, "a_code", "Because.", "field", {"a": 1})
    found_status, found = shaped(status, {**ours, "loading": {}})
    said = {"message": "Because.", "type": kind, "param": "field", "code": "a_code", "params": {"a": 1}}
    assert (found_status, found) == (told, {"type": "error", "error": said, "loading": {}})


def test_what_passes_is_not_touched() -> None:
    lane = Passed()
    assert (lane.whole(b"{}"), lane.event(b"data: x\n\n"), lane.end()) == (b"{}", b"data: x\n\n", b"")
    assert lane.failed(error_document(502, "c", "m")).startswith(b'event: error\ndata: {"error":')
