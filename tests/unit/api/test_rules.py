from typing import Any

import pytest

from gpustack_lite.api import rules
from gpustack_lite.errors import Refusal


@pytest.mark.parametrize(
    "name", ["m", "org/tiny-model:q4", "通义千问-7B", "Qwen 2.5 (instruct)", "m@1", "a" * 200, "instances", "4x7b"]
)
def test_a_name_that_people_use_is_taken(name: str) -> None:
    rules.check_name(name)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "name_length"),
        ("a" * 201, "name_length"),
        ("n" * 40_000, "name_length"),
        ("a\x00b", "name_unprintable"),
        ("a\x1b[31m", "name_unprintable"),
        ("a\u202eb", "name_unprintable"),
        ("a\u200bb", "name_unprintable"),
        ("a\ud800", "name_unprintable"),
        ("a\u3000b", "name_unprintable"),
        ("a\u00a0b", "name_unprintable"),
        (" a", "name_outer_space"),
        ("a\u3000", "name_outer_space"),
        ("/a", "name_segments"),
        ("a/", "name_segments"),
        ("a//b", "name_segments"),
        ("a/../b", "name_segments"),
        ("..", "name_segments"),
        ("a\\b", "name_character"),
        ("a?b", "name_character"),
        ("a#b", "name_character"),
        ("a%2fb", "name_character"),
        ("12", "name_only_digits"),
        ("a/start", "name_reserved"),
        ("a/instances", "name_reserved"),
    ],
)
def test_a_name_that_cannot_be_shown_or_addressed_is_refused(name: str, code: str) -> None:
    with pytest.raises(Refusal, match=code) as refused:
        rules.check_name(name)
    assert refused.value.param == "name"


@pytest.mark.parametrize(
    ("env", "code"),
    [
        ({"": "x"}, "env_name"),
        ({"1A": "x"}, "env_name"),
        ({"A=B": "x"}, "env_name"),
        ({"A": "x\0"}, "env_value"),
        ({"GPUSTACK_LITE_INSTANCE": "7"}, "env_reserved"),
        ({"gpustack_lite_x": "7"}, "env_reserved"),
    ],
)
def test_an_environment_that_could_not_be_set_or_mark_a_process_is_refused(env: dict[str, str], code: str) -> None:
    with pytest.raises(Refusal, match=code):
        rules.check_env(env)
    rules.check_env({"HF_TOKEN": "x", "_a1": ""})


@pytest.mark.parametrize("device", ["", "w1", ":0", "w1:", "w1:x", "w1:-1", "w1:٣"])
def test_a_device_is_a_worker_and_an_index(device: str) -> None:
    with pytest.raises(Refusal, match="device_address"):
        rules.check_devices([device])
    rules.check_devices(["w1:0", "rack:2:7"])


def nested(depth: int) -> Any:
    return [] if depth == 0 else [nested(depth - 1)]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (float("nan"), "value_not_finite"),
        ({"a": [float("inf")]}, "value_not_finite"),
        (2**63, "value_too_large"),
        ({"a": "\ud800"}, "text_not_whole"),
        ({"\0": 1}, "text_not_whole"),
        (nested(17), "value_too_deep"),
    ],
)
def test_a_value_that_a_database_cannot_hold_is_refused(value: Any, code: str) -> None:
    with pytest.raises(Refusal, match=code):
        rules.check_plain(value, "options")
    rules.check_plain({"a": [1, 2.5, True, None, "模型", {"b": -(2**63)}], "c": nested(10)}, "options")
