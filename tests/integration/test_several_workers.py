"""One replica over two real workers with simulated cards: it serves, restarts as one, is placed again, and ends."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.harness import CLI, Document, Platform, cli, environment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
GIB = 1024**3
TWO_WORKERS = {"device-count": 1, "bytes-per-device": 40 * GIB, "workers": 2}


class Joined:
    """A worker beside the platform's own, with engine ports of its own."""

    def __init__(self, platform: Platform, name: str, first_port: int) -> None:
        self._platform, self._name = platform, name
        self._folder = platform.data_dir / name
        self._env = environment(GPUSTACK_LITE_ENGINE_PORTS=f"{first_port}-{first_port + 99}", JOINED_AS=name, **QUICK)
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        token = self._platform.api.post("/api/v1/workers/token").json()["token"]
        argv = [*CLI, "join", self._platform.url, "--token", token, "--name", self._name, "--simulate", "1x910B3-64G"]
        self._child = subprocess.Popen(
            [*argv, "--data-dir", str(self._folder)],
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """The machine is gone: the worker, and what it started."""
        for pid in [pid for pid in self._platform.processes() if self._is_ours(spoken(pid))]:
            os.kill(pid, signal.SIGKILL)

    def _is_ours(self, told: bytes) -> bool:
        return str(self._folder).encode() in told or f"JOINED_AS={self._name}".encode() in told

    def close(self) -> None:
        if self._child is not None:
            self._child.send_signal(signal.SIGTERM)
            self._child.wait(30)


QUICK = {"GPUSTACK_LITE_RESTART_BACKOFF_SECONDS": "0.2", "GPUSTACK_LITE_HEARTBEAT_SECONDS": "1"}


def spoken(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes() + os.readlink(f"/proc/{pid}/cwd").encode()
    except OSError:
        return b""


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    with Platform(
        tmp_path,
        simulate="1x910B3-64G",
        env={**QUICK, "GPUSTACK_LITE_GRACE_SECONDS": "10", "GPUSTACK_LITE_NAME": "first"},
    ) as made:
        yield made


@pytest.fixture
def joined(platform: Platform) -> Iterator[dict[str, Joined]]:
    with ExitStack() as stack:
        found = {name: Joined(platform, name, 23000 + 100 * at) for at, name in enumerate(("second", "third"))}
        for each in found.values():
            stack.callback(each.close)
        yield found


def ready_workers(platform: Platform, count: int) -> None:
    def are_ready() -> bool:
        return sum(each["state"] == "ready" for each in platform.api.get("/api/v1/workers").json()["items"]) == count

    platform.until(are_ready, seconds=90)


def ready(platform: Platform, attempt: int = 1) -> Document:
    def found() -> Document | None:
        there = [each for each in platform.instances("wide") if each["state"] == "ready" and each["attempt"] >= attempt]
        return there[0] if there else None

    answer = platform.until(found, seconds=90)
    assert answer is not None
    return answer


def claimed(platform: Platform) -> dict[str, int]:
    devices = platform.api.get("/api/v1/devices").json()["items"]
    return {each["worker"]: each["memory_claimed_bytes"] for each in devices if each["kind"] != "cpu"}


def test_two_workers_carry_one_replica_together(platform: Platform, joined: dict[str, Joined]) -> None:
    platform.deploy("wide", backend="echo", options=TWO_WORKERS)
    platform.until(lambda: any(each["reasons"] for each in platform.instances("wide")), seconds=30)
    told = [each["code"] for each in platform.instances("wide")[0]["reasons"]]
    assert "too_few_workers" in told

    joined["second"].start()
    first = ready(platform)
    assert [each["rank"] for each in first["members"]] == [0, 1]
    assert len({each.partition(":")[0] for each in first["devices"]}) == 2
    assert sorted(claimed(platform).values()) == [40 * GIB, 40 * GIB]
    assert platform.chat("wide", "one two")["choices"][0]["message"]["content"] == "one two"

    told = platform.api.get(f"/api/v1/instances/{first['id']}/logs", params={"rank": 1}).text
    assert "rank 1 follows 127.0.0.1:" in told
    assert platform.api.get(f"/api/v1/instances/{first['id']}/logs", params={"rank": 2}).status_code == 404

    follower = first["members"][1]
    os.kill(follower["pid"], signal.SIGKILL)
    second = ready(platform, attempt=2)
    assert len({each["attempt"] for each in second["members"]}) == 1
    assert not {each["pid"] for each in first["members"]} & {each["pid"] for each in second["members"]}
    assert platform.chat("wide", "three")["choices"][0]["message"]["content"] == "three"

    os.kill(second["members"][0]["pid"], signal.SIGKILL)
    third = ready(platform, attempt=second["attempt"] + 1)
    assert len({each["attempt"] for each in third["members"]}) == 1

    stopped = cli("models", "stop", "wide", env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)})
    assert stopped.returncode == 0, stopped.stderr
    platform.until(lambda: not platform.instances("wide"), seconds=60)
    assert set(claimed(platform).values()) == {0}


def test_a_worker_that_dies_takes_the_whole_replica_with_it(platform: Platform, joined: dict[str, Joined]) -> None:
    """It is placed again on those that live; what the dead one holds stays claimed until somebody vouches for it."""
    for each in joined.values():
        each.start()
    ready_workers(platform, 3)
    platform.deploy("wide", backend="echo", options=TWO_WORKERS)
    first = ready(platform)
    assert [each["worker"] for each in first["members"]] == ["first", "second"]

    joined["second"].kill()

    def elsewhere() -> Document | None:
        there = [each for each in platform.instances("wide") if each["state"] == "ready" and each["id"] != first["id"]]
        return there[0] if there else None

    again = platform.until(elsewhere, seconds=90)
    assert again is not None
    assert {each["worker"] for each in again["members"]} == {"first", "third"}
    assert claimed(platform)["second"] == 40 * GIB
    assert platform.chat("wide", "one")["choices"][0]["message"]["content"] == "one"
    forced = platform.api.delete("/api/v1/workers/second", params={"force": True})
    assert forced.status_code < 300, forced.text
    assert [each["id"] for each in platform.instances("wide")] == [again["id"]]
