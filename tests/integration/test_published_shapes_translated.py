"""Whatever Anthropic publishes is translated, or refused by the name of a field. Beside what is slow to import."""

import json
from typing import Any

import pytest
from anthropic.types import ContentBlockParam, ToolUnionParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.anthropic import fields
from gpustack_lite.gateway.anthropic.asking import chat_request
from tests.fakes.published_shapes import bodies, values

pytestmark = pytest.mark.integration
Body = dict[str, Any]
ASKED: Body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
FIELDS = list(bodies(MessageCreateParamsNonStreaming, **ASKED))
TURNS = [
    (f"{role} {number} {block['type']}", {**ASKED, "messages": [{"role": role, "content": [block]}]})
    for role in ("user", "assistant")
    for number, block in enumerate(values(ContentBlockParam))
]
TOOLS = [(f"tool {number}", {**ASKED, "tools": [tool]}) for number, tool in enumerate(values(ToolUnionParam))]
LEFT_OUT = {"cache_control", "diagnostics", "inference_geo", "service_tier", "speed", "user_profile_id", "workspace_id"}


def told(body: Body) -> Body | Refusal:
    try:
        return chat_request(fields.document(json.dumps(body).encode()))
    except Refusal as refusal:
        return refusal


@pytest.mark.parametrize("tried", [FIELDS, TURNS, TOOLS], ids=["fields", "turns", "tools"])
def test_everything_published_is_translated_or_refused_by_its_name(tried: list[tuple[str, Body]]) -> None:
    assert len(tried) > 20
    for name, body in tried:
        found = told(body)
        if isinstance(found, Refusal):
            assert (found.status, found.code.partition("_")[0]) == (400, "anthropic"), name
            assert found.param, name
        else:
            assert {"model", "messages", "max_tokens"} <= set(json.loads(json.dumps(found))), name


def test_what_is_left_out_is_known() -> None:
    """A field that Anthropic adds is refused by its name until somebody decides; no field passes unnoticed."""
    answers = [(name.split()[0], told(body), body) for name, body in FIELDS]
    refused = {field for field, found, _ in answers if isinstance(found, Refusal) and found.param == field}
    assert refused == {"container"}
    plain = chat_request(ASKED)
    silent = {field for field, found, body in answers if found == plain and body.get(field) is not None}
    assert LEFT_OUT <= silent <= LEFT_OUT | {"metadata", "output_config", "stream", "thinking", "tool_choice"}


def test_blocks_that_a_chat_can_say_are_said() -> None:
    said = {name.rsplit(" ", 1)[1] for name, body in TURNS if not isinstance(told(body), Refusal)}
    assert {"text", "image", "thinking", "redacted_thinking", "tool_use", "tool_result"} == said
