"""Bodies made from the types that a client's package publishes for an endpoint: each field alone, and all together."""

import collections.abc
import types
import typing
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typing_extensions

MOST_VALUES = 6
"""Of one field; a union of dozens of tools is tried by its first ones alone and by all of them in the full body."""
DEEPEST = 5
_WRAPPERS = {typing.Required, typing.NotRequired, typing.Annotated, typing_extensions.Required}
_PLAIN: Mapping[object, tuple[object, ...]] = {
    str: ("你好 \\u0041 🌍",),
    int: (3,),
    float: (0.5,),
    bool: (True, False),
    type(None): (None,),
    object: ({"any": ["thing"]},),
    Any: ("anything",),
}
Body = dict[str, Any]
PICTURE = "data:image/png;base64,iVBORw0KGgo="
"""For members that an engine would fetch: any other address is refused at the gateway (`media_hosts`)."""
_FETCHED = frozenset({"url", "image_url", "file_url"})


def bodies(shape: type, **fixed: Any) -> Iterator[tuple[str, Body]]:
    """Each with the name of what is tried in it. `fixed` are fields whose value is given."""
    hints = get_type_hints(shape, include_extras=True)
    least = {key: next(values(hint)) for key, hint in hints.items() if is_required(hint)} | fixed
    yield "least", least
    for key, hint in hints.items():
        if key not in fixed:
            for number, value in enumerate(islice(values(hint), MOST_VALUES)):
                yield f"{key} {number}", {**least, key: value}
    yield "all", {key: fullest(hint) for key, hint in hints.items()} | fixed


def is_required(hint: object) -> bool:
    return get_origin(hint) in {typing.Required, typing_extensions.Required}


def fullest(hint: object) -> Any:
    """The last of the values: unions and shapes name their richest member last."""
    return list(islice(values(hint), 200))[-1]


def values(hint: object, depth: int = 0) -> Iterator[Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in _WRAPPERS:
        yield from values(inner[0], depth)
    elif origin is Literal:
        yield from inner
    elif origin in {Union, types.UnionType}:
        for each in inner:
            yield from values(each, depth)
    elif typing_extensions.is_typeddict(hint):
        yield from _objects(typing.cast(type, hint), depth)
    elif _is_mapping(origin or hint):
        yield {"key": next(values(inner[1], depth + 1), None) if inner else 1}
    elif _is_list(origin or hint):
        yield list(islice(values(inner[0], depth + 1), 40))
    else:
        yield from _PLAIN.get(hint, ())


def _objects(shape: type, depth: int) -> Iterator[Body]:
    hints = get_type_hints(shape, include_extras=True)
    yield {key: _member(key, hint, depth) for key, hint in hints.items() if is_required(hint)}
    if depth < DEEPEST:
        yield {key: _member(key, hint, depth) for key, hint in hints.items()}


def _member(key: str, hint: object, depth: int) -> Any:
    value = next(values(hint, depth + 1), "x")
    return PICTURE if key in _FETCHED and isinstance(value, str) else value


def _is_mapping(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, collections.abc.Mapping)


def _is_list(kind: object) -> bool:
    """Also the packages' own SequenceNotStr, which is a protocol."""
    is_sequence = isinstance(kind, type) and issubclass(kind, collections.abc.Iterable) and kind not in {str, bytes}
    return is_sequence or getattr(kind, "__name__", "") == "SequenceNotStr"
