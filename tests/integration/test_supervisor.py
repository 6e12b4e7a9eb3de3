"""The supervisor alone: stand-ins for its children, but real sockets, signals, descriptors and executions."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from gpustack_lite.cli import record
from gpustack_lite.ports import SystemDisk
from tests.harness import ROOT, Platform, environment, is_running, until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
SUPERVISE = (sys.executable, str(ROOT / "tests/fakes/supervise.py"))


def fake_platform(folder: Path, *arguments: str, **env: str) -> Platform:
    return Platform(folder, command=SUPERVISE, arguments=arguments, env=env)


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    with fake_platform(tmp_path) as running:
        yield running


def supervise(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SUPERVISE, *arguments], env=environment(**env), capture_output=True, text=True, timeout=60, check=False
    )


def gateway_pids(url: str) -> str:
    """Which gateways answer: a line for each."""
    return httpx.get(url, trust_env=False).text


def engine_pid(platform: Platform) -> int:
    path = platform.data_dir / "engine.pid"
    return platform.until(lambda: path.exists() and int(path.read_text() or 0), seconds=10)


def pids(platform: Platform) -> dict[str, int | None]:
    return {role: platform.pid(role) for role in ("server", "gateway-0", "worker")}


class LongAnswer:
    """A response that takes about two seconds, read in a thread."""

    def __init__(self, url: str, lines: int = 40) -> None:
        self._lines = lines
        self._got: list[str] = []
        self.began = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(f"{url}/?{lines}",))
        self._thread.start()
        assert self.began.wait(10)

    def _read(self, url: str) -> None:
        with httpx.stream("GET", url, trust_env=False, timeout=30) as answer:
            for line in answer.iter_lines():
                self._got.append(line)
                self.began.set()

    def is_whole(self) -> bool:
        self._thread.join(30)
        return len(self._got) == self._lines


class Asking:
    """Asks again and again until it is left; whatever failed is in `failures`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._ends = threading.Event()
        self.answers = 0
        self.failures: list[str] = []
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "Asking":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join(30)

    def _ask(self) -> None:
        while not self._ends.wait(0.01):
            try:
                gateway_pids(self._url)
                self.answers += 1
            except httpx.HTTPError as error:
                self.failures.append(repr(error))


# --- start


def test_the_data_dir_and_its_secrets_are_private(platform: Platform) -> None:
    for path in (platform.data_dir, platform.data_dir / "run", platform.data_dir / "logs"):
        assert path.stat().st_mode & 0o777 == 0o700
    secrets = [platform.data_dir / "run" / name for name in ("gateway_token", "local_join_token", "cli_token")]
    assert {path.stat().st_mode & 0o777 for path in secrets} == {0o600}
    assert len({path.read_text() for path in secrets}) == 3


def test_secrets_stay_the_same_over_a_restart(platform: Platform) -> None:
    before = (platform.data_dir / "run/cli_token").read_text()
    platform.stop()
    platform.start()
    assert (platform.data_dir / "run/cli_token").read_text() == before


def test_no_secret_is_in_the_arguments_of_a_child(platform: Platform) -> None:
    secret = (platform.data_dir / "run/gateway_token").read_text()
    for pid in filter(None, pids(platform).values()):
        assert secret not in Path(f"/proc/{pid}/cmdline").read_text()


