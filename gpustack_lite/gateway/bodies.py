"""The three fields of a request body that the gateway must know, and their replacement without rewriting the rest."""

from collections.abc import Mapping

import msgspec

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import jsonspans
from gpustack_lite.gateway.jsonspans import Bytes, Member

Piece = bytes | bytearray | memoryview
_INJECTED = b'"stream_options":{"include_usage":true}'


Count = int | None
Long = msgspec.Raw | msgspec.UnsetType


class _Plain(msgspec.Struct, gc=False):
    """What nearly every body is like; any other is read value by value."""

    model: str
    stream: bool | None = None
    stream_options: dict[str, msgspec.Raw] | None = None
    max_completion_tokens: Count = None
    max_tokens: Count = None
    max_output_tokens: Count = None
    messages: Long = msgspec.UNSET
    prompt: Long = msgspec.UNSET
    input: Long = msgspec.UNSET


class _Peek(msgspec.Struct):
    model: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    stream: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    stream_options: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    max_tokens: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    max_completion_tokens: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    max_output_tokens: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Asked(msgspec.Struct, frozen=True):
    """What a body asks for. `wants_usage` is the client's own include_usage; `most_tokens` its bound on the answer."""

    model: str
    is_stream: bool
    wants_usage: bool
    stream_options: dict[str, msgspec.Raw] | None
    most_tokens: int | None = None


_plain = msgspec.json.Decoder(_Plain).decode
_peek = msgspec.json.Decoder(_Peek)
_string = msgspec.json.Decoder(str)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
"""Its values stay as they are spelt: a number may be one that Python has no room for."""
_UNTRUE = frozenset({b"false", b"null", b"0", b'""'})
_KEYS = frozenset({"model", "stream", "stream_options"})
_SPELT = (b'"model"', b'"stream"', b'"stream_options"')
LONG_BYTES = 1024 * 1024
"""Of a longer body nothing is copied."""
_OPENING = frozenset(b'[{"')
_MOST_TOKENS = 10**9


def read(body: Bytes) -> Asked:
    """
    Raises:
        Refusal: `body_not_json`, `body_not_utf8`, `body_repeats_key`, `model_missing`, `model_not_text` or
            `stream_not_boolean`.
    """
    if len(body) > LONG_BYTES:
        return _read_odd(body)
    try:
        plain = _plain(body)
    except (msgspec.DecodeError, RecursionError):
        return _read_odd(body)
    if not plain.model or (not body.isascii() and not _is_utf8(body)):
        return _read_odd(body)
    if _may_repeat(_without_prompt(body, plain)):
        _refuse_repeated(body)
    options, most = plain.stream_options, plain.max_tokens
    if most is None or plain.max_completion_tokens is not None or not 0 <= most < _MOST_TOKENS:
        most = _first_known(plain.max_completion_tokens, plain.max_tokens, plain.max_output_tokens)
    wants_usage = options is not None and _is_true(options.get("include_usage"))
    return Asked(plain.model, plain.stream is True, wants_usage, options, most)


def _may_repeat(part: Bytes) -> bool:
    """Whether `part`, in which all keys of a body stand, could name one of ours twice."""
    has_escapes = b"\\" in part and b"\\u" in part  # one byte is found much faster than two
    return has_escapes or any([part.count(key) > 1 for key in _SPELT])


def _is_utf8(body: Bytes) -> bool:
    """msgspec passes over strings that it need not keep."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _first_known(*counts: Count) -> Count:
    """The first that can be meant."""
    for each in counts:
        if each is not None and 0 <= each < _MOST_TOKENS:
            return each
    return None


def _without_prompt(body: Bytes, plain: _Plain) -> Bytes:
    """The body around the value of the key that holds the prompt, which is most of it and names no key of ours.

    What is cut out is one whole list, object or text, so no key beside it can hide in it.
    """
    value, mark = plain.messages, b'"messages":'
    if value is msgspec.UNSET:
        value, mark = (plain.input, b'"input":') if plain.prompt is msgspec.UNSET else (plain.prompt, b'"prompt":')
    if value is msgspec.UNSET:
        return body
    text, start = bytes(value), body.find(mark) + len(mark)
    if body[start : start + 1] == b" ":
        start += 1
    is_cut_out = start > len(mark) and text[0] in _OPENING and body.startswith(text, start)
    return body[:start] + body[start + len(text) :] if is_cut_out else body


def _read_odd(body: Bytes) -> Asked:
    peek = _decode(body)
    if _may_repeat(body):
        _refuse_repeated(body)
    options = None if peek.stream_options is msgspec.UNSET else _members(peek.stream_options)
    return Asked(
        model=_model(peek),
        is_stream=_stream(peek),
        wants_usage=_is_true((options or {}).get("include_usage")),
        stream_options=options,
        most_tokens=_most_tokens(peek),
    )


def _members(value: msgspec.Raw | bytes) -> dict[str, msgspec.Raw] | None:
    """None where it is no object: that is the engine's to refuse."""
    try:
        return _object.decode(value)
    except msgspec.ValidationError:
        return None
    except msgspec.DecodeError as error:  # escapes that stand for no character are met only here
        raise Refusal("body_not_json", why=str(error)) from error


