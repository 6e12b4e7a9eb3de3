"""A request for a message, as the chat completion that asks for the same."""

from gpustack_lite.gateway.anthropic import fields, turns
from gpustack_lite.gateway.anthropic.fields import Json, is_among, mapping, need, not_translated, objects, text, wrong

_TRANSLATED = frozenset(
    {
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "output_config",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
    }
)
_ABOUT_ANTHROPICS_OWN_MACHINES = frozenset(
    {
        "cache_control",
        "context_management",
        "diagnostics",
        "inference_geo",
        "service_tier",
        "speed",
        "user_profile_id",
        "workspace_id",
    }
)
"""Left out knowingly: they say where and how Anthropic computes and keeps, not what is to be answered."""
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_SWITCHES = ("enabled", "disabled")
_EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


def chat_request(asked: Json) -> Json:
    """
    Raises:
        Refusal: 400 with the full name of the field that is missing, wrong or has no counterpart.
    """
    _refuse_unknown(asked)
    return {
        "model": text(asked, "model"),
        **_streaming(asked),
        "messages": turns.of(asked),
        "max_tokens": _most_tokens(asked),
        **{key: asked[key] for key in ("temperature", "top_p", "top_k") if key in asked},
        **_stops(asked),
        **_tools(asked),
        **_thinking(asked),
        **_output(asked),
        **_user(asked),
    }


def stop_sequences(asked: Json) -> tuple[str, ...]:
    """
    Raises:
        Refusal: 400 when it is no list of texts.
    """
    return tuple(_stops(asked).get("stop", ()))


def _refuse_unknown(asked: Json) -> None:
    for key in asked:
        if key not in _TRANSLATED and key not in _ABOUT_ANTHROPICS_OWN_MACHINES:
            not_translated(key, key)


def _streaming(asked: Json) -> Json:
    """The usage of a stream is a part of every message."""
    return {"stream": True, "stream_options": {"include_usage": True}} if asked.get("stream") is True else {}


def _most_tokens(asked: Json) -> int:
    value = need(asked, "max_tokens")
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        wrong("max_tokens", "integer >= 1")
    return int(value)


def _stops(asked: Json) -> Json:
    given = asked.get("stop_sequences", [])
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        wrong("stop_sequences", "array of strings")
    return {"stop": given} if given else {}


def _tools(asked: Json) -> Json:
    tools = [_tool(field, each) for field, each in objects(asked.get("tools", []), "tools")]
    choice = mapping(asked.get("tool_choice", {}), "tool_choice")
    return {"tools": tools, **_choice(choice)} if tools else {}


def _tool(field: str, tool: Json) -> Json:
    """A tool of the client's own; those that Anthropic runs or describes itself have a type and no schema."""
    if tool.get("type", "custom") != "custom":
        not_translated(f"{field}.type", tool["type"])
    schema = mapping(need(tool, "input_schema", field), f"{field}.input_schema")
    function = {"name": text(tool, "name", field), "parameters": schema}
    function |= {key: tool[key] for key in ("description", "strict") if key in tool}
    return {"type": "function", "function": function}


def _choice(choice: Json) -> Json:
    parallel = {"parallel_tool_calls": False} if choice.get("disable_parallel_tool_use") is True else {}
    kind = choice.get("type")
    if kind is None:
        return parallel
    if kind == "tool":
        return {
            "tool_choice": {"type": "function", "function": {"name": text(choice, "name", "tool_choice")}},
            **parallel,
        }
    if not is_among(kind, _CHOICES):
        not_translated("tool_choice.type", kind)
    return {"tool_choice": _CHOICES[kind], **parallel}


def _thinking(asked: Json) -> Json:
    """By the switches of the chat templates: engines have no field in common for it, and a budget is advice."""
    thinking = mapping(asked.get("thinking", {}), "thinking")
    kind = thinking.get("type", "adaptive")
    if kind == "adaptive":
        return {}
    if not is_among(kind, _SWITCHES):
        not_translated("thinking.type", kind)
    budget = {"thinking_budget": thinking["budget_tokens"]} if "budget_tokens" in thinking else {}
    return {"chat_template_kwargs": {"enable_thinking": kind == "enabled", **budget}}


def _output(asked: Json) -> Json:
    config = mapping(asked.get("output_config", {}), "output_config")
    for key in config.keys() - {"effort", "format"}:
        not_translated(f"output_config.{key}", key)
    effort = {"reasoning_effort": _effort(config["effort"])} if "effort" in config else {}
    return effort | (_format(mapping(config["format"], "output_config.format")) if "format" in config else {})


def _effort(given: object) -> str:
    if not isinstance(given, str) or given not in _EFFORTS:
        wrong("output_config.effort", " | ".join(_EFFORTS))
    return _EFFORTS[given]


def _format(given: Json) -> Json:
    if given.get("type") != "json_schema":
        not_translated("output_config.format.type", given.get("type"))
    schema = mapping(need(given, "schema", "output_config.format"), "output_config.format.schema")
    named = {"name": "answer", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _user(asked: Json) -> Json:
    metadata = fields.mapping(asked.get("metadata", {}), "metadata")
    return {"user": metadata["user_id"]} if isinstance(metadata.get("user_id"), str) else {}
