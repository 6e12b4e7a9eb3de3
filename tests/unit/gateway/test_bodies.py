import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import bodies

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
ABSENT = object()


def joined(body: bytes) -> bytes:
    return b"".join(bodies.with_usage_asked(body, bodies.read(body)))


@given(
    st.dictionaries(st.text(), VALUES, max_size=5),
    st.sampled_from([ABSENT, None, {}, {"include_usage": False}, {"x": {"include_usage": 1}}]),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_asking_for_usage_changes_nothing_else(
    more: dict[str, object], options: object, is_ascii: bool, is_wide: bool, random: object
) -> None:
    document: dict[str, object] = {**more, "model": "m", "stream": True}
    document.pop("stream_options", None)
    if options is not ABSENT:
        document["stream_options"] = options
    keys = list(document)
    random.shuffle(keys)  # type: ignore[attr-defined]
    document = {key: document[key] for key in keys}
    text = json.dumps(document, ensure_ascii=is_ascii, indent=2 if is_wide else None).encode()
    options = options if isinstance(options, dict) else {}
    assert json.loads(joined(text)) == {**document, "stream_options": {**options, "include_usage": True}}


@pytest.mark.parametrize(
    ("body", "result"),
    [
        pytest.param(
            b'{"model":"m","stream":true}',
            b'{"stream_options":{"include_usage":true},"model":"m","stream":true}',
            id="absent",
        ),
        pytest.param(
            b' {"model":"m", "stream_options" : null , "stream":true}',
            b' {"model":"m", "stream_options" : {"include_usage":true} , "stream":true}',
            id="null, with spaces",
        ),
        pytest.param(
            b'{"x":{"stream_options":{}},"model":"m","stream":true}',
            b'{"stream_options":{"include_usage":true},"x":{"stream_options":{}},"model":"m","stream":true}',
            id="the same key deeper",
        ),
        pytest.param(
            b'{"model":"m","strea\\u006d_options":{},"stream":true}',
            b'{"model":"m","strea\\u006d_options":{"include_usage":true},"stream":true}',
            id="the key escaped",
        ),
        pytest.param(
            b'{"model":"m","stream_options":"no","stream":true}',
            b'{"model":"m","stream_options":"no","stream":true}',
            id="something else is left for the engine to refuse",
        ),
        pytest.param(
            b'{"model":"m","stream_options":{"x":[1e999,12345678901234567890123]},"stream":true}',
            b'{"model":"m","stream_options":{"x":[1e999,12345678901234567890123],"include_usage":true},"stream":true}',
            id="numbers that Python has no room for stay as they are",
        ),
        pytest.param(
            b'{"model":"m","stream_options":1e999,"stream":true}',
            b'{"model":"m","stream_options":1e999,"stream":true}',
            id="such a number instead of an object",
        ),
    ],
)
def test_only_the_option_is_written_anew(body: bytes, result: bytes) -> None:
    assert joined(body) == result


def test_a_large_body_is_not_copied() -> None:
    body = b'{"model":"m","stream":true,"messages":"' + b"x" * 1_000_000 + b'"}'
    pieces = bodies.with_usage_asked(body, bodies.read(body))
    assert isinstance(pieces[-1], memoryview)
    assert pieces[-1].obj is body


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        pytest.param(b'{"model":"m"}', ("m", False, False), id="plain"),
        pytest.param(b'{"model":"m","stream":true}', ("m", True, False), id="stream"),
        pytest.param(b'{"model":"m","stream":null}', ("m", False, False), id="null is false"),
        pytest.param(
            b'{"model":"m","stream":true,"stream_options":{"include_usage":true}}', ("m", True, True), id="usage"
        ),
        pytest.param(
            b'{"model":"m","stream":true,"stream_options":{"include_usage": null}}', ("m", True, False), id="no usage"
        ),
        pytest.param('{"model":"模型/😀"}'.encode(), ("模型/😀", False, False), id="any name"),
        pytest.param(
            b'{"model":"\\u6a21","x":{"model":"y","model":"z"}}', ("模", False, False), id="repeats deeper are not ours"
        ),
        pytest.param(bytearray(b'{"model":"m"}'), ("m", False, False), id="a bytearray"),
    ],
)
def test_what_a_body_asks_for(body: bytes, asked: tuple[str, bool, bool]) -> None:
    found = bodies.read(body)
    assert (found.model, found.is_stream, found.wants_usage) == asked


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b" \n", "body_empty", id="blank"),
        pytest.param(b'{"model":"m",}', "body_not_json", id="trailing comma"),
        pytest.param(b'{"model":"m","x":NaN}', "body_not_json", id="NaN"),
        pytest.param(b'{"model":"m"} {}', "body_not_json", id="two documents"),
        pytest.param(b'\xef\xbb\xbf{"model":"m"}', "body_not_json", id="byte order mark"),
        pytest.param(b'{"model":"\\ud800"}', "body_not_json", id="half a surrogate pair"),
        pytest.param(b'{"model":"m","stream_options":{"\\ud800":1}}', "body_not_json", id="half a pair in an option"),
        pytest.param(b"null", "body_not_object", id="null"),
        pytest.param(b'{"model":""}', "model_missing", id="empty name"),
        pytest.param(b'{"model":null}', "model_not_text", id="null name"),
        pytest.param(b'{"model":"m","stream":1}', "stream_not_boolean", id="stream 1"),
        pytest.param(b'{"model":"m","stream":true,"stream":false}', "body_repeats_key", id="stream twice"),
        pytest.param(b'{"x":"\\u0041","model":"m","mode\\u006c":"m"}', "body_repeats_key", id="model twice, escaped"),
    ],
)
def test_a_bad_body_has_a_code(body: bytes, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        bodies.read(body)
    assert refused.value.code == code
    assert refused.value.status == 400


PAIRS = st.lists(
    st.tuples(
        st.sampled_from(['"messages"', '"prompt"', '"input"', '"model"', '"stream"', '"x"', '"a\\"messages"']),
        st.sampled_from(['[{"model":"y","stream":1}]', '["messages"]', '{"messages":[],"model":"z"}', '"m"', "true"]),
        st.sampled_from([":", ": ", " : "]),
    ),
    max_size=5,
)


@given(PAIRS)
def test_a_key_that_is_named_twice_is_found_wherever_the_prompt_stands(pairs: list[tuple[str, str, str]]) -> None:
    named = [(name, colon, value) for name, value, colon in pairs if name != '"model"' or value == '"m"']
    named = [(name, colon, value) for name, colon, value in named if name != '"stream"' or value == "true"]
    body = "{" + ",".join(["".join(each) for each in [*named, ('"model"', ":", '"m"')]]) + "}"
    names = [name for name, _, _ in named]
    try:
        bodies.read(body.encode())
        is_refused = False
    except Refusal as refusal:
        is_refused = refusal.code == "body_repeats_key"
    assert is_refused == ('"model"' in names or names.count('"stream"') > 1)


def test_the_models_name_is_replaced_at_the_top_alone() -> None:
    body = b'{"messages":[{"model":"m"}],"model": "m", "n":1}'
    assert (
        b"".join(bodies.with_model([body], 'served "x"'))
        == rb'{"messages":[{"model":"m"}],"model": "served \"x\"", "n":1}'
    )
