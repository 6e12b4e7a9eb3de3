"""How many tokens an answer says it took, in the spellings of OpenAI's chat and responses and Anthropic's messages."""

import re
from collections.abc import Iterable

import msgspec

from gpustack_lite.domain import Usage

Count = int | None
_MOST = 2**31 - 1
"""What a column of every database takes: an engine that claims more is not believed, and holds back no other row."""
WHOLE_BYTES = 1024**2
"""Above this an answer is looked at in its first and last part only: vectors are long, and usage is beside them."""
END_BYTES = 16 * 1024
_USAGE_OBJECT = re.compile(rb'"usage"\s*:\s*(\{(?:[^{}]|\{[^{}]*\})*\})')


class _Details(msgspec.Struct):
    cached_tokens: Count = None
    reasoning_tokens: Count = None


class UsageDoc(msgspec.Struct):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    prompt_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Inner(msgspec.Struct):
    usage: UsageDoc | None = None


class Frame(msgspec.Struct):
    """The parts of a stream's event, or of a whole answer, that concern the account."""

    choices: list[msgspec.Raw] | None = None
    usage: UsageDoc | None = None
    response: _Inner | None = None
    message: _Inner | None = None


class _Whole(msgspec.Struct, gc=False):
    """The same of a whole answer, whose choices are nobody's concern."""

    usage: UsageDoc | None = None
    response: _Inner | None = None
    message: _Inner | None = None


_frame = msgspec.json.Decoder(Frame)
_whole = msgspec.json.Decoder(_Whole)
_usage = msgspec.json.Decoder(UsageDoc)


def frame(text: bytes | bytearray) -> Frame | None:
    """None where it is no JSON object, or counts in ways that we do not know."""
    try:
        return _frame.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def of_frame(found: Frame | _Whole) -> Usage | None:
    if found.usage is not None:
        return _of(found.usage)
    for outer in (found.response, found.message):
        if outer is not None and outer.usage is not None:
            return _of(outer.usage)
    return None


def of_answer(text: bytes | bytearray) -> Usage | None:
    try:
        return of_frame(_whole.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def of_ends(first: bytes | bytearray, last: bytes | bytearray) -> Usage | None:
    """From the first and the last part of a long answer."""
    for part in (last, first):
        for found in reversed(_USAGE_OBJECT.findall(part)):
            try:
                return _of(_usage.decode(found))
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
    return None


def _of(said: UsageDoc) -> Usage:
    prompt, completion = said.prompt_tokens, said.completion_tokens
    is_plain = said.prompt_tokens_details is None and said.completion_tokens_details is None
    if is_plain and prompt is not None and completion is not None and 0 <= prompt <= _MOST and 0 <= completion <= _MOST:
        return Usage(prompt, completion)
    return _of_any(said)


def _of_any(said: UsageDoc) -> Usage:
    cached = _first(_each(said.prompt_tokens_details, said.input_tokens_details, "cached_tokens"))
    return Usage(
        prompt_tokens=_first((said.prompt_tokens, _anthropic_input(said))),
        completion_tokens=_first((said.completion_tokens, said.output_tokens)),
        cached_tokens=_first((cached, said.cache_read_input_tokens)),
        reasoning_tokens=_first(_each(said.completion_tokens_details, said.output_tokens_details, "reasoning_tokens")),
    )


def _anthropic_input(said: UsageDoc) -> Count:
    """Anthropic counts what came from the cache apart; OpenAI counts it in."""
    if said.input_tokens is None:
        return None
    return said.input_tokens + (said.cache_read_input_tokens or 0) + (said.cache_creation_input_tokens or 0)


def _each(one: _Details | None, other: _Details | None, name: str) -> Iterable[Count]:
    return (getattr(each, name) for each in (one, other) if each is not None)


def _first(counts: Iterable[Count]) -> Count:
    return next((each for each in counts if each is not None and 0 <= each <= _MOST), None)


def merged(before: Usage | None, after: Usage) -> Usage:
    """What was said later wins where it says anything: a stream may tell input and output in different events."""
    if before is None:
        return after
    return Usage(
        prompt_tokens=_first((after.prompt_tokens, before.prompt_tokens)),
        completion_tokens=_first((after.completion_tokens, before.completion_tokens)),
        cached_tokens=_first((after.cached_tokens, before.cached_tokens)),
        reasoning_tokens=_first((after.reasoning_tokens, before.reasoning_tokens)),
    )