def _is_true(value: msgspec.Raw | None) -> bool:
    return value is not None and bytes(value) not in _UNTRUE


def _most_tokens(peek: _Peek) -> int | None:
    """A hint for the choice of a replica: what is no whole number is the engine's to refuse."""
    for raw in (peek.max_completion_tokens, peek.max_tokens, peek.max_output_tokens):
        if raw is not msgspec.UNSET and (text := bytes(raw)).isdigit() and len(text) < 10:
            return int(text)
    return None


def _decode(body: Bytes) -> _Peek:
    if not body or body.isspace():
        raise Refusal("body_empty")
    try:
        if not body.isascii():
            body.decode("utf-8")  # msgspec passes over strings that it need not keep
        return _peek.decode(body)
    except UnicodeDecodeError as error:
        raise _not_json(body, Refusal("body_not_utf8", position=error.start)) from error
    except msgspec.ValidationError as error:
        raise Refusal("body_not_object") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _not_json(body, Refusal("body_not_json", why=str(error))) from error


def _not_json(body: Bytes, refusal: Refusal) -> Refusal:
    """A form is told what it is: its first bytes are those of no JSON."""
    return Refusal("form_not_wanted", status=415) if body.startswith(b"--") else refusal


def _model(peek: _Peek) -> str:
    if peek.model is msgspec.UNSET:
        raise Refusal("model_missing", param="model")
    try:
        model = _string.decode(peek.model)
    except msgspec.DecodeError as error:
        raise Refusal("model_not_text", param="model") from error
    if not model:
        raise Refusal("model_missing", param="model")
    return model


def _stream(peek: _Peek) -> bool:
    """null is false, as OpenAI has it."""
    value = None if peek.stream is msgspec.UNSET else bytes(peek.stream)
    if value not in {None, b"true", b"false", b"null"}:
        raise Refusal("stream_not_boolean", param="stream")
    return value == b"true"


def _refuse_repeated(body: Bytes) -> None:
    """Two spellings of one key are how a gateway and an engine come to read different models."""
    seen: set[str] = set()
    for member in jsonspans.members(body):
        key = _key(member)
        if key in seen and key in _KEYS:
            raise Refusal("body_repeats_key", param=key, key=key)
        seen.add(key)


def _key(member: Member) -> str:
    try:
        return _string.decode(member.key)
    except msgspec.DecodeError as error:
        raise Refusal("body_not_json", why=str(error)) from error


def with_usage_asked(body: Bytes, asked: Asked) -> list[Piece]:
    """The same body, now with include_usage; nothing else of it is touched, whatever its size."""
    if asked.stream_options is None and b"stream_options" not in body and b"\\u" not in body:
        return _inserted(body)
    member = _find(body, "stream_options")
    if member is None:
        return _inserted(body)
    value = bytes(memoryview(body)[member.value_start : member.value_end])
    options = {} if value == b"null" else _members(value)
    if options is None:
        return [body]
    return _replaced(body, member, {**options, "include_usage": msgspec.Raw(b"true")})


def with_model(pieces: list[Piece], name: str) -> list[Piece]:
    """The same body, asking for the name that the engine knows the model by."""
    body = b"".join(pieces)
    member = _find(body, "model")
    return pieces if member is None else _replaced(body, member, name)


def _inserted(body: Bytes) -> list[Piece]:
    after = jsonspans.first_brace(body) + 1
    view = memoryview(body)
    return [view[:after], _INJECTED + b",", view[after:]]


def _replaced(body: Bytes, member: Member, value: Mapping[str, object] | str) -> list[Piece]:
    view = memoryview(body)
    return [view[: member.value_start], msgspec.json.encode(value), view[member.value_end :]]


def _find(body: Bytes, key: str) -> Member | None:
    return next((each for each in jsonspans.members(body) if _key(each) == key), None)
