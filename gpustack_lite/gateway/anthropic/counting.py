"""Counting the tokens of a request by the engine's own tokenizer; nothing is ever estimated.

vLLM and SGLang: POST /tokenize with the messages answers `count`. llama.cpp: POST /apply-template answers `prompt`,
and POST /tokenize of that answers `tokens`.
"""

from typing import Any

import msgspec

from gpustack_lite.gateway.anthropic import asking
from gpustack_lite.gateway.anthropic.fields import Json

TOKENIZE = "/tokenize"
APPLY_TEMPLATE = "/apply-template"
_KEPT = ("model", "messages", "tools", "tool_choice", "chat_template_kwargs", "response_format")
_decode = msgspec.json.Decoder().decode


def conversation(asked: Json) -> Json:
    """What is to be counted, as a chat; `max_tokens` is no part of the question."""
    chat = asking.chat_request({**asked, "max_tokens": 1})
    return {key: chat[key] for key in _KEPT if key in chat} | {"add_generation_prompt": True}


def content(prompt: str) -> Json:
    return {"content": prompt, "add_special": True, "parse_special": True}


def count_of(answer: bytes) -> int | None:
    found = _object(answer).get("count")
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def prompt_of(answer: bytes) -> str | None:
    found = _object(answer).get("prompt")
    return found if isinstance(found, str) else None


def length_of(answer: bytes) -> int | None:
    found = _object(answer).get("tokens")
    return len(found) if isinstance(found, list) and found else None


def _object(answer: bytes) -> Json:
    try:
        found: Any = _decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
