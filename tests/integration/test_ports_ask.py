"""Programs that hang, talk without end or are not there: `ask` always returns, and says what came of it."""

import sys
from pathlib import Path

import psutil
import pytest

from gpustack_lite.ports import SystemProcesses
from tests.fakes import npu_smi, playing

pytestmark = pytest.mark.integration


def test_both_streams_and_the_exit_code_come_back() -> None:
    answer = SystemProcesses().ask([sys.executable, "-c", "import sys; print('a'); sys.stderr.write('b'); sys.exit(3)"])
    assert (answer.stdout, answer.stderr, answer.returncode, answer.ended_by) == ("a\n", "b", 3, "itself")
    assert answer.text == "a\n\nb"


def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    answer = SystemProcesses().ask([str(tmp_path / "npu-smi")])
    assert (answer.ended_by, answer.returncode, answer.why) == ("not_started", None, "No such file or directory")


def test_a_program_that_hangs_and_ignores_term_is_killed_with_its_children(tmp_path: Path) -> None:
    npu_smi.install(tmp_path, npu_smi.a2(hangs=True))
    answer = SystemProcesses().ask([str(tmp_path / "npu-smi"), "info"], deadline_seconds=0.5)
    assert (answer.ended_by, answer.returncode) == ("deadline", None)
    assert not [
        each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(each.info["cmdline"] or [])
    ]


def test_a_program_that_talks_without_end_is_cut_off(tmp_path: Path) -> None:
    npu_smi.install(tmp_path, npu_smi.a2(talks_without_end=True))
    answer = SystemProcesses().ask([str(tmp_path / "npu-smi"), "info"], most_bytes=100_000)
    assert (answer.ended_by, answer.returncode, len(answer.stdout)) == ("bound", None, 100_000)


def test_a_grandchild_that_keeps_the_pipe_does_not_keep_us() -> None:
    parent = "import os, time; print('said', flush=True)\nif os.fork() == 0: os.setsid(); time.sleep(8)"
    answer = SystemProcesses().ask([sys.executable, "-I", "-S", "-c", parent], deadline_seconds=20)
    assert (answer.stdout, answer.returncode, answer.ended_by) == ("said\n", 0, "itself")


def test_what_cannot_be_killed_is_not_started_a_second_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npu_smi.install(tmp_path, npu_smi.a2(hangs=True))
    processes = SystemProcesses()
    monkeypatch.setattr("os.killpg", lambda *_: None)  # as if it hung in the driver
    program = str(tmp_path / "npu-smi")
    assert processes.ask([program], deadline_seconds=0.2).ended_by == "deadline"
    assert processes.ask([program], deadline_seconds=0.2).ended_by == "still_hanging"
    processes._hanging[0][1].kill()
    processes._hanging[0][1].wait(20)
    playing.describe(tmp_path / "npu-smi.json", npu_smi.a2())
    assert processes.ask([program, "info", "-m"]).ended_by == "itself"
