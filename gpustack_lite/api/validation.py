"""What FastAPI and pydantic found wrong with a request, as one of our sentences."""

from collections.abc import Mapping, Sequence
from json import JSONDecodeError
from typing import Any

from gpustack_lite.errors import Refusal

_EXPECTED: dict[str, str] = {
    "int_type": "field_not_integer",
    "int_parsing": "field_not_integer",
    "int_from_float": "field_not_integer",
    "int_parsing_size": "field_not_integer",
    "float_type": "field_not_number",
    "float_parsing": "field_not_number",
    "string_type": "field_not_text",
    "string_unicode": "field_not_text",
    "bool_type": "field_not_boolean",
    "bool_parsing": "field_not_boolean",
    "dict_type": "field_not_object",
    "model_type": "field_not_object",
    "model_attributes_type": "field_not_object",
    "list_type": "field_not_list",
    "tuple_type": "field_not_list",
    "datetime_type": "field_not_time",
    "datetime_parsing": "field_not_time",
    "datetime_from_date_parsing": "field_not_time",
    "timezone_aware": "field_not_time",
    "missing": "field_missing",
    "extra_forbidden": "field_unknown",
}
_BOUNDS: dict[str, tuple[str, str, str]] = {
    "greater_than_equal": ("field_out_of_bounds", "≥", "ge"),
    "greater_than": ("field_out_of_bounds", ">", "gt"),
    "less_than_equal": ("field_out_of_bounds", "≤", "le"),
    "less_than": ("field_out_of_bounds", "<", "lt"),
    "string_too_long": ("field_length", "≤", "max_length"),
    "string_too_short": ("field_length", "≥", "min_length"),
    "too_long": ("field_length", "≤", "max_length"),
    "too_short": ("field_length", "≥", "min_length"),
}


def refusal(errors: Sequence[Mapping[str, Any]], body: Any = None) -> Refusal:
    """The first error alone: one clear sentence is better than a list."""
    error = min(errors, key=lambda each: each["type"] != "json_invalid")
    kind = error["type"]
    name = _name(error["loc"])
    if kind == "json_invalid":
        return _invalid_json(error, body)
    if not name:
        return _no_object(body)
    if kind in _EXPECTED:
        return Refusal(_EXPECTED[kind], param=name, name=name)
    if kind in _BOUNDS:
        code, bound, limit_name = _BOUNDS[kind]
        return Refusal(code, param=name, name=name, bound=bound, limit=error.get("ctx", {}).get(limit_name))
    if kind == "literal_error":
        return Refusal("field_not_one_of", param=name, name=name, expected=str(error.get("ctx", {}).get("expected")))
    return Refusal("field_invalid", param=name, name=name, why=str(error["msg"]))


def _name(location: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in location[1:])


def _no_object(body: Any) -> Refusal:
    if body is None:
        return Refusal("body_missing")
    return Refusal("body_not_sent_as_json") if isinstance(body, bytes) else Refusal("body_not_an_object")


def _invalid_json(error: Mapping[str, Any], body: Any) -> Refusal:
    position = int(error["loc"][1])
    before = body[:position] if isinstance(body, str) else ""
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    why = str(error.get("ctx", {}).get("error", ""))
    return Refusal("json_malformed", line=line, column=column, position=position, why=why)


def unreadable(cause: BaseException | None) -> Refusal:
    """A body that could not even be taken for JSON."""
    if isinstance(cause, UnicodeDecodeError):
        return Refusal("body_not_utf8", position=cause.start)
    if isinstance(cause, JSONDecodeError):
        return Refusal("json_malformed", line=cause.lineno, column=cause.colno, position=cause.pos, why=cause.msg)
    return Refusal("body_unreadable")
