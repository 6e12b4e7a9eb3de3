"""The platform beside a foreground command: whatever becomes of that command, nothing of it is left running."""

import signal
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from gpustack_lite.cli import record
from gpustack_lite.cli.background import Background
from gpustack_lite.cli.record import Record
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Identity, Ports, SystemDisk
from tests.fakes.clock import ManualClock
from tests.fakes.processes import FakeProcesses

SUPERVISOR = Identity(100, 1, "boot")


class GoneTerminal:
    """What a process writes to once its terminal was closed."""

    def write(self, text: str) -> NoReturn:
        raise OSError(5, "Input/output error")

    def flush(self) -> None:
        return None


@pytest.fixture
def processes() -> FakeProcesses:
    return FakeProcesses({SUPERVISOR})


@pytest.fixture
def platform(tmp_path: Path, processes: FakeProcesses) -> Background:
    (tmp_path / "data/run").mkdir(parents=True)
    record.write(SystemDisk(), tmp_path / "data/run/supervisor.json", Record(SUPERVISOR, "http://127.0.0.1:1"))
    return Background(tmp_path, 9090, Ports(clock=ManualClock(), processes=processes))


def test_a_platform_of_an_earlier_run_is_named_used_and_ended(
    platform: Background, processes: FakeProcesses, capsys: pytest.CaptureFixture[str]
) -> None:
    with platform:
        assert "process 100" in capsys.readouterr().out
    assert processes.signals == [(100, signal.SIGTERM)]
    assert "Stopping" in capsys.readouterr().out


def test_it_is_ended_also_when_the_terminal_is_gone(
    platform: Background, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with platform:
        monkeypatch.setattr(sys, "stdout", GoneTerminal())
    assert processes.signals == [(100, signal.SIGTERM)]


def test_one_that_somebody_else_ended_is_told_and_not_stopped_again(
    platform: Background, processes: FakeProcesses, capsys: pytest.CaptureFixture[str]
) -> None:
    with platform:
        processes.alive.clear()
        with pytest.raises(Refusal) as refused:
            platform.wait()
    assert refused.value.code == "platform_ended"
    assert "Stopping" not in capsys.readouterr().out
