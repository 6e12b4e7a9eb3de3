"""Engines that fail, hide children, lose their port or fall ill."""

import fcntl
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from gpustack_lite import messages
from gpustack_lite.domain import Sentence
from gpustack_lite.wire import InstanceStatus
from tests.fakes.worker_run import WorkerRun, mock, wait_for, worker_run

pytestmark = pytest.mark.integration


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerRun]:
    with worker_run(tmp_path) as run:
        yield run


def said(status: InstanceStatus) -> str:
    assert status.said is not None
    return messages.text(Sentence(status.said.code, status.said.params))


def is_free(lock_file: Path) -> bool:
    with lock_file.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# --- D01: kill -9 of an engine leaves children that hold the devices


@pytest.mark.parametrize(
    "stubborn", [[], ["--children-ignore-term"]], ids=["children heed TERM", "children ignore TERM"]
)
def test_d01_no_child_of_a_killed_engine_lives_on(worker: WorkerRun, tmp_path: Path, stubborn: list[str]) -> None:
    lock_file = tmp_path / "lock"
    worker.server.assign(mock(1, "--children", "3", "--lock-file", str(lock_file), *stubborn))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    assert first.pid is not None
    old = wait_for(lambda: len(worker.marked()) == 4 and worker.marked())
    os.kill(first.pid, signal.SIGKILL)
    worker.server.wait_until(1, "ready", attempt=2)
    assert not [pid for pid in old if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]


def test_d01_deleting_ends_the_whole_tree_before_it_is_reported_gone(worker: WorkerRun, tmp_path: Path) -> None:
    lock_file = tmp_path / "lock"
    worker.server.assign(mock(1, "--children", "3", "--lock-file", str(lock_file), "--children-ignore-term"))
    worker.start()
    worker.server.wait_until(1, "ready")
    wait_for(lambda: len(worker.marked()) == 4)
    assert not is_free(lock_file)
    worker.server.assign()
    worker.server.wait_gone(1)
    assert worker.marked() == []
    assert is_free(lock_file)


def test_d01_a_restarted_worker_ends_leftovers_before_it_launches_again(worker: WorkerRun, tmp_path: Path) -> None:
    lock_file = tmp_path / "lock"
    worker.server.assign(mock(1, "--children", "2", "--lock-file", str(lock_file)))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    assert first.pid is not None
    old = wait_for(lambda: len(worker.marked()) == 3 and worker.marked())
    worker.send(signal.SIGKILL)
    os.kill(first.pid, signal.SIGKILL)
    worker.server.reports.clear()
    worker.start()
    worker.server.wait_until(1, "ready", attempt=2)
    assert not set(old) & set(worker.marked())


@pytest.mark.parametrize("worker_dies", [False, True], ids=["worker lives", "worker dies too"])
def test_d01_children_that_lost_their_marker_are_ended_all_the_same(worker: WorkerRun, worker_dies: bool) -> None:
    """In sessions of their own and without our marker: they were seen while the engine lived, nothing else tells."""
    worker.server.assign(mock(1, "--children", "3", "--children-lose-marker"))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    record = worker.data / "worker" / "instances" / "1.json"
    wait_for(lambda: len(json.loads(record.read_text())["members"]) == 3)
    old = [each["pid"] for each in json.loads(record.read_text())["members"]]
    wait_for(lambda: worker.marked() == [first.pid])
    if worker_dies:
        worker.send(signal.SIGKILL)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    if worker_dies:
        worker.start()
    worker.server.wait_until(1, "ready", attempt=2)
    assert not [pid for pid in old if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]


# --- D03: the port is somebody else's


def test_d03_occupied_ports_are_passed_over_and_the_told_port_is_the_real_one(worker: WorkerRun) -> None:
    first = int(worker.settings["ENGINE_PORTS"].split("-")[0]) + 50
    worker.settings["ENGINE_PORTS"] = f"{first}-{first + 49}"
    with ExitStack() as stack:
        _occupy_all_addresses(stack, first)
        _occupy_loopback(stack, first + 1)
        _occupy_as_outgoing(stack, first + 2)
        worker.server.assign(mock(1), mock(2))
        worker.start()
        statuses = [worker.server.wait_until(id, "ready") for id in (1, 2)]
        ports = {status.port for status in statuses}
        assert len(ports) == 2
        assert not ports & {first, first + 1, first + 2}
        for status in statuses:
            listening = psutil.Process(status.pid).net_connections("tcp")
            assert [each.laddr for each in listening if each.status == psutil.CONN_LISTEN] == [
                ("127.0.0.1", status.port)
            ]


