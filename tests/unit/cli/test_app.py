import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

from gpustack_lite.cli.app import COMMANDS, run
from gpustack_lite.messages import CATALOGUE


@pytest.fixture(autouse=True)
def excepthook(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `run` sets is taken back."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setenv("GPUSTACK_LITE_LANG", "en")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        run(list(arguments))
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, command, "--help")
    assert code == 0
    assert f"gpustack-lite {command}" in out


@pytest.mark.parametrize("language", [0, 1], ids=["English", "Chinese"])
def test_the_page_of_the_program_names_every_command(language: int) -> None:
    words = CATALOGUE["help_main"][language].split()
    assert [command for command in COMMANDS if command not in words] == []


@pytest.mark.parametrize("language", [0, 1], ids=["English", "Chinese"])
def test_the_page_of_the_program_names_what_each_command_can_do(language: int) -> None:
    lines = {line.split()[0]: line for line in CATALOGUE["help_main"][language].splitlines() if line.startswith("  ")}
    for command in COMMANDS:
        group = typer.main.get_command(import_module(f"gpustack_lite.cli.{command}").app)
        verbs = set(getattr(group, "commands", {})) - {command}
        assert verbs <= set(re.findall(r"[a-z-]+", lines[command])), command


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_text_is_a_bare_code(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    group = typer.main.get_command(import_module(f"gpustack_lite.cli.{command}").app)
    for name in [None, *getattr(group, "commands", {})]:
        _, out, _ = said(capsys, *filter(None, (command, name, "--help")))
        assert "help_" not in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["model"], "did you mean models"),
        (["nonsense"], "nonsense"),
        (["models", "scale", "a", "many"], "replicas"),
        (["start", "--no-such"], "--no-such"),
        (["models", "deploy", "a"], "--source"),
    ],
    ids=["near miss", "unknown", "no number", "no option", "missing option"],
)
def test_wrong_usage_exits_with_2(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, *arguments)
    assert code == 2
    assert named in err


def test_a_refusal_is_one_sentence_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GPUSTACK_LITE_DATA_DIR", str(tmp_path))
    code, out, err = said(capsys, "models", "list")
    assert (code, out) == (1, "")
    assert err.startswith("No server is known here")
    assert err.count("\n") == 1
