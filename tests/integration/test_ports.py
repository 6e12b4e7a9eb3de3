"""The adapters of the machine, on the real machine."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack_lite.ports import SystemDisk, SystemProcesses

pytestmark = pytest.mark.integration
WAITING = [sys.executable, "-c", "import sys; sys.stdin.close(); import threading; threading.Event().wait()"]
ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def processes() -> SystemProcesses:
    return SystemProcesses()


async def test_a_child_runs_in_its_own_session_and_its_exit_code_comes_back(processes: SystemProcesses) -> None:
    child = processes.spawn([sys.executable, "-c", "raise SystemExit(7)"], env=ENV)
    assert await processes.wait(child) == 7
    waiting = processes.spawn(WAITING, env=ENV)
    assert os.getsid(waiting.pid) == waiting.pid
    assert processes.send(waiting, signal.SIGKILL)
    assert await processes.wait(waiting) == -signal.SIGKILL
    assert not processes.is_alive(waiting)


async def test_a_recycled_pid_is_not_the_same_process_and_is_never_signalled(processes: SystemProcesses) -> None:
    living = processes.spawn(WAITING, env=ENV)
    for stranger in (replace(living, start_ticks=living.start_ticks - 1), replace(living, boot_id="another boot")):
        assert not processes.is_alive(stranger)
        assert not processes.send(stranger, signal.SIGKILL)
    assert processes.is_alive(living)
    processes.send(living, signal.SIGKILL)
    await processes.wait(living)


async def test_a_zombie_counts_as_dead(processes: SystemProcesses) -> None:
    child = processes.spawn([sys.executable, "-c", ""], env=ENV)
    async with asyncio.timeout(30):
        while processes.is_alive(child):
            await asyncio.sleep(0.01)
    assert Path(f"/proc/{child.pid}").exists()
    assert await processes.wait(child) == 0


FIRST_THREAD_ENDS = """
import ctypes, os, sys, threading
threading.Thread(target=lambda: (open(sys.argv[1]).read(), os._exit(7))).start()
ctypes.CDLL(None).pthread_exit(0)
"""


async def test_a_process_lives_as_long_as_one_of_its_threads(processes: SystemProcesses, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    child = processes.spawn([sys.executable, "-c", FIRST_THREAD_ENDS, str(tmp_path / "go")], env=ENV)
    async with asyncio.timeout(30):
        while ") Z " not in Path(f"/proc/{child.pid}/stat").read_text():
            await asyncio.sleep(0.01)
    assert processes.is_alive(child)
    await asyncio.to_thread((tmp_path / "go").write_text, "")
    assert await processes.wait(child) == 7
    assert not Path(f"/proc/{child.pid}").exists()


async def test_a_mark_finds_a_grandchild_that_left_session_and_group(processes: SystemProcesses) -> None:
    inner = f"import subprocess, sys; subprocess.Popen({WAITING!r}, start_new_session=True)"
    child = processes.spawn([sys.executable, "-c", inner], env=ENV | {"MARK": "7:1"})
    await processes.wait(child)
    found = processes.marked("MARK", "7:1")
    assert len(found) == 1
    assert processes.marked("MARK", "7:") == []
    processes.send(found[0], signal.SIGKILL)


async def test_no_descriptor_is_inherited_but_the_ones_named(processes: SystemProcesses, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    output = tmp_path / "out.log"
    child = processes.spawn(
        [sys.executable, "-c", "import os; print(len(os.listdir('/proc/self/fd')))"], env=ENV, output=output
    )
    await processes.wait(child)
    assert output.read_text().strip() == "4"  # 0, 1, 2 and the listing itself
    assert output.stat().st_mode & 0o777 == 0o600
    os.close(reading)
    os.close(writing)


def test_a_replaced_file_is_whole_private_and_leaves_nothing_beside(tmp_path: Path) -> None:
    disk, path = SystemDisk(), tmp_path / "sub" / "secret"
    assert disk.read(path) is None
    disk.replace(path, b"one")
    disk.replace(path, b"two")
    assert (disk.read(path), path.stat().st_mode & 0o777) == (b"two", 0o600)
    assert [each.name for each in path.parent.iterdir()] == ["secret"]
    disk.remove(path)
    disk.remove(path)
    assert disk.read(path) is None
