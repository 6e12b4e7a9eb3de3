"""A worker starts engines, brings them back, and lets them outlive it."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gpustack_lite.ports import Ports
from gpustack_lite.settings import load
from tests.fakes.worker_run import WorkerRun, echo, mock, wait_for, worker_run
from worker.link import server_address
from worker.main import Made, checked

pytestmark = pytest.mark.integration


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerRun]:
    with worker_run(tmp_path) as run:
        yield run


def answer(port: int | None) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
        return str(response.read().decode())


def test_an_echo_engine_becomes_ready_and_its_states_are_told(worker: WorkerRun) -> None:
    worker.server.assign(echo(1))
    worker.start()
    status = worker.server.wait_until(1, "ready")
    assert (status.attempt, status.said, status.simulated) == (1, None, False)
    assert status.pid is not None
    assert answer(status.port)
    assert worker.server.states(1)[-1] == "ready"
    assert status.launch is not None
    assert "engine-key-1" not in json.dumps(status.launch)
    assert worker.server.joins[0].name == "w1"


def test_the_heartbeat_tells_what_the_machine_has(worker: WorkerRun) -> None:
    worker.start()
    beat = worker.server.wait_for(lambda: worker.server.heartbeats)[0]
    assert beat.cpu_count >= 1
    assert beat.ram_total_bytes > beat.ram_used_bytes > 0
    assert [device.kind for device in beat.devices] == ["cpu"]
    assert {"llama_cpp", "echo"} <= {version.backend for version in beat.backend_versions}


async def test_the_heartbeat_goes_on_while_the_event_loop_is_busy(worker: WorkerRun, tmp_path: Path) -> None:
    made = Made(checked(load(heartbeat_seconds=0.02), Ports(), server_address(worker.socket, None), "token", tmp_path))
    worker.server.credential = "known"
    made.link.identity = made.link.identity.model_copy(update={"credential": "known"})
    made.heartbeat.start()
    try:
        worker.server.wait_for(lambda: len(worker.server.heartbeats) >= 3)  # blocks this loop
    finally:
        made.heartbeat.stop()
        await made.close()


def test_an_engine_has_its_own_session_no_secret_and_private_files(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start(JOIN_SECRET="must-not-leak")
    pid = worker.server.wait_until(1, "ready").pid
    assert pid is not None
    environ = Path(f"/proc/{pid}/environ").read_bytes().decode()
    assert "must-not-leak" not in environ
    assert f"GPUSTACK_LITE_INSTANCE={worker.uid}:1" in environ
    assert os.getsid(pid) == pid
    engine_files = {each.path for each in psutil.Process(pid).open_files()}
    assert engine_files <= {str(worker.data / "worker" / "logs" / "1" / "1.log")}
    assert Path(f"/proc/{pid}/cwd").resolve() == (worker.data / "worker" / "instances" / "1").resolve()
    for path in (worker.data / "worker").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_agent_listens_on_no_socket(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    worker.server.wait_until(1, "ready")
    everyone = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)]
    own = [each for each in everyone if each.pid not in worker.marked()]
    for process in own:
        inodes = _listening(process.pid)
        assert inodes == [], process


def _listening(pid: int) -> list[str]:
    """TCP and Unix sockets on which the process listens."""
    tcp = [str(each.laddr) for each in psutil.Process(pid).net_connections("all") if each.status == psutil.CONN_LISTEN]
    held = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()}
    unix = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    listening = {f"socket:[{fields[6]}]" for fields in unix if int(fields[3], 16) & 0x10000}
    return tcp + sorted(held & listening)


def test_kill_9_of_an_engine_gives_a_new_one_and_keeps_the_old_log(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--say", "the first life"))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    second = worker.server.wait_until(1, "ready", attempt=2)
    assert second.pid != first.pid
    assert "failed" in worker.server.states(1)
    assert worker.marked() == [second.pid]
    assert "the first life" in (worker.data / "worker" / "logs" / "1" / "1.log").read_text()
    assert (worker.data / "worker" / "logs" / "1" / "2.log").exists()


def test_kill_9_of_the_worker_leaves_the_engine_and_the_next_worker_adopts_it(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    for _ in range(3):
        worker.send(signal.SIGKILL)
        assert answer(first.port) == f"pid {first.pid}"
        worker.server.reports.clear()
        worker.start()
        again = worker.server.wait_until(1, "ready")
        assert (again.pid, again.port, again.attempt) == (first.pid, first.port, 1)
        assert worker.server.states(1) == ["ready"]


def test_an_adopted_engine_is_watched_and_brought_back(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    worker.send(signal.SIGKILL)
    worker.start()
    wait_for(lambda: worker.output().count('"verdict": "adopt"') == 1)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    second = worker.server.wait_until(1, "ready", attempt=2)
    assert worker.marked() == [second.pid]


def test_sighup_leaves_at_once_and_without_touching_engines(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    assert worker.send(signal.SIGHUP) == 0
    assert answer(first.port) == f"pid {first.pid}"
    worker.server.reports.clear()
    worker.start()
    assert worker.server.wait_until(1, "ready").pid == first.pid


def test_a_restart_without_a_server_keeps_everything_as_it_is(worker: WorkerRun) -> None:
    worker.server.assign(mock(1), mock(2))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    second = worker.server.wait_until(2, "ready")
    assert second.pid is not None
    worker.send(signal.SIGKILL)
    os.kill(second.pid, signal.SIGKILL)
    worker.server.credential = "nobody knows it"
    worker.start(token="wrong")
    new = wait_for(lambda: [pid for pid in worker.marked() if pid != first.pid])
    assert answer(first.port) == f"pid {first.pid}"
    assert second.pid not in new


def test_what_was_deleted_meanwhile_is_ended(worker: WorkerRun) -> None:
    worker.server.assign(mock(1), mock(2))
    worker.start()
    worker.server.wait_until(1, "ready")
    kept = worker.server.wait_until(2, "ready")
    worker.send(signal.SIGKILL)
    worker.server.assign(mock(2))
    worker.server.reports.clear()
    worker.start()
    worker.server.wait_gone(1)
    assert worker.marked() == [kept.pid]
    assert not (worker.data / "worker" / "instances" / "1.json").exists()


def test_a_recycled_pid_is_neither_adopted_nor_signalled(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    worker.send(signal.SIGKILL)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    innocent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        path = worker.data / "worker" / "instances" / "1.json"
        record = json.loads(path.read_text())
        record["process"]["pid"] = innocent.pid
        path.write_text(json.dumps(record))
        worker.server.reports.clear()
        worker.start()
        second = worker.server.wait_until(1, "ready", attempt=2)
        assert second.pid != innocent.pid
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.communicate()


def test_marked_processes_without_a_record_are_ended_and_foreign_ones_are_not(worker: WorkerRun) -> None:
    worker.start()
    worker.server.wait_for(lambda: worker.server.reports)
    worker.send(signal.SIGKILL)
    environ = {"PATH": os.environ["PATH"], "GPUSTACK_LITE_INSTANCE": f"{worker.uid}:77"}
    waiting = [sys.executable, "-c", "import time; time.sleep(600)"]
    stray = subprocess.Popen(waiting, env=environ)
    foreign = subprocess.Popen(waiting, env={**environ, "GPUSTACK_LITE_INSTANCE": "another-worker:77"})
    try:
        worker.start()
        assert stray.wait(20) == -signal.SIGTERM
        assert foreign.poll() is None
    finally:
        for each in (stray, foreign):
            each.kill()
            each.wait()


def test_sigterm_ends_every_engine_and_says_so(worker: WorkerRun) -> None:
    worker.server.assign(mock(1), mock(2))
    worker.start()
    worker.server.wait_until(1, "ready")
    worker.server.wait_until(2, "ready")
    assert worker.send(signal.SIGTERM) == 0
    assert worker.marked() == []
    last = worker.server.status(1)
    assert last is not None
    assert (last.state, last.said.code if last.said else None, last.pid) == ("failed", "worker_was_stopped", None)
    worker.start()
    assert worker.server.wait_until(1, "ready", attempt=2).said is None


def test_an_unwanted_instance_is_reported_until_nothing_of_it_lives(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    worker.server.wait_until(1, "ready")
    worker.server.assign()
    worker.server.wait_gone(1)
    assert worker.marked() == []
    assert worker.server.states(1)[-2:] == ["ready", "stopping"]
    assert not (worker.data / "worker" / "instances" / "1").exists()


def test_an_older_assignment_is_never_applied(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    newer = worker.server.assignment
    worker.server.assignment = newer.model_copy(update={"revision": 0, "instances": ()})
    wait_for(lambda: "assignment_not_newer" in worker.output())
    assert answer(first.port) == f"pid {first.pid}"
    assert worker.marked() == [first.pid]


def test_a_worker_that_was_forgotten_joins_again(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    worker.server.credential = "credential-2"
    worker.server.assignment = worker.server.assignment.model_copy(update={"epoch": 0, "revision": 0})
    worker.server.reports.clear()
    report = worker.server.wait_for(lambda: [each for each in worker.server.reports if each.epoch == 0])[-1]
    assert (report.instances[0].pid, report.instances[0].state) == (first.pid, "ready")
    assert len(worker.server.joins) == 2


def test_a_wrong_token_is_one_sentence_and_exit_code_1(worker: WorkerRun) -> None:
    worker.start(token="wrong")
    assert worker.process is not None
    assert worker.process.wait(20) == 1
    assert "token" in worker.output().splitlines()[-1]
    assert "Traceback" not in worker.output()


def test_proxies_do_not_catch_what_a_worker_says(worker: WorkerRun, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "10.0.0.0/8,127.0.0.0/8")
    worker.server.assign(mock(1))
    worker.start()
    pid = worker.server.wait_until(1, "ready").pid
    assert b"http_proxy=http://127.0.0.1:9" in Path(f"/proc/{pid}/environ").read_bytes()
