"""The fields of a request, taken one by one; what is missing or of another kind is refused by its full name."""

from collections.abc import Collection
from typing import Any, NoReturn

import msgspec

from gpustack_lite.errors import Refusal

Json = dict[str, Any]
_decode = msgspec.json.Decoder().decode


def document(body: bytes | bytearray) -> Json:
    """Of a body that was found to be a JSON object before; what is null counts as left out."""
    try:
        found: Json = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # seen only when all of it is read
        raise Refusal("body_not_json", why=str(error)) from error
    return without_nulls(found)


def without_nulls(found: Json) -> Json:
    return {key: value for key, value in found.items() if value is not None}


def wrong(field: str, expected: str) -> NoReturn:
    raise Refusal("anthropic_field_wrong", param=field, field=field, expected=expected)


def not_translated(field: str, what: object) -> NoReturn:
    raise Refusal("anthropic_not_translated", param=field, field=field, what=str(what))


def need(holder: Json, key: str, where: str = "") -> Any:
    field = f"{where}.{key}" if where else key
    if holder.get(key) is None:
        raise Refusal("anthropic_field_missing", param=field, field=field)
    return holder[key]


def is_among(value: object, known: Collection[str]) -> bool:
    """Of whatever kind it is: a list or an object cannot be looked up in a set."""
    return isinstance(value, str) and value in known


def text(holder: Json, key: str, where: str = "") -> str:
    value = need(holder, key, where)
    return value if isinstance(value, str) else wrong(f"{where}.{key}" if where else key, "string")


def mapping(value: object, field: str) -> Json:
    return without_nulls(value) if isinstance(value, dict) else wrong(field, "object")


def objects(value: object, field: str) -> list[tuple[str, Json]]:
    """Each member with its full name."""
    if not isinstance(value, list):
        wrong(field, "array")
    return [(f"{field}.{at}", mapping(each, f"{field}.{at}")) for at, each in enumerate(value)]
