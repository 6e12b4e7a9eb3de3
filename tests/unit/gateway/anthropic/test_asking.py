import json
from typing import Any

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.anthropic import fields
from gpustack_lite.gateway.anthropic.asking import chat_request

PNG = {"type": "base64", "media_type": "image/png", "data": "iVBOR"}
PICTURE = {"type": "image", "source": PNG}
PICTURE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR"}}
TOOL = {"name": "look", "input_schema": {"type": "object"}}


def asked(*messages: object, **more: object) -> dict[str, Any]:
    said = messages or ({"role": "user", "content": "hi"},)
    return fields.document(json.dumps({"model": "m", "max_tokens": 9, "messages": said, **more}).encode())


def turns(*messages: object, **more: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chat_request(asked(*messages, **more))["messages"]
    return found


def user(*blocks: object) -> dict[str, object]:
    return {"role": "user", "content": list(blocks)}


def words(text: str, **more: object) -> dict[str, object]:
    return {"type": "text", "text": text, **more}


def result(content: object, **more: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **more}


def test_the_least_that_can_be_asked() -> None:
    assert chat_request(asked()) == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, id="stream"),
        pytest.param({"stream": False}, {}, id="no stream"),
        pytest.param(
            {"temperature": 0, "top_p": 0.5, "top_k": 3}, {"temperature": 0, "top_p": 0.5, "top_k": 3}, id="as is"
        ),
        pytest.param({"temperature": None, "tools": None, "system": None}, {}, id="null is left out"),
        pytest.param({"stop_sequences": ["a", "b"]}, {"stop": ["a", "b"]}, id="stop sequences"),
        pytest.param({"stop_sequences": []}, {}, id="no stop sequence"),
        pytest.param({"metadata": {"user_id": "u"}}, {"user": "u"}, id="user"),
        pytest.param({"metadata": {}}, {}, id="no user"),
        pytest.param(
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"chat_template_kwargs": {"enable_thinking": True, "thinking_budget": 1024}},
            id="thinking",
        ),
        pytest.param(
            {"thinking": {"type": "disabled"}}, {"chat_template_kwargs": {"enable_thinking": False}}, id="no thinking"
        ),
        pytest.param({"thinking": {"type": "adaptive"}}, {}, id="thinking as the model likes"),
        pytest.param({"output_config": {"effort": "max"}}, {"reasoning_effort": "high"}, id="effort"),
        pytest.param(
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
                }
            },
            id="structured output",
        ),
        pytest.param(
            {"service_tier": "auto", "cache_control": {"type": "ephemeral"}, "speed": "fast"}, {}, id="its own"
        ),
        pytest.param({"tool_choice": {"type": "any"}}, {}, id="a choice without tools"),
    ],
)
def test_fields_are_said_in_the_words_of_a_chat(given: dict[str, object], sent: dict[str, object]) -> None:
    request = chat_request(asked(**given))
    assert {key: request[key] for key in request.keys() - {"model", "messages", "max_tokens"}} == sent


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "any"}, {"tool_choice": "required"}),
        ({"type": "none"}, {"tool_choice": "none"}),
        ({"type": "tool", "name": "look"}, {"tool_choice": {"type": "function", "function": {"name": "look"}}}),
        (
            {"type": "auto", "disable_parallel_tool_use": True},
            {"tool_choice": "auto", "parallel_tool_calls": False},
        ),
        (None, {}),
    ],
)
def test_tools_and_the_choice_among_them(choice: object, sent: dict[str, object]) -> None:
    tool = {**TOOL, "description": "d", "strict": True, "cache_control": {}, "type": "custom", "defer_loading": False}
    request = chat_request(asked(tools=[tool], tool_choice=choice))
    function = {"name": "look", "parameters": {"type": "object"}, "description": "d", "strict": True}
    assert request["tools"] == [{"type": "function", "function": function}]
    assert {key: request[key] for key in ("tool_choice", "parallel_tool_calls") if key in request} == sent


def test_the_system_prompt_stands_first_as_text_or_as_blocks() -> None:
    assert turns(system="s")[0] == {"role": "system", "content": "s"}
    assert turns(system=[words("a", cache_control={}), words("b")])[0] == {"role": "system", "content": "a\nb"}
    assert turns({"role": "user", "content": "u"}, {"role": "system", "content": "s"})[1]["role"] == "system"


def test_turns_of_one_role_in_succession_are_one() -> None:
    assert turns({"role": "user", "content": "a"}, user(words("b"))) == [{"role": "user", "content": "a\nb"}]


def test_pictures_stay_where_they_were_among_the_words() -> None:
    (said,) = turns(user(words("a"), PICTURE, words("b")))
    assert said["content"] == [words("a"), PICTURE_PART, words("b")]


