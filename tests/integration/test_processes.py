"""Supervisor and real children together: what lives, what ends and what goes on when each of them is killed."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.harness import Platform, is_running

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
ROLES = ("server", "gateway-0", "worker")


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    with Platform(tmp_path) as running:
        running.deploy("echo", backend="echo")
        running.wait_ready("echo")
        yield running


def engine_pid(platform: Platform) -> int:
    (instance,) = platform.instances("echo")
    return int(instance["pid"])


def pids(platform: Platform) -> dict[str, int | None]:
    return {role: platform.pid(role) for role in ROLES}


def are_all_new(platform: Platform, before: dict[str, int | None]) -> bool:
    return all(platform.pid(role) not in {None, pid} for role, pid in before.items())


class Asking:
    """Asks the model again and again; `failures` holds everything that was no answer."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._key = platform.key()
        self._ends = threading.Event()
        self.answers = 0
        self.failures: list[str] = []
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "Asking":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join(60)

    def _ask(self) -> None:
        url, body = self._platform.url, {"model": "echo", "messages": [{"role": "user", "content": "a"}]}
        headers = {"Authorization": f"Bearer {self._key}"}
        while not self._ends.wait(0.02):
            try:
                answer = httpx.post(
                    f"{url}/v1/chat/completions", json=body, headers=headers, trust_env=False, timeout=60
                )
            except httpx.HTTPError as error:
                self.failures.append(repr(error))
                continue
            if answer.status_code == 200:
                self.answers += 1
            else:
                self.failures.append(answer.text)


def test_term_ends_everything_engines_included(platform: Platform) -> None:
    engine = engine_pid(platform)
    platform.signal(signal.SIGTERM)
    assert platform.wait_for_end() == 0
    assert platform.processes() == []
    assert not is_running(engine)


def test_term_ends_engines_whose_worker_was_killed_a_moment_before(platform: Platform) -> None:
    engine = engine_pid(platform)
    platform.kill("worker")
    platform.signal(signal.SIGTERM)
    assert platform.wait_for_end() == 0
    assert platform.processes() == []
    assert not is_running(engine)


def test_sighup_replaces_all_code_and_loses_no_request(platform: Platform) -> None:
    before, engine, supervisor = pids(platform), engine_pid(platform), platform.supervisor_pid
    with Asking(platform) as asking:
        platform.signal(signal.SIGHUP)
        platform.until(lambda: are_all_new(platform, before), seconds=90)
        served = asking.answers
        platform.until(lambda: asking.answers > served + 10, seconds=30)
    assert asking.failures == []
    platform.wait_ready("echo")
    assert (engine_pid(platform), platform.supervisor_pid) == (engine, supervisor)


def test_a_killed_supervisor_is_replaced_and_the_engine_goes_on(platform: Platform) -> None:
    before, engine, url = pids(platform), engine_pid(platform), platform.url
    platform.signal(signal.SIGKILL)
    platform.reap()
    assert platform.chat("echo", "still there")
    platform.start()
    platform.until(lambda: are_all_new(platform, before), seconds=90)
    platform.wait_ready("echo")
    assert (platform.url, engine_pid(platform)) == (url, engine)
    assert platform.chat("echo", "and after it")
    platform.signal(signal.SIGTERM)
    assert platform.wait_for_end() == 0
    assert platform.processes() == []