def test_d03_redeploying_at_once_after_kill_9_works(worker: WorkerRun) -> None:
    worker.server.assign(mock(1))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    with socket.create_connection(("127.0.0.1", first.port or 0)):
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)
        worker.server.assign(mock(2))
        assert worker.server.wait_until(2, "ready").port != first.port


def test_d03_a_port_lost_between_choice_and_bind_is_replaced_and_said(worker: WorkerRun, tmp_path: Path) -> None:
    """The engine's first two starts say that the address is in use, as when somebody was faster."""
    worker.server.assign(mock(1, "--busy-starts", "2", "--count-file", str(tmp_path / "count")))
    worker.start(RESTART_BACKOFF_SECONDS="300")
    status = worker.server.wait_until(1, "ready")
    assert status.attempt == 3
    told = [
        each
        for report in worker.server.reports
        for each in report.instances
        if each.said is not None and each.said.code == "engine_port_taken"
    ]
    assert told
    assert status.port != told[0].said.params["port"]
    assert "taken by another program" in said(told[0])


def _occupy_all_addresses(stack: ExitStack, port: int) -> None:
    stack.enter_context(socket.create_server(("0.0.0.0", port)))


def _occupy_loopback(stack: ExitStack, port: int) -> None:
    stack.enter_context(socket.create_server(("127.0.0.1", port)))


def _occupy_as_outgoing(stack: ExitStack, port: int) -> None:
    listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    outgoing = stack.enter_context(socket.socket())
    outgoing.bind(("127.0.0.1", port))
    outgoing.connect(listening.getsockname())
    stack.enter_context(listening.accept()[0])


# --- failing again and again


def test_f01_the_first_errors_stay_readable_and_the_last_line_is_in_the_sentence(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--say", "FIRST-ERROR", "--exit-after-start", "7", restart_limit=3))
    worker.start()
    status = worker.server.wait_for(lambda: (s := worker.server.status(1)) and s.gave_up and s)
    assert (str(status.state), status.attempt, status.pid) == ("failed", 3, None)
    assert "exit code 7" in said(status)
    assert "FIRST-ERROR" in said(status)
    logs = worker.data / "worker" / "logs" / "1"
    assert [(logs / f"{attempt}.log").read_text() for attempt in (1, 2, 3)] == ["FIRST-ERROR\n"] * 3
    assert worker.marked() == []


def test_one_that_gave_up_stays_so_over_a_restart_and_starts_nothing(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--exit-after-start", "7", restart_limit=1))
    worker.start()
    worker.server.wait_for(lambda: (s := worker.server.status(1)) and s.gave_up)
    worker.send(signal.SIGKILL)
    worker.server.reports.clear()
    worker.start()
    status = worker.server.wait_for(lambda: worker.server.status(1))
    assert (status.gave_up, status.attempt, status.said.code) == (True, 1, "engine_exited")
    worker.server.assign()
    worker.server.wait_gone(1)


def test_while_it_waits_the_next_try_is_told(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--exit-after-start", "3"))
    worker.start(RESTART_BACKOFF_SECONDS="60")
    status = worker.server.wait_for(lambda: (s := worker.server.status(1)) and s.next_try_seconds is not None and s)
    assert 0 < status.next_try_seconds <= 60
    assert not status.gave_up


def test_a_program_that_is_not_there_is_one_clear_sentence(worker: WorkerRun) -> None:
    instance = mock(1, restart_limit=1)
    spec = {**(instance.backend_spec or {}), "command": ["/nowhere/engine", "--port", "{port}"]}
    worker.server.assign(instance.model_copy(update={"backend_spec": spec}))
    worker.start()
    status = worker.server.wait_for(lambda: (s := worker.server.status(1)) and s.gave_up and s)
    assert "/nowhere/engine" in said(status)


def test_a_variable_that_would_forge_the_marker_is_refused(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, restart_limit=1, env={"GPUSTACK_LITE_INSTANCE": "x:1"}))
    worker.start()
    status = worker.server.wait_for(lambda: (s := worker.server.status(1)) and s.gave_up and s)
    assert "GPUSTACK_LITE_INSTANCE" in said(status)


def test_a_sick_engine_is_unhealthy_and_comes_back_without_a_restart(worker: WorkerRun, tmp_path: Path) -> None:
    sick_file = tmp_path / "sick"
    worker.server.assign(mock(1, "--sick-file", str(sick_file)))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    sick_file.touch()
    sick = worker.server.wait_until(1, "unhealthy")
    assert "/health" in said(sick)
    sick_file.unlink()
    again = worker.server.wait_until(1, "ready")
    assert (again.pid, again.attempt, again.said) == (first.pid, 1, None)
