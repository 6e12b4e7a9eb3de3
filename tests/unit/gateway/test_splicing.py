import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway.splicing import Splice, Wanted, as_read, is_misspelt, respelling, splice_for
from gpustack_lite.wire import Endpoint, ModelRoute, Serving

CHAT = "/v1/chat/completions"
RENAMED = Splice("org/公开:q4", None)
NAME = '"org/公开:q4"'.encode()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(
            b'data: {"id":"c","model":"x","choices":[{"delta":{"content":"a"}}]}\n\n',
            b'data: {"id":"c","model":%s,"choices":[{"delta":{"content":"a"}}]}\n\n',
            id="in front of the choices (vLLM)",
        ),
        pytest.param(
            b'data: {"choices":[{"delta":{"content":"a"}}],"created":1,"model":"x","object":"o"}\n\n',
            b'data: {"choices":[{"delta":{"content":"a"}}],"created":1,"model":%s,"object":"o"}\n\n',
            id="behind the choices (llama.cpp)",
        ),
        pytest.param(
            b'data: {"choices":[{"delta":{"content":"a"}}],"model":"x","usage":{"n":[1]}}\n\n',
            b'data: {"choices":[{"delta":{"content":"a"}}],"model":%s,"usage":{"n":[1]}}\n\n',
            id="between nested values",
        ),
        pytest.param(
            b'event: response.created\r\ndata: {"type":"t","response":{"tools":[{"model":"t"}],"model":"x"}}\r\n\r\n',
            b'event: response.created\r\ndata: {"type":"t","response":{"tools":[{"model":"t"}],"model":%s}}\r\n\r\n',
            id="responses, CRLF, a tool with a key of that name",
        ),
        pytest.param(
            b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"x","content":[]}}\n\n',
            b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":%s,"content":[]}}\n\n',
            id="Anthropic",
        ),
        pytest.param(
            b': "model":"x"\ndata: {"id":"c",\ndata:"model" : "x"\nid: 7\ndata: ,"n":{"a":1}}\n\n',
            b': "model":"x"\ndata: {"id":"c",\ndata:"model" : %s\nid: 7\ndata: ,"n":{"a":1}}\n\n',
            id="a comment and several data lines",
        ),
        pytest.param(b'data: {"model": "a\\"b"}\r\r', b'data: {"model": %s}\r\r', id="an escaped quote, CR alone"),
    ],
)
def test_the_name_is_replaced_and_every_other_byte_stays(event: bytes, expected: bytes) -> None:
    before, after = expected.split(b"%s")
    assert RENAMED.event(event) == before + NAME + after


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b": ping\n\n", id="a comment"),
        pytest.param(b"data: [DONE]\n\n", id="the end"),
        pytest.param(b'data: {"choices":[{"delta":{"content":"\\"model\\":\\"x\\""}}]}\n\n', id="in a text"),
        pytest.param(b'data: {"choices":[{"model":"x"}]}\n\n', id="deeper"),
        pytest.param(b'data: {"object":"model"}\n\n', id="as a value"),
        pytest.param(b'data: {"model":null}\n\n', id="no text"),
        pytest.param(b'data: {"model":"x\n\n', id="cut"),
        pytest.param(b'data: {"a":[{"model":"x"},{"model":"x"\n\n', id="cut, and twice"),
        pytest.param(b'data: "model"\n\n', id="no object"),
        pytest.param(b'data: {"error":{"message":"gone"}}\n\n', id="an error"),
    ],
)
def test_what_does_not_name_the_model_passes_as_it_came(event: bytes) -> None:
    assert RENAMED.event(event) == event


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6) | st.sampled_from(['"model":"x"', "}]{["]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["model", "a", "message", "}"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["model", "response", "message", "choices", "z"]), VALUES), st.booleans())
def test_it_is_what_a_parser_would_have_changed(document: dict[str, Any], is_ascii: bool) -> None:
    expected = {**document}
    for holder in ("response", "message"):
        if isinstance(expected.get(holder), dict) and isinstance(expected[holder].get("model"), str):
            expected[holder] = {**expected[holder], "model": "p"}
    if isinstance(expected.get("model"), str):
        expected["model"] = "p"

    def encoded(value: object) -> bytes:
        return json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")

    splice = Splice("p", None)
    assert splice.whole(encoded(document)) == encoded(expected)
    assert splice.event(b"data: " + encoded(document) + b"\n\n") == b"data: " + encoded(expected) + b"\n\n"


@given(st.dictionaries(st.sampled_from(["model", "response", "choices", "z"]), VALUES, min_size=1))
def test_an_event_may_have_its_json_on_many_lines(document: dict[str, Any]) -> None:
    lines = json.dumps(document, indent=1).split("\n")
    event = "".join(f"data: {line}\n" for line in lines) + "\n"
    spliced = Splice("p", respelling("reasoning", "both")).event(event.encode()).decode()
    joined = "\n".join(line.removeprefix("data: ") for line in spliced.split("\n") if line)
    assert joined == Splice("p", respelling("reasoning", "both")).whole("\n".join(lines).encode()).decode()


def test_the_beginning_of_a_long_answer_is_enough() -> None:
    assert RENAMED.whole(b'{"object":"list","model":"x","data":[{"emb') == (
        b'{"object":"list","model":' + NAME + b',"data":[{"emb'
    )


# --- reasoning


def delta(**fields: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"role": "assistant", **fields}}]}


