import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway.jsonspans import NotAnObject, elements, members

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(
    st.dictionaries(st.text(), JSON, max_size=5),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]),
)
def test_the_spans_are_where_a_json_parser_finds_the_members(
    document: dict[str, object], is_ascii: bool, separators: tuple[str, str]
) -> None:
    text = f" \n{json.dumps(document, ensure_ascii=is_ascii, separators=separators)}".encode()
    found = {json.loads(each.key): json.loads(text[each.value_start : each.value_end]) for each in members(text)}
    assert found == document
    assert all(text[each.start :].startswith(each.key) for each in members(text))


@pytest.mark.parametrize("text", [b"", b"[]", b"7", b'"x"', b'{"a"', b'{"a":', b'{"a":[', b'{"a":1 "b":2}', b'{"a":"x'])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(NotAnObject):
        list(members(text))


def test_brackets_inside_texts_do_not_count() -> None:
    text = rb'{"a": {"b": "}]\"{[", "c": ["\\"]}, "d": 1}'
    assert [each.key for each in members(text)] == [b'"a"', b'"d"']


def test_elements_of_an_array_are_found() -> None:
    text = b'{"a":[ {"b":[1]} , "x,]" ,3]}'
    starts = list(elements(text, 5))
    assert [text[start:][:3] for start in starts] == [b'{"b', b'"x,', b"3]}"]
    assert list(elements(b"[ ]", 0)) == []


def test_members_of_an_inner_object_are_found() -> None:
    text = b'{"a":{"b":1,"c":2}}'
    assert [member.key for member in members(text, 5)] == [b'"b"', b'"c"']
