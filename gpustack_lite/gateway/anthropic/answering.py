"""A whole chat completion, as the message that it is."""

from collections.abc import Collection
from typing import Any

import msgspec

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.anthropic.fields import Json

_STOP_REASONS = {
    "stop": "end_turn",
    "eos_token": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "stop_sequence": "stop_sequence",
}
_decode = msgspec.json.Decoder().decode


def message(completion: Json, model: str, stops: Collection[str]) -> Json:
    """
    Raises:
        Refusal: 502 when it is no chat completion, or calls a tool with something that is no JSON object.
    """
    choice = _choice(completion, model)
    said = choice.get("message")
    if not isinstance(said, dict):
        raise unreadable(model)
    calls = array(said.get("tool_calls"))
    return {
        **head(completion, model),
        "content": [*_thoughts(said), *_words(said), *_calls(calls, choice, model)],
        **stop(choice, stops, has_calls=bool(calls)),
        "usage": usage(completion.get("usage")),
    }


def mapping(value: object) -> Json:
    """What an engine says is of its kind, or nothing: nobody has checked its answer."""
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def words_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def unreadable(model: str) -> Refusal:
    return Refusal("anthropic_answer_unreadable", status=502, model=model)


def _choice(completion: Json, model: str) -> Json:
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise unreadable(model)
    return choices[0]


def head(completion: Json, model: str) -> Json:
    """The id of the engine in Anthropic's spelling, and the name that the client asked for."""
    return {"id": f"msg_{completion.get('id', '')}", "type": "message", "role": "assistant", "model": model}


def _thoughts(said: Json) -> list[Json]:
    thought = thought_of(said)
    return [{"type": "thinking", "thinking": thought, "signature": ""}] if thought else []


def thought_of(said: Json) -> str:
    """Some engines say it in one spelling, some in both."""
    return words_of(said.get("reasoning_content") or said.get("reasoning"))


def _words(said: Json) -> list[Json]:
    words = words_of(said.get("content") or said.get("refusal"))
    return [{"type": "text", "text": words}] if words else []


def _calls(calls: list[Any], choice: Json, model: str) -> list[Json]:
    """A call that was cut off by max_tokens is left out: stop_reason says why."""
    blocks = [_call(each) for each in calls]
    whole = [each for each in blocks if each is not None]
    if len(whole) < len(blocks) and choice.get("finish_reason") != "length":
        raise Refusal("anthropic_tool_arguments", status=502, model=model)
    return whole


def _call(given: object) -> Json | None:
    call = mapping(given)
    function = mapping(call.get("function"))
    arguments = _arguments(function.get("arguments") or "{}")
    name = words_of(function.get("name"))
    if arguments is None or not name:
        return None
    return {"type": "tool_use", "id": words_of(call.get("id")), "name": name, "input": arguments}


def _arguments(given: object) -> Json | None:
    try:
        found: Any = _decode(given) if isinstance(given, str) else given
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def stop(choice: Json, stops: Collection[str], *, has_calls: bool) -> Json:
    """`stop_reason` is null where the engine gave none, or one that we do not know: none is made up.

    vLLM names the sequence that matched in `stop_reason`, SGLang in `matched_stop`; others do not say.
    """
    matched = next((each for each in (choice.get("stop_reason"), choice.get("matched_stop")) if each in stops), None)
    if matched is not None:
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    reason = _STOP_REASONS.get(str(choice.get("finish_reason")))
    return {"stop_reason": "tool_use" if reason == "end_turn" and has_calls else reason, "stop_sequence": None}


def usage(counts: object) -> Json:
    """Anthropic counts what came from the cache apart."""
    said = mapping(counts)
    cached = _count(mapping(said.get("prompt_tokens_details")).get("cached_tokens"))
    return {
        "input_tokens": max(_count(said.get("prompt_tokens")) - cached, 0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": _count(said.get("completion_tokens")),
    }


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
