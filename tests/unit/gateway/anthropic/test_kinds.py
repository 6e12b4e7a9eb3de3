"""Whatever stands where something else was meant is refused or passed over: nothing in it is a mistake of ours."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import dialects
from gpustack_lite.gateway.answers import of_refusal
from gpustack_lite.gateway.anthropic.rewriters import Translated
from gpustack_lite.wire import Endpoint

TEXT = {"type": "text", "text": "x"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}}
CALL = {"id": "1", "type": "function", "function": {"name": "t", "arguments": '{"a":1}'}}
REQUEST = {
    "model": "m",
    "max_tokens": 5,
    "stream": True,
    "stop_sequences": ["a"],
    "metadata": {"user_id": "u"},
    "system": [TEXT],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "tools": [{"type": "custom", "name": "t", "description": "d", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "tool", "name": "t", "disable_parallel_tool_use": True},
    "output_config": {"format": {"type": "json_schema", "schema": {}}, "effort": "low"},
    "messages": [
        {"role": "user", "content": [TEXT, PICTURE]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "t"},
                {"type": "tool_use", "id": "1", "name": "t", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [TEXT], "is_error": True}]},
    ],
}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
SAID = {"content": "x", "reasoning_content": "r", "tool_calls": [{"index": 0, **CALL}]}
WHOLE = {"id": "c", "choices": [{"message": SAID, "finish_reason": "tool_calls", "stop_reason": "a"}], "usage": USAGE}
CHUNK = {"id": "c", "choices": [{"delta": SAID, "finish_reason": "stop", "stop_reason": "a"}], "usage": USAGE}
KINDS = [None, True, 0, -1.5, 2**70, "", "x", [], {}, [None], [[]], [{}], {"a": 1}]


def mistaken(document: Any) -> Iterator[Any]:
    """The document with each of its values in turn replaced by one of each kind."""
    for path in list(paths(document)):
        for kind in KINDS:
            changed = copy.deepcopy(document)
            holder = changed
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = kind
            yield changed


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        yield from paths(inner, (*path, key))


def say(refusal: Refusal) -> dict[str, object]:
    return of_refusal(refusal, "en")


def test_a_request_is_translated_or_refused() -> None:
    engine = Endpoint(instance_id=1, address="127.0.0.1:1", engine_key="k", served_name="m")
    for request in mistaken(REQUEST):
        body = [json.dumps(request).encode()]
        with suppress(Refusal):
            dialects.translated(list(body), "reasoning", say)
        with suppress(Refusal):
            dialects.conversation(list(body), engine)


def test_a_whole_answer_is_translated_or_refused() -> None:
    for answer in mistaken(WHOLE):
        with suppress(Refusal):
            Translated("m", ("a",), say).whole(json.dumps(answer).encode())


def test_a_stream_ends_as_a_message_or_as_an_error() -> None:
    for chunk in mistaken(CHUNK):
        rewriter = Translated("m", ("a",), say)
        told = rewriter.event(b"data: " + json.dumps(chunk).encode() + b"\n\n") + rewriter.end()
        assert b"event: message_stop" in told or b"event: error" in told


@pytest.mark.parametrize("stops", [1, "a", {"a": 1}, [1], [["a"]]])
def test_a_list_of_stops_that_is_none_is_named(stops: object) -> None:
    with pytest.raises(Refusal) as refused:
        dialects.translated([json.dumps({**REQUEST, "stop_sequences": stops}).encode()], None, say)
    assert (refused.value.status, refused.value.param) == (400, "stop_sequences")