def test_a_port_in_use_is_named_with_its_holder(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = supervise("--data-dir", str(tmp_path / "data"), "--port", str(port))
    assert done.returncode == 1
    assert f"Port {port} is in use by process {os.getpid()}" in done.stderr
    assert f"--port {port + 1}" in done.stderr


def test_a_port_that_others_share_with_so_reuseport_is_in_use_too(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = supervise("--data-dir", str(tmp_path / "data"), "--port", str(port))
    assert done.returncode == 1
    assert f"Port {port} is in use" in done.stderr


def test_a_data_dir_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = supervise("--data-dir", str(tmp_path / "file"), "--port", "0")
    assert done.returncode == 1
    assert str(tmp_path / "file") in done.stderr


def test_a_second_supervisor_is_told_who_runs(platform: Platform) -> None:
    done = supervise("--data-dir", str(platform.data_dir), "--port", "0")
    assert done.returncode == 1
    assert str(platform.supervisor_pid) in done.stderr
    assert platform.url in done.stderr


@pytest.mark.parametrize("role", ["server", "gateway", "worker"])
def test_what_a_child_refuses_is_said_and_everything_ends(tmp_path: Path, role: str) -> None:
    done = supervise("--data-dir", str(tmp_path / "data"), "--port", "0", FAKE_ROLE_REFUSES=role)
    assert done.returncode == 1
    assert "the fake did not answer: it was told so." in done.stderr
    assert Platform(tmp_path).processes() == []


# --- restarts


@pytest.mark.parametrize("role", ["server", "gateway-0", "worker"])
def test_a_killed_child_is_started_again_and_its_log_goes_on(platform: Platform, role: str) -> None:
    others = {other: pid for other, pid in pids(platform).items() if other != role}
    old = platform.kill(role)
    platform.until(lambda: platform.pid(role) not in {None, old}, seconds=10)
    assert {other: platform.pid(other) for other in others} == others
    assert f"{role} ended unexpectedly (code -9)" in platform.output()


def test_a_killed_worker_leaves_its_engine(platform: Platform) -> None:
    engine = engine_pid(platform)
    old = platform.kill("worker")
    platform.until(lambda: platform.pid("worker") not in {None, old}, seconds=10)
    assert engine_pid(platform) == engine
    assert is_running(engine)


# --- the end


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_everything_ends_with_the_supervisor(platform: Platform, signum: int) -> None:
    engine = engine_pid(platform)
    platform.signal(signum)
    assert platform.wait_for_end() == 0
    assert platform.processes() == []
    assert not is_running(engine)
    assert platform.record is None


def test_what_is_streamed_is_finished_before_the_end(platform: Platform) -> None:
    answer = LongAnswer(platform.url)
    platform.signal(signal.SIGTERM)
    assert answer.is_whole()
    assert platform.wait_for_end() == 0


def test_a_second_signal_hurries(platform: Platform) -> None:
    answer = LongAnswer(platform.url, lines=4000)
    platform.signal(signal.SIGINT)
    platform.until(lambda: "Stopping" in platform.output(), seconds=10)
    platform.signal(signal.SIGINT)
    assert platform.wait_for_end(12) == 0
    assert not answer.is_whole()


# --- SIGHUP


def test_sighup_replaces_every_child_under_the_same_pid_without_losing_a_request(platform: Platform) -> None:
    before, engine, url = pids(platform), engine_pid(platform), platform.url
    answer = LongAnswer(url)
    with Asking(url) as asking:
        platform.signal(signal.SIGHUP)
        platform.until(lambda: all(platform.pid(role) not in {None, pid} for role, pid in before.items()), seconds=30)
        served = asking.answers
        until(lambda: asking.answers > served + 20, 10)
    assert asking.failures == []
    assert answer.is_whole()
    assert (platform.url, engine_pid(platform)) == (url, engine)
    assert is_running(engine)


def test_sighup_can_be_repeated(platform: Platform) -> None:
    for _ in range(2):
        before = pids(platform)
        platform.signal(signal.SIGHUP)
        platform.until(lambda before=before: not set(before.values()) & set(pids(platform).values()) - {None}, 30)
        platform.until(lambda: None not in pids(platform).values(), 30)
    platform.signal(signal.SIGTERM)
    assert platform.wait_for_end() == 0
    assert platform.processes() == []


def test_code_that_cannot_be_loaded_is_not_taken(tmp_path: Path) -> None:
    with fake_platform(tmp_path, FAKE_ROLE_DIES="check") as platform:
        before = pids(platform)
        platform.signal(signal.SIGHUP)
        platform.until(lambda: "cannot be loaded" in platform.output(), seconds=20)
        assert pids(platform) == before
        assert gateway_pids(platform.url) == f"{before['gateway-0']}\n"


# --- takeover


def kill_supervisor(platform: Platform) -> None:
    platform.signal(signal.SIGKILL)
    platform.reap()


def test_the_children_of_a_killed_supervisor_go_on(platform: Platform) -> None:
    before = pids(platform)
    kill_supervisor(platform)
    assert pids(platform) == before
    assert gateway_pids(platform.url) == f"{before['gateway-0']}\n"


def test_a_new_supervisor_takes_over_port_streams_and_engines(platform: Platform) -> None:
    before, engine, url = pids(platform), engine_pid(platform), platform.url
    answer = LongAnswer(url)
    kill_supervisor(platform)
    platform.start()
    platform.until(lambda: all(platform.pid(role) not in {None, pid} for role, pid in before.items()), seconds=30)
    assert (platform.url, engine_pid(platform)) == (url, engine)
    assert answer.is_whole()
    assert gateway_pids(url) == f"{platform.pid('gateway')}\n"
    platform.signal(signal.SIGTERM)
    assert platform.wait_for_end() == 0
    assert platform.processes() == []


def test_a_child_that_died_with_the_supervisor_is_started_by_the_next(platform: Platform) -> None:
    server = platform.pid("server")
    assert server is not None
    kill_supervisor(platform)
    os.kill(server, signal.SIGKILL)
    platform.start()
    platform.until(lambda: platform.pid("server") not in {None, server}, seconds=20)


def test_a_record_of_processes_that_are_others_by_now_harms_nobody(platform: Platform) -> None:
    """The pid in the record lives, but it is not ours: neither adopted nor ended."""
    platform.stop()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        path = platform.data_dir / "run/supervisor.json"
        child = f'{{"pid": {stranger.pid}, "start_ticks": 1, "boot_id": "x"}}'
        path.write_text(
            f'{{"pid": {stranger.pid}, "start_ticks": 1, "boot_id": "x", "url": "http://127.0.0.1:1", '
            f'"host": "127.0.0.1", "port": 1, "children": {{"worker": {child}}}, "leaving": [{child}]}}'
        )
        platform.start()
        assert platform.pid("worker") not in {None, stranger.pid}
        platform.stop()
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_a_broken_record_is_no_obstacle(platform: Platform) -> None:
    platform.stop()
    (platform.data_dir / "run/supervisor.json").write_text("{broken")
    platform.start()
    assert gateway_pids(platform.url)


def test_a_closed_terminal_ends_everything(tmp_path: Path) -> None:
    window, terminal = os.openpty()
    child = subprocess.Popen(
        ["setsid", "--ctty", *SUPERVISE, "--port", "0", "--data-dir", str(tmp_path / "data")],
        env=environment(),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    path = tmp_path / "data/run/supervisor.json"
    now = until(
        lambda: (found := record.read(SystemDisk(), path)) is not None and len(found.children) > 2 and found, 60
    )
    os.close(window)
    assert child.wait(40) == 0
    assert [role for role, each in now.children.items() if is_running(each.pid)] == []


def test_a_record_that_cannot_be_written_is_owed_and_ends_nobody(platform: Platform) -> None:
    """As on a full disk: a directory stands where the new file would be begun."""
    obstacle = platform.data_dir / "run" / f".supervisor.json.{platform.supervisor_pid}.new"
    obstacle.mkdir()
    before = platform.pid("worker")
    assert before is not None
    os.kill(before, signal.SIGKILL)
    platform.until(lambda: not is_running(before), seconds=10)
    platform.until(lambda: "record_not_kept" in (platform.data_dir / "logs" / "supervisor.log").read_text(), 20)
    assert is_running(platform.supervisor_pid)
    assert platform.pid("worker") is None  # the record still names the dead one
    obstacle.rmdir()
    platform.until(lambda: platform.pid("worker"), seconds=20)