def test_results_of_tools_come_before_what_else_the_user_says() -> None:
    assert turns(user(words("and?"), result([words("x"), words("y")]))) == [
        {"role": "tool", "tool_call_id": "t", "content": "x\ny"},
        {"role": "user", "content": "and?"},
    ]


def test_a_result_that_is_an_error_says_so_and_an_empty_one_is_empty() -> None:
    assert [
        each["content"]
        for each in turns(user(result("no", is_error=True), {"type": "tool_result", "tool_use_id": "t"}))
    ] == [
        "Error: no",
        "",
    ]


def test_a_picture_in_a_result_is_shown_by_the_user() -> None:
    assert turns(user(result([words("see"), PICTURE]))) == [
        {"role": "tool", "tool_call_id": "t", "content": "see"},
        {"role": "user", "content": [PICTURE_PART]},
    ]


def test_what_the_model_said_thought_and_called_is_one_message() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        words("I look."),
        {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "🌍"}},
    ]
    call = {"id": "t", "type": "function", "function": {"name": "look", "arguments": '{"at":"🌍"}'}}
    assert turns({"role": "assistant", "content": blocks}) == [
        {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [call]}
    ]
    assert turns({"role": "assistant", "content": blocks[3:]})[0]["content"] is None
    assert turns({"role": "assistant", "content": ""}) == [{"role": "assistant", "content": ""}]


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"max_tokens": None}, "anthropic_field_missing", "max_tokens"),
        ({"max_tokens": "9"}, "anthropic_field_wrong", "max_tokens"),
        ({"max_tokens": True}, "anthropic_field_wrong", "max_tokens"),
        ({"max_tokens": 0}, "anthropic_field_wrong", "max_tokens"),
        ({"messages": None}, "anthropic_field_missing", "messages"),
        ({"messages": []}, "anthropic_field_wrong", "messages"),
        ({"messages": ["hi"]}, "anthropic_field_wrong", "messages.0"),
        ({"messages": [{"role": "user"}]}, "anthropic_field_missing", "messages.0.content"),
        ({"messages": [{"role": "tool", "content": ""}]}, "anthropic_field_wrong", "messages.0.role"),
        ({"messages": [user({"type": "text"})]}, "anthropic_field_missing", "messages.0.content.0.text"),
        ({"messages": [user(words("a")), user(words(7))]}, "anthropic_field_wrong", "messages.1.content.0.text"),  # type: ignore[arg-type]
        ({"messages": [user({"type": "document"})]}, "anthropic_not_translated", "messages.0.content.0.type"),
        (
            {"messages": [user(result([{"type": "document"}]))]},
            "anthropic_not_translated",
            "messages.0.content.0.content.0.type",
        ),
        (
            {"messages": [user({"type": "image", "source": {"type": "url", "url": "http://169.254.169.254"}})]},
            "anthropic_not_translated",
            "messages.0.content.0.source.type",
        ),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "server_tool_use"}]}]},
            "anthropic_not_translated",
            "messages.0.content.0.type",
        ),
        ({"system": [PICTURE]}, "anthropic_not_translated", "system.0.type"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "anthropic_not_translated", "tools.0.type"),
        ({"tools": [{"name": "x"}]}, "anthropic_field_missing", "tools.0.input_schema"),
        ({"tools": [TOOL], "tool_choice": {"type": "some"}}, "anthropic_not_translated", "tool_choice.type"),
        ({"thinking": {"type": "deep"}}, "anthropic_not_translated", "thinking.type"),
        ({"output_config": {"effort": 3}}, "anthropic_field_wrong", "output_config.effort"),
        ({"output_config": {"format": {"type": "xml"}}}, "anthropic_not_translated", "output_config.format.type"),
        ({"output_config": {"new": 1}}, "anthropic_not_translated", "output_config.new"),
        ({"stop_sequences": [1]}, "anthropic_field_wrong", "stop_sequences"),
        ({"metadata": "me"}, "anthropic_field_wrong", "metadata"),
        ({"mcp_servers": []}, "anthropic_not_translated", "mcp_servers"),
    ],
)
def test_what_cannot_be_said_in_a_chat_is_refused_by_its_full_name(
    change: dict[str, object], code: str, field: str
) -> None:
    with pytest.raises(Refusal) as refused:
        chat_request(fields.without_nulls({**asked(), **change}))
    assert (refused.value.code, refused.value.param, refused.value.status) == (code, field, 400)


def test_an_escape_that_stands_for_no_character_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        fields.document(b'{"messages": "\\ud800"}')
    assert refused.value.code == "body_not_json"
