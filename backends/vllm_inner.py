"""What vLLM's options that are whole objects or texts may say: some keys load code or reach files and hosts."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from backends.options import OptionValue
from gpustack_lite.errors import Refusal

_KEYS: Mapping[str, frozenset[str]] = {
    "compilation-config": frozenset(
        {"cudagraph_mode", "cudagraph_capture_sizes", "max_cudagraph_capture_size", "mode"}
    ),
    "speculative-config": frozenset(
        {"method", "num_speculative_tokens", "prompt_lookup_max", "prompt_lookup_min", "enforce_eager"}
    ),
}
"""vllm/config/compilation.py also takes inductor passes and splitting ops by name, speculative.py another model."""
_METHODS = ("ngram", "suffix")
"""Those that guess from the prompt; every `..._mtp` guesses by layers of the model itself."""
_REACHING = frozenset({"path", "dir", "file", "dump", "url", "host", "ip", "address", "port", "daemon"})
"""Words of keys of `additional-config` by which vLLM-Ascend writes or reads files or talks to others."""


_LOADING = frozenset(
    {
        *("auto_map", "trust_remote_code", "code_revision", "custom_generate", "custom_pipelines", "_name_or_path"),
        *(
            "cache_dir",
            "token",
            "use_auth_token",
            "local_files_only",
            "revision",
            "tokenizer_class",
            "chat_template_file",
        ),
    }
)
"""Keys by which what loads a configuration, a processor or a generation looks elsewhere, or runs code."""


def check_inner(values: Mapping[str, OptionValue]) -> None:
    """
    Raises:
        Refusal: `option_not_allowed` naming the key, or `option_invalid` for a method that wants another model and
            for a chat template that is none.
    """
    for option, allowed in _KEYS.items():
        _only(option, _object(values, option), allowed)
    for option, value in values.items():
        for key in _keys(_as_json(value)):
            if key in _LOADING:
                raise _refused(option, key)
    for key in _keys(_object(values, "additional-config")):
        if _REACHING.intersection(key.split("_")):
            raise _refused("additional-config", key)
    _check_method(_object(values, "speculative-config"))
    _check_template(str(values.get("chat-template", "{{}}")))


def _as_json(value: OptionValue) -> object:
    """Options that are not known here may be objects too."""
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        return None


def _object(values: Mapping[str, OptionValue], option: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(str(values.get(option, "{}")))
    return found


def _only(option: str, found: Mapping[str, Any], allowed: frozenset[str]) -> None:
    for key in found:
        if key not in allowed:
            raise _refused(option, key)


def _check_method(found: Mapping[str, Any]) -> None:
    method = str(found.get("method", ""))
    if found and method not in _METHODS and method.rpartition("_")[2] != "mtp":
        name, expected = "speculative-config", " | ".join((*_METHODS, "mtp", "..._mtp"))
        raise Refusal(
            "option_invalid", param=f"options.{name}", option=f"{name}.method", value=method, expected=expected
        )


def _check_template(text: str) -> None:
    """The engine also takes the path of a file there, which would be anybody's."""
    if "{{" not in text and "{%" not in text:
        name = "chat-template"
        raise Refusal("option_invalid", param=f"options.{name}", option=name, value=text[:200], expected="{{ ... }}")


def _keys(found: object) -> Iterator[str]:
    """At any depth."""
    if isinstance(found, dict):
        yield from found
    for each in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from _keys(each)


def _refused(option: str, key: str) -> Refusal:
    return Refusal("option_not_allowed", param=f"options.{option}", option=f"{option}.{key}")