@pytest.mark.parametrize("holder", ["delta", "message"])
@pytest.mark.parametrize(
    ("said", "wanted", "before", "after"),
    [
        pytest.param("reasoning", "reasoning_content", ["reasoning"], ["reasoning_content"], id="renamed"),
        pytest.param("reasoning_content", "reasoning", ["reasoning_content"], ["reasoning"], id="and back"),
        pytest.param("reasoning", "both", ["reasoning"], ["reasoning", "reasoning_content"], id="doubled"),
        pytest.param(
            "reasoning",
            "reasoning_content",
            ["reasoning", "reasoning_content"],
            ["reasoning_content"],
            id="an engine that says both",
        ),
        pytest.param(
            "reasoning", "both", ["reasoning_content", "reasoning"], ["reasoning_content", "reasoning"], id="both as is"
        ),
    ],
)
def test_reasoning_is_spelt_as_it_is_wanted(
    holder: str, said: Any, wanted: Wanted, before: list[str], after: list[str]
) -> None:
    splice = Splice(None, respelling(said, wanted))

    def chunk(keys: list[str]) -> bytes:
        inner = {"role": "assistant", **dict.fromkeys(keys, 'a "reasoning": b'), "content": None}
        return json.dumps({"id": "c", "choices": [{"index": 0, holder: inner}], "n": 1}).encode()

    assert splice.whole(chunk(before)).replace(b'","reas', b'", "reas') == chunk(after)
    assert json.loads(splice.event(b"data: " + chunk(before) + b"\n\n")[6:]) == json.loads(chunk(after))


INNER = st.dictionaries(
    st.sampled_from(["role", "content", "reasoning", "delta", "}", "tool_calls"]), VALUES, max_size=5
)
CHOICE = st.dictionaries(st.sampled_from(["index", "delta", "message", "reasoning"]), INNER | VALUES, max_size=4)
ANSWER = st.fixed_dictionaries(
    {"id": VALUES}, optional={"choices": st.lists(CHOICE, max_size=3) | VALUES, "reasoning": VALUES}
)


def renamed(holder: object) -> object:
    if not isinstance(holder, dict):
        return holder
    return {"reasoning_content" if key == "reasoning" else key: value for key, value in holder.items()}


@given(ANSWER, st.booleans())
def test_reasoning_is_what_a_parser_would_have_renamed(document: dict[str, Any], is_tight: bool) -> None:
    expected = {**document}
    if isinstance(document.get("choices"), list):
        expected["choices"] = [
            {key: renamed(value) if key in {"delta", "message"} else value for key, value in choice.items()}
            if isinstance(choice, dict)
            else choice
            for choice in document["choices"]
        ]
    separators = (",", ":") if is_tight else None
    before, after = (json.dumps(each, separators=separators).encode() for each in (document, expected))
    splice = Splice(None, respelling("reasoning", "reasoning_content"))
    assert splice.whole(before) == after
    assert splice.event(b"data: " + before + b"\n\n") == b"data: " + after + b"\n\n"


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"reasoning": {"effort": "low"}, **delta(content="x")}, id="beside the choices"),
        pytest.param(delta(content='"reasoning":"x"'), id="in a text"),
        pytest.param({"choices": [{"logprobs": {"reasoning": 1}}]}, id="elsewhere in a choice"),
        pytest.param({"choices": "reasoning"}, id="no choices"),
        pytest.param({"choices": ["reasoning", 1], "reasoning": None}, id="no objects"),
    ],
)
def test_the_word_alone_changes_nothing(document: object) -> None:
    event = b"data: " + json.dumps(document).encode() + b"\n\n"
    assert Splice(None, respelling("reasoning", "reasoning_content")).event(event) == event


def test_a_name_and_reasoning_are_replaced_together() -> None:
    event = b'data: {"choices":[{"delta":{"reasoning":"a"}}],"model":"x"}\n\n'
    both = Splice("p", respelling("reasoning", "reasoning_content"))
    assert both.event(event) == b'data: {"choices":[{"delta":{"reasoning_content":"a"}}],"model":"p"}\n\n'


def test_a_request_may_use_either_spelling() -> None:
    body = b'{"messages":[{"content":"\\"reasoning\\":"},{"reasoning":"r","role":"assistant"}],"reasoning":{}}'
    assert is_misspelt(body, "reasoning_content")
    assert as_read(body, "reasoning_content") == body.replace(b'{"reasoning":"r"', b'{"reasoning_content":"r"')
    assert as_read(body, "reasoning") == body
    assert not is_misspelt(b'{"reasoning_effort":"low"}', "reasoning_content")


def test_a_request_that_says_it_twice_says_it_once_to_the_engine() -> None:
    body = b'{"messages":[{"reasoning":"r", "content":"c", "reasoning_content":"r"}]}'
    assert as_read(body, "reasoning_content") == b'{"messages":[{"content":"c", "reasoning_content":"r"}]}'
    assert as_read(body, "reasoning") == b'{"messages":[{"reasoning":"r", "content":"c"}]}'


# --- the choice


def splice(
    *, served: str = "m", said: str | None = None, wanted: Wanted | None = None, path: str = CHAT
) -> Splice | None:
    endpoint = Endpoint(instance_id=1, address="127.0.0.1:1", engine_key="k", served_name=served)
    abilities = {"spelling": said} if said else {}
    route = ModelRoute(id=1, name="m", created=1, state="ready", abilities=abilities, serving=Serving(reasoning=wanted))
    return splice_for("m", endpoint, route, path, "reasoning_content")


def test_an_ordinary_answer_has_no_rewriter() -> None:
    assert splice() is None
    assert splice(said="reasoning_content") is None
    assert splice(said="reasoning", wanted="reasoning") is None
    assert splice(said="reasoning", path="/v1/completions") is None


def test_an_answer_that_differs_has_one() -> None:
    assert splice(served="other") is not None
    assert splice(said="reasoning") is not None
    assert splice(said="reasoning_content", wanted="both") is not None
