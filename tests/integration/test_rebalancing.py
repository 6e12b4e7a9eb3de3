"""A fragmented platform of two workers makes room for a model while its clients go on."""

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.harness import CLI, Document, Platform, cli, environment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
GIB = 1024**3


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """Two workers with one declared card of 24 GiB each; what still lives on the second is killed at the end."""
    with Platform(tmp_path, simulate="1xA10-24G") as made:
        token = made.api.post("/api/v1/workers/token").json()["token"]
        second = ["join", made.url, "--token", token, "--name", "second", "--simulate", "1xA10-24G"]
        argv = [*CLI, *second, "--data-dir", str(made.data_dir / "second")]
        with subprocess.Popen(argv, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            try:
                made.until(lambda: sum(each["state"] == "ready" for each in workers(made)) == 2, seconds=90)
                yield made
            finally:
                child.send_signal(signal.SIGTERM)


def workers(platform: Platform) -> list[Document]:
    found: list[Document] = platform.api.get("/api/v1/workers").json()["items"]
    return found


def deploy(platform: Platform, name: str, gib: int) -> None:
    options = {"device-count": 1, "bytes-per-device": gib * GIB, "chunk-ms": 5}
    platform.deploy(name, backend="echo", options=options)


class Client:
    """Asks the two small models in turn, short and as a stream, until it is told to end."""

    def __init__(self, platform: Platform) -> None:
        self.answers: list[tuple[int, str]] = []
        self._ended = threading.Event()
        self._platform, self._key = platform, platform.key()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Client":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        headers = {"Authorization": f"Bearer {self._key}"}
        with httpx.Client(base_url=self._platform.url, headers=headers, timeout=60, trust_env=False) as client:
            while not self._ended.is_set():
                for name, stream in (("a", False), ("b", False), ("a", True), ("b", True)):
                    messages = [{"role": "user", "content": "one two three four five six seven eight"}]
                    body = {"model": name, "messages": messages, "stream": stream}
                    answer = client.post("/v1/chat/completions", json=body)
                    is_whole = answer.text.rstrip().endswith("[DONE]") if stream else '"stop"' in answer.text
                    self.answers.append((answer.status_code, "whole" if is_whole else answer.text))


def test_a_waiting_model_gets_room_by_a_move_and_no_request_is_lost(platform: Platform) -> None:
    for name in ("a", "b"):
        deploy(platform, name, 10)
        platform.wait_ready(name)
    assert len({platform.instances(name)[0]["worker"] for name in ("a", "b")}) == 2
    deploy(platform, "big", 20)
    platform.until(lambda: any(each["reasons"] for each in platform.instances("big")), seconds=30)
    env = {"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)}
    shown = cli("rebalance", "--dry-run", env=env)
    assert shown.returncode == 0, shown.stderr
    assert "the new one is ready first" in shown.stdout
    assert platform.instances("big")[0]["state"] == "pending"
    with Client(platform) as client:
        moved = cli("rebalance", "--model", "big", env=env, timeout=100)
        assert moved.returncode == 0, moved.stdout + moved.stderr
        platform.wait_ready("big")
        seen = len(client.answers)
        platform.until(lambda: len(client.answers) > seen + 8, seconds=60)
    assert set(client.answers) == {(200, "whole")}
    places = {name: platform.instances(name)[0]["devices"] for name in ("a", "b", "big")}
    assert places["a"] == places["b"] != places["big"]
    told = [each["message"] for each in platform.api.get("/api/v1/events", params={"model": "big"}).json()["items"]]
    assert "1 replicas move to make room for big." in told
    assert "The moves for big are over (1)." in told
