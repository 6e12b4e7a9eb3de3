"""The runner is never imported by the platform; here it is loaded by path to hold its flags against our table."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import worker
from backends.llama_cpp_options import BINARY_ONLY, KNOWN, LONE_SWITCHES, OURS

PLATFORM = {"host", "port", "model", "alias", "fit", "webui"}


def runner() -> ModuleType:
    path = Path(worker.__file__).parent / "runners" / "xllamacpp_server.py"
    spec = importlib.util.spec_from_file_location("xllamacpp_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = runner()


def params() -> SimpleNamespace:
    return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), sampling=SimpleNamespace())


def test_the_runner_knows_exactly_the_flags_that_the_backend_may_give_it() -> None:
    assert set(RUNNER.VALUES) | set(RUNNER.SWITCHES) == (set(KNOWN) - OURS - BINARY_ONLY) | PLATFORM


def test_switches_are_the_boolean_options() -> None:
    boolean = {name for name, option in KNOWN.items() if option.kind == "bool"}
    assert set(RUNNER.SWITCHES) - {"fit", "webui"} == boolean - BINARY_ONLY
    assert set(RUNNER.SWITCHES) >= LONE_SWITCHES - BINARY_ONLY


def test_flags_fill_the_librarys_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    given = RUNNER.parse(
        ["--model", "m", "--port", "5", "--alias", "a", "--threads", "2", "--no-repack", "--temp", "0.5", "--warmup"]
    )
    made = params()
    RUNNER.fill(made, given)
    assert (made.model.path, made.port, made.model_alias) == ("m", 5, ["a"])
    assert (made.cpuparams.n_threads, made.sampling.temp) == (2, 0.5)
    assert (made.no_extra_bufts, made.warmup) == (True, True)
    assert made.api_keys == ["secret"]


def test_the_key_does_not_stay_in_the_environment_of_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    RUNNER.fill(params(), {})
    assert "LLAMA_API_KEY" not in RUNNER.os.environ


@pytest.mark.parametrize("argv", [["--model", "m"], ["--port", "5"], ["--model", "m", "--port", "5", "--nope", "1"]])
def test_a_command_line_that_is_none_is_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        RUNNER.parse(argv)
    assert refused.value.code == 2
    assert "error: " in capsys.readouterr().err
