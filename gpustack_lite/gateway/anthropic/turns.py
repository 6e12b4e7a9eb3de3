"""The turns of a conversation: Anthropic's blocks, as the messages of a chat."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from gpustack_lite.gateway.anthropic.fields import Json, is_among, mapping, need, not_translated, objects, text, wrong

_SAID_BY_ASSISTANTS = frozenset({"text", "thinking", "tool_use", "redacted_thinking"})
Blocks = list[tuple[str, Json]]
"""Each with its full name."""


class _Turn(NamedTuple):
    role: str
    blocks: Blocks


def of(asked: Json) -> list[Json]:
    turns = [_turn(field, each) for field, each in objects(need(asked, "messages"), "messages")]
    if not turns:
        wrong("messages", "array, not empty")
    system = _system_message(_blocks(asked["system"], "system")) if "system" in asked else []
    return [*system, *(message for turn in _joined(turns) for message in _MESSAGES[turn.role](turn.blocks))]


def _turn(field: str, message: Json) -> _Turn:
    role = text(message, "role", field)
    if role not in _MESSAGES:
        wrong(f"{field}.role", "user | assistant | system")
    return _Turn(role, _blocks(need(message, "content", field), f"{field}.content"))


def _blocks(content: object, field: str) -> Blocks:
    if isinstance(content, str):
        return [(field, {"type": "text", "text": content})]
    return objects(content, field)


def _joined(turns: Iterable[_Turn]) -> list[_Turn]:
    """Turns of one role in succession are one turn, as Anthropic has it: some chat templates refuse two."""
    joined: list[_Turn] = []
    for turn in turns:
        if joined and joined[-1].role == turn.role:
            joined[-1] = _Turn(turn.role, joined[-1].blocks + turn.blocks)
        else:
            joined.append(turn)
    return joined


# --- one turn


def _system_message(blocks: Blocks) -> list[Json]:
    return [{"role": "system", "content": _lines(_text_part(field, block)["text"] for field, block in blocks)}]


def _user_messages(blocks: Blocks) -> list[Json]:
    """Results of tools first: a chat wants them right behind the calls. Their pictures go to the user's own words."""
    results = [(field, block) for field, block in blocks if block.get("type") == "tool_result"]
    words = [(field, block) for field, block in blocks if block.get("type") != "tool_result"]
    messages, pictures = [], list[Json]()
    for field, block in results:
        parts = _result_parts(field, block)
        pictures += [part for part in parts if part["type"] != "text"]
        messages.append(
            {"role": "tool", "tool_call_id": text(block, "tool_use_id", field), "content": _said(block, parts)}
        )
    said = pictures + [_part(field, block) for field, block in words]
    return [*messages, {"role": "user", "content": _content(said)}] if said else messages


def _assistant_messages(blocks: Blocks) -> list[Json]:
    words = [text(block, "text", field) for field, block in blocks if block.get("type") == "text"]
    thoughts = [text(block, "thinking", field) for field, block in blocks if block.get("type") == "thinking"]
    calls = [_call(field, block) for field, block in blocks if block.get("type") == "tool_use"]
    for field, block in blocks:
        if not is_among(block.get("type"), _SAID_BY_ASSISTANTS):
            not_translated(f"{field}.type", block.get("type"))
    message: Json = {"role": "assistant", "content": _lines(words) if words or not calls else None}
    thought = {"reasoning_content": _lines(thoughts)} if thoughts else {}
    return [message | thought | ({"tool_calls": calls} if calls else {})]


_MESSAGES = {"user": _user_messages, "assistant": _assistant_messages, "system": _system_message}


# --- one block


def _part(field: str, block: Json) -> Json:
    return _picture(field, block) if block.get("type") == "image" else _text_part(field, block)


def _text_part(field: str, block: Json) -> Json:
    if block.get("type") != "text":
        not_translated(f"{field}.type", block.get("type"))
    return {"type": "text", "text": text(block, "text", field)}


def _picture(field: str, block: Json) -> Json:
    """Only what came with the request: by an address a client could make the engine fetch from anywhere."""
    source = mapping(need(block, "source", field), f"{field}.source")
    if source.get("type") != "base64":
        not_translated(f"{field}.source.type", source.get("type"))
    kind, data = text(source, "media_type", f"{field}.source"), text(source, "data", f"{field}.source")
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def _call(field: str, block: Json) -> Json:
    arguments = msgspec.json.encode(need(block, "input", field)).decode()
    function = {"name": text(block, "name", field), "arguments": arguments}
    return {"id": text(block, "id", field), "type": "function", "function": function}


def _result_parts(field: str, block: Json) -> list[Json]:
    return [_part(*each) for each in _blocks(block.get("content", ""), f"{field}.content")]


def _said(block: Json, parts: Sequence[Json]) -> str:
    """A chat has no mark for a tool that failed, so it is said in words."""
    words = _lines(part["text"] for part in parts if part["type"] == "text")
    return f"Error: {words}" if block.get("is_error") is True else words


def _content(parts: list[Json]) -> str | list[Json]:
    """A plain text where it is one: not every chat template takes parts."""
    if all(part["type"] == "text" for part in parts):
        return _lines(part["text"] for part in parts)
    return parts


def _lines(words: Iterable[str]) -> str:
    return "\n".join(words)
