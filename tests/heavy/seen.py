"""What the tests look at from outside: the one engine, its processes, and what the worker said that it did."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.harness import Document, Platform, is_running

MARKER = b"GPUSTACK_LITE_INSTANCE="


def engine(platform: Platform) -> Document:
    (instance,) = platform.instances("smol")
    return instance


def engine_pid(platform: Platform) -> int:
    return int(engine(platform)["pid"])


def wait_until_back(platform: Platform, old_pid: int) -> None:
    def is_back() -> bool:
        now = engine(platform)
        return now["state"] == "ready" and now["pid"] not in {None, old_pid}

    platform.until(is_back, 60)


def wait_successor(platform: Platform, role: str, old_pid: int | None) -> None:
    platform.until(lambda: platform.pid(role) not in {None, old_pid}, 60)


def engines(platform: Platform) -> set[int]:
    """Every process alive that says in its environment that it is an instance of this platform's worker."""
    uid = json.loads((platform.data_dir / "worker" / "identity.json").read_text())["uid"]
    wanted = MARKER + uid.encode() + b":"
    return {pid for pid, environ in _environments() if wanted in environ and is_running(pid)}


def session(pid: int) -> set[int]:
    """Who is in the session of this number, whoever leads it."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == pid and fields[0] != "Z":
                found.add(int(path.parent.name))
    return found


def _environments() -> Iterator[tuple[int, bytes]]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            yield int(path.parent.name), path.read_bytes()


def verdicts(platform: Platform) -> list[str]:
    """What each start of the worker decided on the records that it found."""
    return [each["verdict"] for each in worker_says(platform, "record_found")]


def worker_says(platform: Platform, event: str) -> list[Document]:
    lines = (platform.data_dir / "logs" / "worker.log").read_text(errors="replace").splitlines()
    return [json.loads(line) for line in lines if f'"event": "{event}"' in line]


def wait_verdicts(platform: Platform, before: int) -> None:
    platform.until(lambda: len(verdicts(platform)) > before, 60)


def log_of_attempt(platform: Platform, attempt: int) -> Path:
    return platform.data_dir / "worker" / "logs" / str(engine(platform)["id"]) / f"{attempt}.log"


def adoption_record(platform: Platform) -> Path:
    return platform.data_dir / "worker" / "instances" / f"{engine(platform)['id']}.json"


@contextlib.contextmanager
def supervisor_asleep(platform: Platform) -> Iterator[None]:
    """While it sleeps nobody starts again what dies."""
    os.kill(platform.supervisor_pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(platform.supervisor_pid, signal.SIGCONT)
