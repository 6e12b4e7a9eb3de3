import pytest

from backends.base import Option
from backends.options import check_env, checked, value_of
from gpustack_lite.errors import Refusal

KNOWN = {
    "ctx-size": Option("ctx-size", "int", ""),
    "temp": Option("temp", "float", ""),
    "warmup": Option("warmup", "bool", ""),
    "flash-attn": Option("flash-attn", "choice", "", ("on", "off", "auto")),
    "template": Option("template", "str", ""),
    "kwargs": Option("kwargs", "json", ""),
}


@pytest.mark.parametrize(
    ("name", "given", "made"),
    [
        pytest.param("ctx-size", 5, 5, id="number"),
        pytest.param("ctx-size", "5", 5, id="number as text"),
        pytest.param("ctx-size", 5.0, 5, id="whole float"),
        pytest.param("temp", "0.5", 0.5, id="float as text"),
        pytest.param("warmup", "off", False, id="switch as word"),
        pytest.param("warmup", 1, True, id="switch as number"),
        pytest.param("flash-attn", "auto", "auto", id="choice"),
        pytest.param("flash-attn", True, "on", id="YAML reads on as true"),
        pytest.param("template", "{{ x }}\n", "{{ x }}\n", id="text of several lines"),
        pytest.param("kwargs", {"a": True}, '{"a": true}', id="object"),
        pytest.param("kwargs", '{"a": 1}', '{"a": 1}', id="object as text"),
    ],
)
def test_a_value_becomes_its_kind(name: str, given: object, made: object) -> None:
    value = checked({name: given}, KNOWN, frozenset())[name]
    assert (type(value), value) == (type(made), made)


def test_null_leaves_an_option_to_the_engine() -> None:
    assert checked({"ctx-size": None}, KNOWN, frozenset()) == {}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        pytest.param("ctx-size", True, id="boolean for a number"),
        pytest.param("ctx-size", "5; rm", id="words for a number"),
        pytest.param("ctx-size", 1.5, id="half a token"),
        pytest.param("ctx-size", 10**18, id="absurdly many"),
        pytest.param("ctx-size", "٥", id="digits of another script"),
        pytest.param("temp", "nan", id="not a number"),
        pytest.param("temp", float("inf"), id="infinite"),
        pytest.param("warmup", "maybe", id="no switch"),
        pytest.param("flash-attn", "yes please", id="no choice"),
        pytest.param("template", "a\0b", id="NUL"),
        pytest.param("template", "x" * 40_000, id="40 kB"),
        pytest.param("template", ["a"], id="list for a text"),
        pytest.param("kwargs", [1], id="list for an object"),
        pytest.param("kwargs", "{", id="broken JSON"),
    ],
)
def test_a_value_of_another_kind_is_refused(name: str, given: object) -> None:
    with pytest.raises(Refusal) as refused:
        value_of(KNOWN[name], given)
    assert (refused.value.code, refused.value.param) == ("option_invalid", f"options.{name}")


@pytest.mark.parametrize(
    ("name", "code", "similar"),
    [
        pytest.param("ctx-sice", "option_unknown", "ctx-size", id="misspelled"),
        pytest.param("ctx_size", "option_unknown", "ctx-size", id="underscore"),
        pytest.param("--ctx-size", "option_unknown", "ctx-size", id="with its dashes"),
        pytest.param("zzzz", "option_unknown_here", None, id="nothing like it"),
        pytest.param("x" * 40_000, "option_unknown_here", None, id="40 kB name"),
        pytest.param("api-key", "option_not_allowed", None, id="forbidden"),
        pytest.param("--api-key", "option_not_allowed", None, id="forbidden, with its dashes"),
    ],
)
def test_an_unknown_option_is_refused_with_what_is_like_it(name: str, code: str, similar: str | None) -> None:
    with pytest.raises(Refusal) as refused:
        checked({name: 1}, KNOWN, frozenset({"api-key"}))
    assert (refused.value.code, refused.value.params.get("similar")) == (code, similar)


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "GPUSTACK_LITE_DATA_DIR", "CUDA_VISIBLE_DEVICES"],
)
def test_variables_that_change_what_runs_are_refused(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_env({name: "x"})
    assert refused.value.code == "env_not_allowed"


@pytest.mark.parametrize("env", [{"A B": "x"}, {"": "x"}, {"A": "x\0"}, {"A=B": "x"}], ids=repr)
def test_variables_that_are_none_are_refused(env: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        check_env(env)
    assert refused.value.code == "env_invalid"


def test_other_variables_are_the_users_business() -> None:
    check_env({"OMP_NUM_THREADS": "2", "TZ": "Asia/Shanghai"})
