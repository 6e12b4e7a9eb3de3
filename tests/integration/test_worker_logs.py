"""Logs are read through tickets: tail, follow, earlier attempts, and rotation under a flood."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.wire import LogRequest
from tests.fakes.worker_run import WorkerRun, mock, wait_for, worker_run

pytestmark = pytest.mark.integration


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerRun]:
    with worker_run(tmp_path) as run:
        yield run


def read(worker: WorkerRun, **wanted: object) -> bytes:
    ticket = f"ticket-{len(worker.server.uploads)}"
    worker.server.log_requests.append(LogRequest.model_validate({"ticket": ticket, "instance_id": 1, **wanted}))
    wait_for(lambda: ticket in worker.server.finished_uploads)
    return worker.server.uploads[ticket]


def test_earlier_attempts_can_be_read(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--say", "FIRST-ERROR", "--exit-after-start", "7", restart_limit=2))
    worker.start()
    worker.server.wait_for(lambda: (s := worker.server.status(1)) and s.gave_up)
    assert read(worker, attempt=1) == b"FIRST-ERROR\n"
    assert read(worker) == b"FIRST-ERROR\n"
    assert b"no log of attempt 9" in read(worker, attempt=9)


def test_a_follower_sees_a_flood_whole_over_rotations_while_the_disk_use_stays_bounded(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--flood-lines", "200000"))
    worker.start(LOG_FILE_BYTES="500000", LOG_FILES_KEPT="2")
    worker.server.log_requests.append(LogRequest(ticket="f", instance_id=1, tail=1_000_000, follow=True))
    worker.server.wait_until(1, "ready")
    worker.server.log_requests.append(LogRequest(ticket="g", instance_id=1, tail=1_000_000, follow=True))
    wait_for(lambda: worker.server.uploads.get("g", b"").endswith(b"line 000199999\n"), 60)
    numbers = [int(line.split()[1]) for line in worker.server.uploads["g"].splitlines() if line.startswith(b"line ")]
    assert numbers == sorted(set(numbers))
    folder = worker.data / "worker" / "logs" / "1"
    wait_for(lambda: (folder / "1.log").stat().st_size < 500_000)
    assert sorted(path.name for path in folder.iterdir()) == ["1.log", "1.log.1", "1.log.2"]
    assert read(worker, tail=2) == b"line 000199998\nline 000199999\n"


def test_following_ends_when_the_reader_leaves_or_the_instance_is_gone(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--say", "hello"))
    worker.start()
    worker.server.wait_until(1, "ready")
    for ticket in ("leaves", "stays"):
        worker.server.log_requests.append(LogRequest(ticket=ticket, instance_id=1, follow=True))
        wait_for(lambda ticket=ticket: worker.server.uploads.get(ticket) == b"hello\n")
    worker.server.hang_up.add("leaves")
    wait_for(lambda: "leaves" in worker.server.finished_uploads)
    assert "stays" not in worker.server.finished_uploads
    worker.server.assign()
    wait_for(lambda: "stays" in worker.server.finished_uploads)


def test_following_goes_on_into_the_next_attempt(worker: WorkerRun) -> None:
    worker.server.assign(mock(1, "--say", "hello"))
    worker.start()
    first = worker.server.wait_until(1, "ready")
    worker.server.log_requests.append(LogRequest(ticket="t", instance_id=1, follow=True))
    wait_for(lambda: worker.server.uploads.get("t") == b"hello\n")
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    wait_for(lambda: worker.server.uploads.get("t") == b"hello\nhello\n")
